"""Which calls get a line in the log: each that writes or is refused, and some of the reads that went well."""

READ_LINES = 50  # a second


class Notes:
    """How many reads that went well get a line in the log; the others are counted. A line costs a fifth of a read."""

    def __init__(self) -> None:
        self.second, self.taken, self.left_out = -1, 0, 0

    def admit(self, now_seconds: float) -> bool:
        """Whether there is a line left in this second."""
        second = int(now_seconds)
        if second != self.second:
            self.second, self.taken = second, 0
        self.taken += 1
        if self.taken > READ_LINES:
            self.left_out += 1
            return False
        return True

    def unsaid(self) -> int:
        """How many were left out since the line before."""
        count, self.left_out = self.left_out, 0
        return count
