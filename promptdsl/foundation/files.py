"""Reading files, without being led elsewhere by links or held up by what is no file."""

import errno
import os
import stat
from collections.abc import Iterable

from promptdsl.foundation.errors import MediaError

CHECK = "check the path of the attachment"
SMALLER = "make it smaller, or upload it and write from_file_id(id)"

RELATIVE = os.open in os.supports_dir_fd
"""Whether this system opens a file relative to an open folder."""

_FLAGS = {
    name: getattr(os, f"O_{name}", 0)
    for name in ("BINARY", "DIRECTORY", "NOCTTY", "NOFOLLOW", "NONBLOCK", "PATH")
}
# Without NONBLOCK, opening a pipe waits for somebody to write into it.
_FILE = os.O_RDONLY | _FLAGS["BINARY"] | _FLAGS["NOCTTY"] | _FLAGS["NONBLOCK"]
_LINKLESS = _FILE | _FLAGS["NOFOLLOW"]
_FOLDER = os.O_RDONLY | _FLAGS["DIRECTORY"] | _FLAGS["NOFOLLOW"] | _FLAGS["PATH"]


def read_file(
    name: str, *, limit: int, roots: Iterable[str | os.PathLike[str]] | None = None
) -> bytes:
    """Return the bytes of a regular file, of one that grows at most ``limit`` + 1 of them.

    With ``roots`` it is read only where it lies under one of them, links resolved. Raises
    :class:`MediaError` for a path that is refused or cannot be read, and for more than ``limit``
    bytes.
    """
    try:
        place = (None, name) if roots is None else _under(name, roots)
        descriptor = None if place is None else _opened(*place)
    except (OSError, RuntimeError, ValueError) as error:
        raise _unreadable(name, error) from None
    if descriptor is None:
        raise MediaError(
            f"the path {name!r} came in data and lies under no declared media root",
            fix="declare the folder: render(..., media_roots=[folder])",
        )
    try:
        return _contents(descriptor, name, limit)
    except OSError as error:
        raise _unreadable(name, error) from None
    finally:
        os.close(descriptor)


def _unreadable(name: str, error: Exception) -> MediaError:
    why = getattr(error, "strerror", None) or error
    return MediaError(f"cannot read {name!r}: {why}", fix=CHECK)


def _under(name: str, roots: Iterable[str | os.PathLike[str]]) -> tuple[str, str] | None:
    """Return a root and the real path of what lies under it, ``None`` when no root has it.

    Nothing outside of the roots is even looked at, so that data cannot find out what is there.
    """
    from pathlib import PurePath

    # An empty name would be the working directory, which nobody meant to declare.
    written = PurePath(os.path.abspath(name))
    for root in (text for root in roots if (text := os.fspath(root))):
        home = os.path.realpath(root)
        if not any(written.is_relative_to(top) for top in (home, os.path.abspath(root))):
            continue
        real = os.path.realpath(name)
        if PurePath(real).is_relative_to(home):
            return home, real
    return None


def _opened(root: str | None, path: str) -> int:
    """Return the descriptor of an open file; under a root none of its folders may be a link."""
    if root is None:
        return os.open(path, _FILE)
    return _opened_step_by_step(root, path) if RELATIVE else _opened_and_compared(path)


def _opened_step_by_step(root: str, path: str) -> int:
    """Return the descriptor of a resolved path, each folder opened from the one before.

    Between resolving and opening somebody may have put a link where a folder was: it is not
    followed.
    """
    from pathlib import PurePath

    parts = PurePath(path).relative_to(root).parts
    here = os.open(root, _FOLDER)
    for number, part in enumerate(parts, start=1):
        try:
            inner = os.open(part, _LINKLESS if number == len(parts) else _FOLDER, dir_fd=here)
        finally:
            os.close(here)
        here = inner
    return here


def _opened_and_compared(path: str) -> int:
    """Return the descriptor of a resolved path if it still is what that path leads to.

    This narrows the time in which somebody may put a link there; it cannot close it.
    """
    descriptor = os.open(path, _LINKLESS)
    try:
        same = os.path.samestat(os.fstat(descriptor), os.lstat(path))
        if same and os.path.realpath(path) == path:
            return descriptor
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    except OSError:
        os.close(descriptor)
        raise


def _contents(descriptor: int, name: str, limit: int) -> bytes:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise MediaError(f"{name!r} is not a regular file", fix=CHECK)
    if status.st_size > limit:
        raise MediaError(
            f"{name!r} has {status.st_size:,} bytes, the limit is {limit:,}", fix=SMALLER
        )
    with open(descriptor, "rb", closefd=False) as file:
        return file.read(limit + 1)
