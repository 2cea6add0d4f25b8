"""Writing files: all of them or none, and never over files of others."""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from promptdsl import DataError
from promptdsl.cli.errors import UsageError
from promptdsl.comparing import write_or_refuse


def write_report(path: str, text: str, may_replace: Callable[[str], bool]) -> None:
    """Write a text with prompts in it to a file, which may replace one of the same command.

    Raises :class:`UsageError` if ``may_replace`` is false for the text of an existing file, and if
    the file cannot be written.
    """
    try:
        write_or_refuse(path, text, may_replace)
    except OSError as error:
        problem = f"cannot write {error.filename or path}: {error.strerror or error}"
        raise UsageError(problem) from None
    except DataError as error:
        raise UsageError(f"{error.what}: {error.fix}") from None


def write_files(
    files: Mapping[str, str], *, changed: Mapping[str, str] | None = None, force: bool
) -> None:
    """Write texts as UTF-8 to their paths, and make the folders: all of them or none.

    Each text is first written to a temporary file next to its path. When all are written, these
    files replace the paths. ``changed`` are files to which text was added: they keep their line
    ends, and of a link, its file is changed. A replaced file keeps its mode. Raises
    :class:`UsageError` if one of ``files`` exists, without ``force``, and if one cannot be written.
    """
    existing = [path for path in files if os.path.lexists(path)]
    if existing and not force:
        others = f" and {len(existing) - 1} more" if existing[1:] else ""
        raise UsageError(f"there is a file {existing[0]}{others}: --force replaces what is there")
    data = {path: text.encode("utf-8") for path, text in files.items()}
    real = {os.path.realpath(path): text for path, text in (changed or {}).items()}
    made: list[Path] = []
    written: dict[str, str] = {}
    new: list[str] = []
    path = ""
    try:
        for path, text in real.items():
            has_crlf = os.path.exists(path) and b"\r\n" in Path(path).read_bytes()
            data[path] = (text.replace("\n", "\r\n") if has_crlf else text).encode("utf-8")
        for path, content in data.items():
            folders = [folder for folder in Path(path).parents if not folder.is_dir()]
            for folder in reversed(folders):
                folder.mkdir()
                made.append(folder)
            temporary = f"{path}.{os.getpid()}.new"
            with open(temporary, "xb") as file:
                written[path] = temporary
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if os.path.exists(path):
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
                folder.rmdir()
        if isinstance(error, OSError):
            problem = f"cannot write {error.filename or path}: {error.strerror}"
            raise UsageError(problem) from None
        raise
