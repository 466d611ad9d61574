"""The programs of examples/ and of the README, run as a newcomer runs them."""
