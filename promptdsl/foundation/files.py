"""Reading and writing files.

``read_file`` can be limited to declared folders. ``atomic_writer`` writes a complete file or leaves
the old file unchanged.
"""

import errno
import os
import stat
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from tempfile import mkstemp
from typing import cast

from promptdsl.foundation.errors import MediaError, OptionError, shown

_CHECK_ADVICE = "check the path of the attachment"
SMALLER_ADVICE = "make it smaller, or upload it and write from_file_id(id)"

RELATIVE = os.open in os.supports_dir_fd
"""Whether this system can open a file relative to an open folder."""

_FLAGS = {
    name: getattr(os, f"O_{name}", 0)
    for name in ("BINARY", "DIRECTORY", "NOCTTY", "NOFOLLOW", "NONBLOCK", "PATH")
}
# Without NONBLOCK, opening a pipe would wait until another program writes into it.
_FILE_FLAGS = os.O_RDONLY | _FLAGS["BINARY"] | _FLAGS["NOCTTY"] | _FLAGS["NONBLOCK"]
_NO_LINK_FLAGS = _FILE_FLAGS | _FLAGS["NOFOLLOW"]
_FOLDER_FLAGS = os.O_RDONLY | _FLAGS["DIRECTORY"] | _FLAGS["NOFOLLOW"] | _FLAGS["PATH"]


NOTED_FILES: ContextVar[dict[str, str] | None] = ContextVar("NOTED_FILES", default=None)
"""The template files that were used: the SHA-256 of each, by its absolute path."""


def checked_path(path: object, example: str) -> str:
    """Return the text of an author's path; :class:`OptionError` for a value that is not a path."""
    is_path = isinstance(path, str | os.PathLike)
    name: object = os.fspath(cast("str | bytes", path)) if is_path else ""
    if not isinstance(name, str) or not name or "\0" in name:
        raise OptionError(f"{shown(path)} is not a path", fix=f'write a text, such as "{example}"')
    return name


def checked_seconds(seconds: object) -> float:
    """Return a time limit in seconds; :class:`OptionError` for anything but a number above 0."""
    if type(seconds) not in (int, float) or not cast("float", seconds) > 0:
        raise OptionError(f"timeout={shown(seconds)}", fix="write a number of seconds above 0")
    return cast("float", seconds)


def note_file(path: str, digest: str) -> None:
    """Note in ``NOTED_FILES`` that a file is used; a batch reads this when it goes on later."""
    noted = NOTED_FILES.get()
    if noted is not None:
        noted[os.path.abspath(path)] = digest


def read_file(
    name: str, *, limit: int, roots: Iterable[str | os.PathLike[str]] | None = None
) -> bytes:
    """Return the bytes of a regular file; of a file that is growing, at most ``limit`` + 1 bytes.

    With ``roots``, the file must be in one of these folders after links are resolved. Raises
    :class:`MediaError` for a file outside of them, for a file that cannot be read, and for more
    than ``limit`` bytes.
    """
    try:
        if roots is None:
            descriptor = os.open(name, _FILE_FLAGS)
        else:
            root, path = _under(name, roots)
            descriptor = _open_below(root, path)
    except MediaError:
        raise
    except (OSError, RuntimeError, ValueError) as error:
        raise _unreadable(name, error) from None
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise MediaError(f"{name!r} is a folder, not a file", fix="write the path of one file")
        if not stat.S_ISREG(status.st_mode):
            raise MediaError(f"{name!r} is not a regular file", fix=_CHECK_ADVICE)
        if status.st_size > limit:
            raise MediaError(
                f"{name!r} has {status.st_size:,} bytes, the limit is {limit:,}", fix=SMALLER_ADVICE
            )
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(limit + 1)
    except OSError as error:
        raise _unreadable(name, error) from None
    finally:
        os.close(descriptor)


def _unreadable(name: str, error: Exception) -> MediaError:
    reason = getattr(error, "strerror", None) or error
    fix = _CHECK_ADVICE
    if isinstance(error, FileNotFoundError) and name.startswith("~"):
        fix = "write Path(...).expanduser()"
    elif isinstance(error, FileNotFoundError) and not os.path.isabs(name):
        fix = f"the path is relative to {os.getcwd()!r}: write Path(__file__).parent / ..."
    return MediaError(f"cannot read {name!r}: {reason}", fix=fix)


def _under(name: str, roots: Iterable[str | os.PathLike[str]]) -> tuple[str, str]:
    """Return the root that contains a path, with its links resolved, and the real path.

    No file outside of the roots is accessed, so that nobody can find out whether it exists.
    """
    from pathlib import PurePath

    absolute = PurePath(os.path.abspath(name))
    # An empty root would be the working directory: nobody declares that by intention.
    for root in roots:
        if not os.fspath(root):
            continue
        real_root = os.path.realpath(root)
        if not any(absolute.is_relative_to(top) for top in (real_root, os.path.abspath(root))):
            continue
        real = os.path.realpath(name)
        if PurePath(real).is_relative_to(real_root):
            return real_root, real
    raise MediaError(
        f"the path {name!r} comes from data, and is not in a folder of media_roots",
        fix="declare the folder: render(..., media_roots=[folder])",
    )


def _open_below(root: str, path: str) -> int:
    """Open a resolved path below a root without following a link, and return the descriptor.

    After the path was resolved, somebody may replace a folder by a link. So each folder is opened
    relative to the folder above it, if the system supports that.
    """
    from pathlib import PurePath

    if not RELATIVE:
        return _open_and_compare(path)
    names = PurePath(path).relative_to(root).parts
    descriptor = os.open(root, _FOLDER_FLAGS)
    for index, name in enumerate(names, start=1):
        flags = _NO_LINK_FLAGS if index == len(names) else _FOLDER_FLAGS
        try:
            inner = os.open(name, flags, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = inner
    return descriptor


def _open_and_compare(path: str) -> int:
    """Open a resolved path, and return the descriptor if the path still leads to the same file.

    This shortens the time in which somebody may put a link there, but does not exclude it.
    """
    descriptor = os.open(path, _NO_LINK_FLAGS)
    try:
        is_same_file = os.path.samestat(os.fstat(descriptor), os.lstat(path))
        if is_same_file and os.path.realpath(path) == path:
            return descriptor
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    except OSError:
        os.close(descriptor)
        raise


# Writing.


@contextmanager
def atomic_writer(path: str | os.PathLike[str]) -> Generator[Callable[[bytes], None]]:
    """Yield a function that writes bytes to a new file, which replaces the old one after the block.

    If the block raises an error, the old file is unchanged. Only the owner may read and write a new
    file (mode 0600). An existing file keeps its rights, even if the path is a link. On Windows,
    files get the rights of their folder. A device or a pipe is written directly. Raises
    :class:`OSError`.
    """
    name = os.fspath(path)
    is_file = os.path.isfile(name)
    if name.startswith(_STREAMS) or (os.path.exists(name) and not is_file):
        with open(name, "wb") as stream:
            yield cast("Callable[[bytes], None]", stream.write)
        return
    if is_file and not os.access(name, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
    real = os.path.realpath(name)
    try:
        descriptor, temporary = mkstemp(".part", "promptdsl-", os.path.dirname(real))
    except OSError as error:
        raise OSError(error.errno, error.strerror, name) from None
    try:
        try:
            yield partial(write_all, descriptor)
            os.fsync(descriptor)
        finally:
            close(descriptor)
        if is_file and os.name == "posix":
            os.chmod(temporary, stat.S_IMODE(os.stat(real).st_mode))
        os.replace(temporary, real)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    sync_folder(real)


_STREAMS = ("/dev/std", "/dev/fd/", "/proc/")
"""The beginnings of the names of open streams: such a file cannot be replaced."""


def write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes: after that the system has them, even if this process ends."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def sync_folder(path: str) -> None:
    """Wait until the name of a file is on the disk, if the system can do that."""
    if os.name == "posix":
        folder = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            close(folder)


def close(descriptor: int) -> None:
    """Close a file. Its content is already on the disk, so an error is ignored."""
    with suppress(OSError):
        os.close(descriptor)
