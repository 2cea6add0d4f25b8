"""A process without a network, and without files of others."""

import sys
from typing import Any

NETWORK = ("socket.", "urllib.")
WRITING = ("os.mkdir", "os.rename", "os.remove", "tempfile.")


def block() -> None:
    """Make every socket and every change to a folder an error, for the rest of the process.

    The process has to run with ``-B``: compiled modules are written, too.
    """

    def hook(event: str, _: tuple[Any, ...]) -> None:
        if event.startswith(NETWORK) or event.startswith(WRITING):
            raise PermissionError(event)

    sys.addaudithook(hook)
