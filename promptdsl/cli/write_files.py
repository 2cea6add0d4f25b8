"""Writing files: all of them or none, and never over another one."""

import os
import shutil
from collections.abc import Mapping

from promptdsl.cli.errors import UsageError


def write_files(
    files: Mapping[str, str], *, changed: Mapping[str, str] | None = None, force: bool
) -> None:
    """Write texts as UTF-8 at their paths, and make the folders; all of them or none.

    Each is written beside its place first, and put there when all are written. ``changed`` are
    files with something added to them, which keep their mode and their line ends; behind a link,
    its file is changed. Raises :class:`UsageError` for other files that exist,
    without ``force``, and for what cannot be written.
    """
    there = [path for path in files if os.path.lexists(path)]
    if there and not force:
        others = f" and {len(there) - 1} more" if there[1:] else ""
        raise UsageError(f"there is a file {there[0]}{others}: --force replaces what is there")
    data = {path: text.encode("utf-8") for path, text in files.items()}
    real = {os.path.realpath(path): text for path, text in (changed or {}).items()}
    made: list[str] = []
    written: dict[str, str] = {}
    new: list[str] = []
    path = ""
    try:
        data |= {path: _like(path, text) for path, text in real.items()}
        for path in data:
            _make_folders(os.path.dirname(path), made)
            temporary = f"{path}.{os.getpid()}.new"
            with open(temporary, "xb") as file:
                written[path] = temporary
                file.write(data[path])
            if path in real and os.path.exists(path):
                shutil.copymode(path, temporary)
            if os.path.isdir(path):
                raise IsADirectoryError(0, "it is a folder", path)
        for path in data:
            is_new = not os.path.lexists(path)
            os.replace(written[path], path)
            del written[path]
            new += [path] if is_new else []
    except BaseException as error:
        for temporary in [*written.values(), *new]:
            os.unlink(temporary)
        for folder in reversed(made):
            if not os.listdir(folder):
                os.rmdir(folder)
        if isinstance(error, OSError):
            problem = f"cannot write {error.filename or path}: {error.strerror}"
            raise UsageError(problem) from None
        raise


def _like(path: str, text: str) -> bytes:
    """Return the bytes of a text for a file, with its line ends if it is there."""
    if os.path.exists(path):
        with open(path, "rb") as file:
            text = text.replace("\n", "\r\n") if b"\r\n" in file.read() else text
    return text.encode("utf-8")


def _make_folders(folder: str, made: list[str]) -> None:
    """Make a folder and those above it, and note those that were not there, from the top."""
    missing: list[str] = []
    while folder and not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for one in reversed(missing):
        os.mkdir(one)
        made.append(one)
