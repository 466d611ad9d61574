"""Starting the desk beside a market, as a process of its own: what `serve --sandbox --desk` does."""

import os
import subprocess
import sys
from typing import Final

from server.adapters.clock import SystemDice
from server.child_processes import end_process
from server.settings import Settings

SECRET_BYTES: Final = 24


def with_operator_secret(settings: Settings) -> Settings:
    """The settings, with a secret for this run where the operator gave none: the desk labels itself with it."""
    secret = settings.operator_secret or SystemDice().random_bytes(SECRET_BYTES).hex()
    return settings.model_copy(update={"operator_secret": secret})


class Desk:
    """The desk of a sandbox. It ends with this process, however that ends."""

    def __init__(self, settings: Settings) -> None:
        words = ["-m", "server", "desk", "run", "--url", settings.listening_url]
        self.command = [sys.executable, *words, "--parent-pid", str(os.getpid())]
        self.given = {
            "EMPORION_OPERATOR_SECRET": str(settings.operator_secret),
            "EMPORION_DATA_DIR": str(settings.data_dir),
            "EMPORION_ALLOW_PRIVATE_NETWORKS": "true",
            "EMPORION_DESK_ENV": "test",
        }
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Once the market serves. An interrupt at the terminal is the market's to handle."""
        self.process = subprocess.Popen(  # noqa: S603 - our own module, run by our own interpreter
            self.command, stdin=subprocess.PIPE, env={**os.environ, **self.given}, start_new_session=True
        )

    def stop(self) -> None:
        """End it and wait until it has ended."""
        if self.process is not None:
            end_process(self.process)
