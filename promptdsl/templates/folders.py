"""The folders of templates: the one that comes with promptdsl, and those a user registers."""

import os
from functools import cache
from itertools import islice
from pathlib import Path
from stat import S_ISREG
from threading import Lock
from typing import ClassVar, NamedTuple

import attrs

from promptdsl.foundation.errors import MediaError, TemplateError, nearest
from promptdsl.foundation.files import read_file
from promptdsl.foundation.source import author, door
from promptdsl.templates.limits import MAX_SOURCE, over_limit
from promptdsl.templates.source import check_name, label

_CHANGING = Lock()


@cache
def templates_root() -> Path:
    """Return the folder of the templates.

    An installed package holds it; in a source tree it is beside the package. Raises
    :class:`TemplateError` when it is in neither place.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "templates" / "starter", package.parent / "templates"):
        if folder.is_dir():
            return folder
    raise TemplateError(
        f"there are no templates in {package} or beside it",
        fix="install promptdsl again: files are missing",
    )


@attrs.frozen(eq=False)
class Registration:
    """A registered folder; as a context manager it is registered until the end of the block."""

    active: ClassVar[tuple[str, ...]] = ()
    """The registered folders, in the order they are searched."""

    folder: str
    _before: tuple[str, ...]
    _after: tuple[str, ...]

    def __enter__(self) -> Path:
        return Path(self.folder)

    def __exit__(self, *error: object) -> None:
        with _CHANGING:
            active = Registration.active
            if active is self._after:
                Registration.active = self._before
            elif self.folder not in self._before:
                Registration.active = tuple(folder for folder in active if folder != self.folder)


@door
def register_templates(folder: str | os.PathLike[str]) -> Registration:
    """Search for templates in ``folder`` first, before the folders that were registered earlier.

    The folder stays registered for the whole process, or for a ``with`` block around the result,
    which gives the folder as a ``Path``. A folder that is registered again moves to the front. A
    template replaces the one of promptdsl that has its name, such as the text of an event,
    ``events/user_action.md.j2``.

    Raises :class:`TemplateError` when there is no such folder.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from promptdsl import System, Template, register_templates, render
    >>> with TemporaryDirectory() as folder, register_templates(folder) as templates:
    ...     _ = Path(templates, "greeting.md.j2").write_text("Hello {{ name }}!")
    ...     print(render(System(Template("greeting.md.j2", name="Ada"))).messages[0].text)
    Hello Ada!
    """
    real = _resolved_folder(folder)
    with _CHANGING:
        before = Registration.active
        after = (real, *(other for other in before if other != real))
        Registration.active = after
    return Registration(real, before, after)


def _resolved_folder(folder: str | os.PathLike[str]) -> str:
    try:
        real = Path(folder).resolve(strict=True)
        if real.is_dir():
            return str(real)
        problem = "it is not a folder"
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        problem = getattr(error, "strerror", None) or str(error)
    raise TemplateError(
        f"no templates can be registered from {folder!r:.200}: {problem}",
        fix="give the folder your templates are in",
        at=(author(),),
    )


def registered() -> tuple[str, ...]:
    """Return the folders that users registered, in the order they are searched."""
    return Registration.active


class WhiteSpace(NamedTuple):
    """How Jinja treats the white space around ``{% ... %}``, and the last line end of a file."""

    trim_blocks: bool = True
    lstrip_blocks: bool = True
    keep_trailing_newline: bool = False


class TemplateFolder(NamedTuple):
    """A folder of templates and how they are read.

    With ``reload`` each rendering looks whether a file changed; without it a file is found and read
    once. ``library`` is the name of the library that the folder belongs to, ``version`` the version
    of its package; both are ``None`` for a registered folder.
    """

    folder: str
    white_space: WhiteSpace = WhiteSpace()
    reload: bool = False
    library: str | None = None
    version: str | None = None


class TemplateFile(NamedTuple):
    """A template that exists: its name, its file, the folder that contains it, and its stamp."""

    name: str
    path: str
    folder: str | None
    stamp: tuple[int, ...]


def find(name: object, folders: tuple[str, ...]) -> TemplateFile | None:
    """Return the first file of a name, ``None`` when no folder has one.

    Raises :class:`TemplateError` for a name that could be a path, and for a file that is not
    regular.
    """
    checked = check_name(name)
    for folder in folders:
        path = f"{folder}/{checked}"
        stamp = _stamp(path, checked)
        if stamp is not None:
            return TemplateFile(checked, path, folder, stamp)
    return None


def file_at(path: str) -> TemplateFile:
    """Return the template file at a path that is written in code.

    Raises :class:`TemplateError` when it is missing or no regular file.
    """
    stamp = _stamp(path, path)
    if stamp is None:
        raise TemplateError(f"there is no template file {path!r}", fix="check the path")
    return TemplateFile(path, path, None, stamp)


def _stamp(path: str, name: str) -> tuple[int, ...] | None:
    """Return the stamp of a file, which changes when the file does, or ``None`` for no file."""
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unreadable(name, error.strerror) from None
    if not S_ISREG(status.st_mode):
        raise _unreadable(name, "it is not a regular file")
    return (status.st_mtime_ns, status.st_size, status.st_ino, status.st_dev)


def _unreadable(name: str, reason: object) -> TemplateError:
    return TemplateError(f"cannot read {label(name)}: {reason}", fix="check the file")


def read_template(file: TemplateFile) -> str:
    """Return the text of a template file.

    Raises :class:`TemplateError` for a file outside of its folder, links resolved, one of more than
    a million bytes, one that cannot be read and one that is not UTF-8.
    """
    roots = None
    if file.folder is not None:
        roots = (file.folder,)
        if not Path(os.path.realpath(file.path)).is_relative_to(os.path.realpath(file.folder)):
            raise TemplateError(
                f"{label(file.name)} is a link that leads out of {file.folder!r}",
                fix="put the file itself there, or register the folder it is in",
            )
    if file.stamp[1] > MAX_SOURCE:
        raise over_limit(MAX_SOURCE, f"bytes in {label(file.name)}")
    try:
        return read_file(file.path, limit=MAX_SOURCE, roots=roots).decode("utf-8-sig")
    except MediaError as error:
        raise _unreadable(file.name, error.what) from None
    except UnicodeDecodeError as error:
        raise _unreadable(file.name, f"it is not UTF-8 at byte {error.start:,}") from None


def missing_template(name: str, folders: tuple[str, ...]) -> TemplateError:
    """Return the error for a template that no folder has, which suggests one they have."""
    known: set[str] = set()
    for folder in folders:
        names = (
            Path(where, file).relative_to(folder).as_posix()
            for where, _, files in os.walk(folder)
            for file in files
        )
        known.update(islice(names, 1_000))  # of any number
    return TemplateError(f"there is no {label(name)}", fix=_template_fix(name, known))


def _template_fix(name: str, known: set[str]) -> str:
    """Return what to write instead of the name of a template that no folder has."""
    if {"{", "\n", " "} & {*name}:
        return "a template that is given as text is Template.from_string(text)"
    if os.path.isfile(name):
        return f"a file is given as a path: Template(Path({name!r}))"
    if not registered():
        return "register the folder that it is in: register_templates(folder)"
    return nearest(name, known)
