"""The source of a template: a name in a folder, a path, or its text.

Texts for ``str.format`` and the folders come first, then :class:`TemplateSource`, which is what a
``Template`` keeps.
"""

import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from stat import S_ISREG
from threading import Lock
from typing import ClassVar, Literal, Self

import attrs

from promptdsl.foundation.errors import MediaError, TemplateError, close_names, nearest, shown
from promptdsl.foundation.files import note_file, read_file
from promptdsl.foundation.source import author, public_api
from promptdsl.foundation.unicode import exact
from promptdsl.templates.limits import (
    DEFAULT_WHITE_SPACE,
    MAX_SOURCE,
    SUFFIX,
    TemplateFile,
    TemplateFolder,
    WhiteSpace,
    check_limit,
    check_name,
    label,
)

# Texts for ``str.format`` as templates: their fields are the names of variables.

_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
"""Two braces that are written for one brace, a field, or a single brace."""
_ADVICE = (
    (r"\{\s*\d*\s*[}!:]", "name the field: {name}, and write name=... after the text"),
    (r"\{(\w+)[.[]", r"take the part of \1 in Python, and give it a name: {name}"),
    (r"\{(\w+)[!:]", r"format \1 in Python and write {\1}; for braces in the text write {{ and }}"),
    ("", "write a field as {name}, and braces in the text as {{ and }}"),
)
"""The advice for braces that are neither a field nor text, by the first pattern that matches."""


def format_parts(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield the parts of a text for ``str.format``: a text, and the name of the field after it.

    The last part has no field. Raises :class:`TemplateError`, with the line in the text, for a
    single brace, and for a field that is not only a name.
    """
    start = 0
    for match in _BRACES.finditer(text):
        text_before, braces, name = text[start : match.start()], match[0], match[1]
        start = match.end()
        if braces in ("{{", "}}"):
            yield text_before + braces[0], None
        elif name is not None and name.isidentifier():
            yield text_before, name
        else:
            line = text.count("\n", 0, match.start()) + 1
            problem = f"{braces!r:.60} is not a field" if len(braces) > 1 else f"a single {braces}"
            advised = ((re.match(pattern, braces), advice) for pattern, advice in _ADVICE)
            fix = next(mistake.expand(advice) for mistake, advice in advised if mistake)
            raise TemplateError(f"the template, line {line}: {problem}", fix=fix)
    yield text[start:], None


# The folders of templates: that of promptdsl itself, and those that a user registers.

_CHANGING = Lock()
"""Held while a folder is registered or removed."""


@cache
def shipped_folder() -> "TemplateFolder":
    """Return the folder of the templates that come with promptdsl."""
    return TemplateFolder(str(templates_root()))


@cache
def templates_root() -> Path:
    """Return the folder of the templates of promptdsl.

    It is in the installed package, and in a checkout next to the package. Raises
    :class:`TemplateError` if there is no such folder.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "templates" / "starter", package.parent / "templates"):
        if folder.is_dir():
            return folder
    raise TemplateError(
        f"there are no templates in {package} or next to it",
        fix="install promptdsl again: files are missing",
    )


@attrs.frozen(eq=False)
class Registration:
    """A registered folder. If it is used in ``with``, the end of the block removes it."""

    active: ClassVar[tuple[TemplateFolder, ...]] = ()
    """The registered folders, in the order in which they are searched."""

    folder: str
    _before: tuple[TemplateFolder, ...]
    """The registered folders before this registration."""
    _after: tuple[TemplateFolder, ...]
    """The registered folders after it."""

    def __enter__(self) -> Path:
        return Path(self.folder)

    def __exit__(self, *error: object) -> None:
        with _CHANGING:
            active = Registration.active
            if active is self._after:  # nothing was registered meanwhile
                Registration.active = self._before
            elif all(folder.folder != self.folder for folder in self._before):
                remaining = (folder for folder in active if folder.folder != self.folder)
                Registration.active = tuple(remaining)


@public_api
def register_templates(
    folder: str | os.PathLike[str],
    *,
    reload: bool = False,
    trim_blocks: bool = True,
    lstrip_blocks: bool = True,
    keep_trailing_newline: bool = False,
) -> Registration:
    """Search for templates in ``folder`` first, before the folders that were registered earlier.

    The folder stays registered until the process ends. In ``with`` it stays registered until the
    end of the block, and ``as`` gives its path. A folder that is registered again moves to the
    front. A template replaces the template of promptdsl that has the same name, such as
    ``events/user_action.md.j2``, the text of an event.

    - ``reload``: with ``True`` each rendering checks whether a file changed; with ``False``
      (default) a file is read once;
    - ``trim_blocks``: whether the line end after a ``{% ... %}`` is left out, ``True`` by default;
    - ``lstrip_blocks``: whether the blanks before a ``{% ... %}`` on its line are left out,
      ``True`` by default;
    - ``keep_trailing_newline``: whether the line end at the end of a file is kept, ``False`` by
      default.

    Jinja's own default is ``False`` for the last three, so a folder of another project may need
    ``False``. A file is read with the settings of its own folder, even if a template of another
    folder includes it.

    Raises :class:`TemplateError` if there is no such folder, and for a setting of Jinja that is not
    a boolean.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from promptdsl import System, Template, register_templates, render
    >>> with TemporaryDirectory() as folder, register_templates(folder) as templates:
    ...     _ = Path(templates, "greeting.md.j2").write_text("Hello {{ name }}!")
    ...     print(render(System(Template("greeting.md.j2", name="Ada"))).messages[0].text)
    Hello Ada!
    """
    real_path = _resolved_folder(folder)
    white_space = WhiteSpace(trim_blocks, lstrip_blocks, keep_trailing_newline).checked()
    registered = TemplateFolder(real_path, white_space, bool(reload))
    with _CHANGING:
        before = Registration.active
        after = (registered, *(other for other in before if other.folder != real_path))
        Registration.active = after
    return Registration(real_path, before, after)


def _resolved_folder(folder: str | os.PathLike[str]) -> str:
    """Return the path of a folder without links; raise :class:`TemplateError` for another path."""
    try:
        real_path = Path(folder).resolve(strict=True)
        if real_path.is_dir():
            return str(real_path)
        problem = "it is not a folder"
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        problem = getattr(error, "strerror", None) or str(error)
    raise TemplateError(
        f"no templates can be registered from {folder!r:.200}: {problem}",
        fix="give the path of the folder with your templates",
        at=(author(),),
    )


def find(name: object, folders: tuple[TemplateFolder, ...]) -> TemplateFile | None:
    """Return the first file with this name, ``None`` if no folder has it.

    Raises :class:`TemplateError` for a name that leads out of a folder, and for a file that cannot
    be read.
    """
    checked = check_name(name)
    for folder in folders:
        file = folder.files.get(checked)
        if file is not None:
            return file
        path = f"{folder.folder}/{checked}"
        stamp = _stamp(path, checked)
        if stamp is not None:
            full_name = (
                f"{folder.library}:{checked.removesuffix(SUFFIX)}" if folder.library else checked
            )
            file = TemplateFile(full_name, path, folder, stamp)
            if not folder.reload:
                folder.files[checked] = file
            return file
    return None


def find_section(name: str) -> TemplateFile | None:
    """Return the file of a section of an installed library, ``None`` if it has no such template.

    Raises :class:`LibraryError` for a library that cannot be used, and :class:`TemplateError` for
    a name that could be a path, or that belongs to a private file.
    """
    from promptdsl.templates.installed import load_library

    library, _, section = name.partition(":")
    if any(segment.startswith("_") for segment in check_name(section).split("/")):
        raise TemplateError(
            f"{name[:60]!r} is a private file of its library", fix="include one of its sections"
        )
    folder = load_library(library).templates
    return None if folder is None else find(section + SUFFIX, (folder,))


def file_at(path: str) -> TemplateFile:
    """Return the template file at a path in code, or raise :class:`TemplateError`."""
    stamp = _stamp(path, path)
    if stamp is None:
        raise TemplateError(f"there is no template file {path!r}", fix="check the path")
    return TemplateFile(path, path, None, stamp)


def _stamp(path: str, name: str) -> tuple[int, ...] | None:
    """Return the stamp of a file, which changes when the file does, ``None`` if it is missing.

    Raises :class:`TemplateError` for a file that cannot be read, and for a folder.
    """
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


def read_template(file: TemplateFile) -> tuple[str, str]:
    """Return the text of a template file, and the SHA-256 of its bytes, in hexadecimal digits.

    Raises :class:`TemplateError` for a link that leads out of its folder, for a file of more than a
    million bytes, for a file that cannot be read, and for a file that is not UTF-8.
    """
    from hashlib import sha256

    roots = None
    if file.folder is not None:
        folder = file.folder.folder
        roots = (folder,)
        if not Path(os.path.realpath(file.path)).is_relative_to(os.path.realpath(folder)):
            raise TemplateError(
                f"{label(file.name)} is a link that leads out of {folder!r}",
                fix="put the file itself there, or register the folder of the file",
            )
    check_limit(file.stamp[1], MAX_SOURCE, f"bytes in {label(file.name)}")
    try:
        data = read_file(file.path, limit=MAX_SOURCE, roots=roots)
        digest = sha256(data).hexdigest()
        if file.folder is not shipped_folder():  # its files change only with the version
            note_file(file.path, digest)
        return data.decode("utf-8-sig"), digest
    except MediaError as error:
        raise _unreadable(file.name, error.what) from None
    except UnicodeDecodeError as error:
        raise _unreadable(file.name, f"it is not UTF-8 at byte {error.start:,}") from None


def missing_template(name: str, folders: tuple[TemplateFolder, ...]) -> TemplateError:
    """Return the error for a template that no folder has, with a similar name if there is one."""
    names: set[str] = set()
    for folder in folders:
        # A prompt can name only those templates of promptdsl that are for events.
        top = "events" if folder is shipped_folder() else ""
        in_folder = (
            Path(file_folder, file).relative_to(folder.folder).as_posix()
            for file_folder, _, files in os.walk(os.path.join(folder.folder, top))
            for file in files
        )
        names.update(islice(in_folder, 1_000))  # a folder may have any number
    fix = nearest(name, names) if folders and folders[0].library else _template_fix(name, names)
    return TemplateError(f"there is no {label(name)}", fix=fix)


def _template_fix(name: str, names: set[str]) -> str:
    """Return the advice for the name of a template that no folder has."""
    if {"{", "\n", " "} & {*name}:
        return "for the text of a template write Template.from_string(text)"
    if ":" in name:
        return f"list the sections of its library: promptdsl list {name.partition(':')[0]}"
    if os.path.isfile(name):
        return f"for a file write Template(Path({name!r}))"
    if not Registration.active:
        return "register its folder first: register_templates(folder)"
    return nearest(name, names)


# The source of a template: a name in a folder, a path, or its text.


@attrs.frozen
class TemplateSource:
    """The source of a template. It can be hashed and compared, also after pickling.

    ``value`` depends on ``kind``: a name in a registered folder, the path of a file, or the text of
    the template. Templates that a file includes are looked up in its folder first. ``folder`` is
    the folder of a library; then the name is looked up only there. ``white_space`` are the settings
    of a text. With ``is_format`` it is a text for ``str.format``, and not for Jinja.
    """

    kind: Literal["name", "path", "text"]
    value: str
    folder: TemplateFolder | None = None
    white_space: WhiteSpace = DEFAULT_WHITE_SPACE
    is_format: bool = False

    @property
    def keeps_ends(self) -> bool:
        """Whether the line ends at both ends of the text are sent, and its indentation is kept.

        It is true for a file, for a text for ``str.format``, and with ``keep_trailing_newline``.
        """
        return self.kind != "text" or self.is_format or self.white_space.keep_trailing_newline

    @classmethod
    def of(cls, template: str | os.PathLike[str]) -> Self:
        """Return the source of a name (a string) or a path (such as a ``pathlib.Path``).

        Raises :class:`TemplateError` for any other value.
        """
        if isinstance(template, str):
            return cls("name", check_name(exact(template)))
        path = os.fspath(template) if isinstance(template, os.PathLike) else None  # pyright: ignore[reportUnnecessaryIsInstance]
        if not isinstance(path, str) or "\0" in path:
            raise TemplateError(
                f"a template must be a name or a path, not {shown(template)}",
                fix='write Template("name.md.j2"), or Template(Path("name.md.j2")) for a file',
            )
        return cls("path", exact(path))

    @classmethod
    def from_text(
        cls, text: object, white_space: WhiteSpace = DEFAULT_WHITE_SPACE, *, is_format: bool = False
    ) -> Self:
        """Return the source of a template that is a text.

        Raises :class:`TemplateError` for a value that is not a string, and for a text that is too
        long.
        """
        if not isinstance(text, str):
            raise TemplateError(
                f"the text of a template must be a string, not {type(text).__name__}",
                fix="pass the text itself",
            )
        check_limit(len(text), MAX_SOURCE, "characters of template")
        return cls("text", exact(text), None, white_space.checked(), is_format)


_ONLY_INSIDE = {
    "super": "super() is defined in a {% block %} of a template that extends another one",
    "caller": "caller() is defined in a macro that {% call %} calls",
    "loop": "loop is defined in {% for %}",
}
"""The advice for names that Jinja defines only in a part of a template."""


def other_name(name: str, variables: Mapping[str, object]) -> str:
    """Return the advice for a name that is undefined, although there are variables.

    Either the name in the template is misspelt, or the name in the call. So the advice has both.
    """
    if name in _ONLY_INSIDE:
        return _ONLY_INSIDE[name]
    close = close_names(name, variables)
    if not close:
        return nearest(name, variables)
    return f"the call has {close[0]}=...: write {name}=... there, or {close[0]!r} in the template"


def check_inputs(source: TemplateSource, variables: Mapping[str, object]) -> Mapping[str, object]:
    """Check the variables of a template that is a text, and return them with the defaults.

    They are compared with its front matter, or with its fields. The variables of other templates
    are returned unchanged, because they are checked when the template is rendered.

    Raises :class:`TemplateError` for a missing or wrong variable, and for one with the name of a
    setting.
    """
    for name in WhiteSpace._fields:
        if name in variables:
            function = "Template.from_string" if source.kind == "text" else "register_templates"
            problem = f"{name} is a setting of Jinja, not a variable"
            raise TemplateError(problem, fix=f"write {function}(..., {name}=...)")
    for _, field in format_parts(source.value) if source.is_format else ():
        if field is not None and field not in variables:
            fix = f"write {field}=... after the text"
            if variables:
                fix = other_name(field, variables)
            raise TemplateError(f"the template: {field!r} is undefined", fix=fix)
    is_text = source.kind == "text" and not source.is_format
    if not is_text or not source.value.lstrip().startswith("---"):
        return variables
    from promptdsl.templates.front_matter import split

    front_matter, _ = split(source.value, None)
    return variables if front_matter is None else front_matter.checked(variables)
