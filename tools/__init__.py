"""The market's logic: the operation registry, dispatch, operations, records, errors and rules."""
