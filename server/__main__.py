"""`python -m server` is the command `emporion`."""

from server.cli import app

app()
