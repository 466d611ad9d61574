"""Log sampling: every write and every refusal is logged, but only some successful reads."""

READ_LINES = 50  # a second


class ReadLogSampler:
    """Limits the log lines of successful reads and counts the others.

    Writing a line takes about 20 % as long as a read.
    """

    def __init__(self) -> None:
        self.second, self.taken, self.left_out = -1, 0, 0

    def allow(self, now_seconds: float) -> bool:
        """Check whether there is a line left in this second."""
        second = int(now_seconds)
        if second != self.second:
            self.second, self.taken = second, 0
        self.taken += 1
        if self.taken > READ_LINES:
            self.left_out += 1
            return False
        return True

    def dropped(self) -> int:
        """Return how many reads were left out since the last line, and reset the count."""
        count, self.left_out = self.left_out, 0
        return count
