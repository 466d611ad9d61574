"""Jobs: orders, their lifecycle, deliveries and receipts."""
