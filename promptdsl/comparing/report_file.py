"""A report in a file: over an older one, and never over the file of somebody else."""

import os
from collections.abc import Callable
from pathlib import Path

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.files import written_whole


def write_over(path: str, text: str, is_own: Callable[[str], bool]) -> None:
    """Write a text with prompts in it to a file, whole or not at all, and make its folder.

    A file that is there is written over if it is empty, or if ``is_own`` is true for its text.
    Raises :class:`DataError` for another one, and :class:`OSError`.
    """
    if os.path.isfile(path):
        there = Path(path).read_bytes().decode(errors="replace")
        if there and not is_own(there):
            raise DataError(f"{path} has something else in it", fix="name a new file")
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with written_whole(path) as write:
        write(text.encode())
