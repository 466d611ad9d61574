"""The findings of a command that checks something: each is printed, and together they are its exit code."""


class Findings:
    """The findings so far; `exit_code` is 1 once something is wrong."""

    def __init__(self) -> None:
        self.exit_code = 0

    def add(self, well: bool, sentence: str) -> None:
        """Print a finding."""
        print(("ok    " if well else "WRONG ") + sentence)
        if not well:
            self.exit_code = 1
