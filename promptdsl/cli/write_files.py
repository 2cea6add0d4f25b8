"""Writing files: all of them or none, and never over another one."""

import os
from collections.abc import Mapping

from promptdsl.cli.errors import UsageError


def write_files(
    files: Mapping[str, str], *, changed: Mapping[str, str] | None = None, force: bool
) -> None:
    """Write texts as UTF-8 at their paths, and make the folders; all of them or none.

    Each is written beside its place first, and put there when all are written. ``changed`` are
    files with something added to them. Raises :class:`UsageError` for other files that exist,
    without ``force``, and for what cannot be written.
    """
    there = [path for path in files if os.path.lexists(path)]
    if there and not force:
        others = f" and {len(there) - 1} more" if there[1:] else ""
        raise UsageError(f"there is a file {there[0]}{others}: --force replaces what is there")
    made: list[str] = []
    written: dict[str, str] = {}
    try:
        for path, text in {**files, **(changed or {})}.items():
            _make_folders(os.path.dirname(path), made)
            temporary = f"{path}.{os.getpid()}.new"
            with open(temporary, "xb") as file:
                written[path] = temporary
                file.write(text.encode("utf-8"))
            if os.path.isdir(path):
                raise IsADirectoryError(0, "it is a folder", path)
        for path in [*written]:
            os.replace(written[path], path)
            del written[path]
    except OSError as error:
        for temporary in written.values():
            os.unlink(temporary)
        for folder in reversed(made):
            if not os.listdir(folder):
                os.rmdir(folder)
        raise UsageError(f"cannot write {error.filename}: {error.strerror}") from None


def _make_folders(folder: str, made: list[str]) -> None:
    """Make a folder and those above it, and note those that were not there, from the top."""
    missing: list[str] = []
    while folder and not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for one in reversed(missing):
        os.mkdir(one)
        made.append(one)
