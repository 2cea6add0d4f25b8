"""Writing a report, or another text with prompts in it, to a file that has no other content.

An older report may be overwritten, another file of the user never.
"""

import os
from collections.abc import Callable
from pathlib import Path

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.files import atomic_writer


def write_or_refuse(path: str, text: str, may_replace: Callable[[str], bool]) -> None:
    """Write a text to a file, completely or not at all, and make its folder; or refuse to.

    An existing file is overwritten if it is empty, or if ``may_replace`` is true for its text, such
    as that of an older report. Raises :class:`DataError` for any other file, and :class:`OSError`
    if writing fails. Prompts may be confidential, so only its owner may read a new file:
    ``atomic_writer`` makes it so.
    """
    if os.path.isfile(path):
        old = Path(path).read_bytes().decode(errors="replace")
        if old and not may_replace(old):
            raise DataError(f"{path} has other content", fix="name a new file")
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with atomic_writer(path) as write:
        write(text.encode())
