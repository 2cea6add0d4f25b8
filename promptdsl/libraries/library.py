"""The library: sections and templates under one name, which can be installed as a package.

:class:`Library` comes first, then :class:`_Sections`, the information about its sections, then the
checks of its arguments.
"""

import inspect
import operator
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, cached_property, partial
from hashlib import sha256
from inspect import Parameter
from types import FunctionType
from typing import cast

from promptdsl.components.custom import ComponentFunction, CustomComponent, original_of
from promptdsl.components.replacements import Function
from promptdsl.components.scope import getframe
from promptdsl.foundation.errors import LibraryError, nearest, shown
from promptdsl.foundation.source import LibrarySection, author_frame, public_api
from promptdsl.foundation.version import __version__
from promptdsl.libraries.template_section import SectionInfo, TemplateSection, template_component
from promptdsl.messages.field_checks import kind_of
from promptdsl.templates.front_matter import Input
from promptdsl.templates.installed import (
    LIBRARIES_MADE,
    LIBRARY_NAME,
    InstalledLibrary,
    LibraryBase,
    installed_libraries,
    load_library,
    version_of,
)
from promptdsl.templates.limits import SUFFIX, TemplateFolder, WhiteSpace

_COMPARISONS = {
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_REQUIRES = re.compile(r"promptdsl\s*(.*)", re.DOTALL)
"""A requirement: the name of the package, then its conditions."""
_CONDITION = re.compile(r"\s*(==|!=|>=|<=|>|<)\s*(\d+(?:\.\d+)*)\s*")
"""One condition of a requirement: ``>=0.1``."""


class UnknownSection(LibraryError, AttributeError, KeyError):
    """The error for a section that a library does not have.

    It is also an ``AttributeError`` and a ``KeyError``, because sections are attributes and items.
    """

    __str__ = LibraryError.__str__


class Library(LibraryBase):
    """Sections and templates under one name.

    ``name`` is the name of the library: a letter, then letters, digits and ``_ . -``. A section is
    an attribute, ``library.tone(...)``, or an item, ``library["billing/refunds"](...)``. Options:

    - ``sections``: components that were made with ``@component``, ``()`` by default;
    - ``templates``: a folder of templates. Each file ``NAME.md.j2`` in it is a section, unless its
      name, or the name of a folder around it, begins with ``_``. A relative path starts in the
      folder of the file that makes the library. The default folder ``"templates"`` may be missing;
    - ``requires``: the version of promptdsl that the library needs, such as
      ``"promptdsl>=0.1,<1"``; ``None`` by default;
    - ``reload``: whether a template file is read again at each use, ``False`` by default;
    - ``trim_blocks``, ``lstrip_blocks`` and ``keep_trailing_newline``: settings of Jinja, which
      :func:`register_templates` explains.

    Raises :class:`LibraryError` for a wrong argument and for an unknown section,
    :class:`TemplateError` for a setting of Jinja that is not a boolean.

    >>> from promptdsl import Library, Section, System, Value, component, override, render
    >>> @component
    ... def tone(name):
    ...     return Section("tone", "You are ", Value(name), ".")
    >>> house = Library("house", sections=[tone])
    >>> print(System(house.tone("Ada")))  # doctest: +ELLIPSIS
    <System at ...: not rendered>
    ...
    >>> with override({"house:tone": lambda name: "Be kind."}):
    ...     render(System(house.tone("Ada"))).messages[0].text
    'Be kind.'
    """

    @public_api
    def __init__(
        self,
        name: str,
        /,
        *,
        sections: Iterable[Callable[..., CustomComponent]] = (),
        templates: str | os.PathLike[str] | None = "templates",
        requires: str | None = None,
        trim_blocks: bool = True,
        lstrip_blocks: bool = True,
        keep_trailing_newline: bool = False,
        reload: bool = False,
    ) -> None:
        frame = author_frame(getframe(0))
        if not isinstance(name, str) or not LIBRARY_NAME.fullmatch(name):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise LibraryError(
                f"{shown(name)} cannot be the name of a library",
                fix='write a letter, then letters, digits and _ . -: Library("support")',
            )
        self.name = name
        self._set_module(str(frame.f_globals.get("__name__", "")))
        if requires is not None:
            _check_version(name, requires)
        self._folder = _folder(name, templates, os.path.dirname(frame.f_code.co_filename))
        self._white_space = WhiteSpace(trim_blocks, lstrip_blocks, keep_trailing_newline).checked()
        self._reload = bool(reload)
        self._template_components: dict[str, ComponentFunction] = {}
        """The components of templates that were used so far, by their names."""
        self._functions = _by_section_name(name, sections, self._folder)
        for section, component in self._functions.items():
            self._join(section, component)
        LIBRARIES_MADE.add(self)

    def _set_module(self, module: str) -> None:
        """Keep the module that makes the library: it shows from which package the version is."""
        self._module = module
        self._version = cache(partial(version_of, self.name, module))

    def _join(self, section: str, component: ComponentFunction) -> None:
        """Make a component a section of this library: it gets a qualified name and a digest."""
        name, read_version = f"{self.name}:{section}", self._version
        file = cast("FunctionType", original_of(component.function)).__code__.co_filename

        @cache
        def provenance() -> LibrarySection:
            digest = ""
            with suppress(OSError), open(file, "rb") as source_file:
                digest = sha256(source_file.read()).hexdigest()[:8]
            return LibrarySection(name, read_version(), digest)

        component.name, component.section = name, provenance

    @classmethod
    @public_api
    def load(cls, name: str) -> "Library":
        """Return an installed library, which is imported at its first use.

        Raises :class:`LibraryError` for a library that is unknown, not allowed or broken, or that
        two packages declare.
        """
        return cast("Library", load_library(name))  # Library is its only subclass

    @staticmethod
    @public_api
    def installed() -> tuple[InstalledLibrary, ...]:
        """Return the installed libraries; none of them is imported.

        If the environment variable ``PROMPTDSL_LIBRARIES`` is set, it has the names of the
        libraries that are allowed, separated by commas. Then only these are returned.
        """
        return installed_libraries()

    @property
    def version(self) -> str | None:
        """The version of its package, ``None`` for a library that is not installed."""
        return self._version()

    @property
    def templates(self) -> TemplateFolder | None:
        """The folder of its templates, ``None`` if it has none."""
        return self._templates

    @cached_property
    def _templates(self) -> TemplateFolder | None:
        if self._folder is None:
            return None
        return TemplateFolder(
            self._folder, self._white_space, self._reload, self.name, self.version
        )

    @property
    def sections(self) -> Mapping[str, SectionInfo]:
        """The information about its sections, by their short names.

        A section is read when you look it up, so a broken section raises its error only then.
        """
        return _Sections(self)

    @public_api
    def __getattr__(self, name: str) -> ComponentFunction:
        if name.startswith("_"):
            raise AttributeError(f"a Library has no {name!r}")
        return self[name]

    @public_api
    def __getitem__(self, name: str) -> ComponentFunction:
        component = self._functions.get(name) or self._template_components.get(name)
        if component is not None:
            return component
        if self.templates is None or name not in _template_names(self.templates.folder):
            names = self._names()
            fix = nearest(str(name), names) if names else "it has no sections"
            # The folder may be missing: a package can be removed while it is used.
            folder = self._folder
            files = os.listdir(folder) if folder is not None and os.path.isdir(folder) else []
            for file in (f"{name}.md", f"{name}.j2", f"{name}.txt"):
                if file in files:
                    fix = f"rename {file} to {name}{SUFFIX}"
            raise UnknownSection(f"the library {self.name!r} has no section {name!r:.60}", fix=fix)
        # If two threads make the component, both get the first one.
        return self._template_components.setdefault(
            name, template_component(self.templates, name, self._module)
        )

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *filter(str.isidentifier, self._names())})

    def __repr__(self) -> str:
        return f"<Library {self.name!r}>"

    def __reduce__(self) -> tuple[object, ...]:
        return Library.load, (self.name,)

    def _names(self) -> list[str]:
        """Return the short names of all sections, sorted."""
        names = [] if self._folder is None else _template_names(self._folder)
        return sorted({*self._functions, *names})


class _Sections(Mapping[str, SectionInfo]):
    """The information about the sections of a library by name. A look-up reads the section."""

    def __init__(self, library: Library) -> None:
        self.library = library

    @public_api
    def __getitem__(self, name: str) -> SectionInfo:
        library = self.library
        component = library[name]
        if name in library._functions:
            return _of_function(component)
        assert library.templates is not None
        return TemplateSection(library.templates, name).info()

    def __iter__(self) -> Iterator[str]:
        return iter(self.library._names())

    def __len__(self) -> int:
        return len(self.library._names())

    def __repr__(self) -> str:
        return f"<sections of {self.library.name!r}: {', '.join(self)}>"


def _of_function(component: ComponentFunction) -> SectionInfo:
    """Return the information about a section that is a function."""
    original, section = cast("FunctionType", original_of(component.function)), component.section
    assert section is not None
    title, _, description = (inspect.getdoc(original) or "").partition("\n")
    try:
        lines, line = inspect.getsourcelines(original)
    except (OSError, TypeError):
        lines, line = [], original.__code__.co_firstlineno
    inputs = tuple(
        Input(
            name,
            _annotation(parameter.annotation),
            required=parameter.default is Parameter.empty,
            default=None if parameter.default is Parameter.empty else parameter.default,
        )
        for name, parameter in inspect.signature(original).parameters.items()
        if parameter.kind not in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    )
    return SectionInfo(
        section(),
        "function",
        title,
        description.strip(),
        inputs,
        original.__code__.co_filename,
        line,
        "".join(lines),
    )


_TAKEN_NAMES = frozenset({*dir(Library), "name"})
"""The attributes of every library, so a section with such a name could not be an attribute."""


def _annotation(annotation: object) -> str:
    """Return the text of an annotation, an empty string if there is none."""
    if annotation is Parameter.empty:
        return ""
    if isinstance(annotation, str):
        return annotation
    # Before Python 3.12, ``Annotated`` is the only type that is written with its module.
    return inspect.formatannotation(annotation).removeprefix("typing.")


def _by_section_name(
    library: str, sections: object, folder: str | None
) -> dict[str, ComponentFunction]:
    """Return components by their short names.

    Raises :class:`LibraryError` for a value that cannot be a section, and for two sections with one
    name.
    """
    if not isinstance(sections, Iterable) or isinstance(sections, str):
        raise LibraryError(
            f"the library {library!r} takes a list of sections, not {kind_of(sections)}",
            fix="write sections=[tone], a list of components",
        )
    by_name: dict[str, ComponentFunction] = {}
    for component in cast("Iterable[Function]", sections):
        problem = fix = ""
        if not isinstance(component, ComponentFunction):
            name = getattr(component, "__name__", kind_of(component))
            problem = f"{name} is not a component"
            fix = "give functions that were made with @component, without a call: sections=[tone]"
            if inspect.isfunction(component):
                fix = "write @component before it"
        else:
            full_name = component.name
            owner, _, name = full_name.rpartition(":")
            if owner not in ("", library):
                problem = f"{name} belongs to another library: {full_name!r}"
                fix = "make a new component for this library"
            elif name in _TAKEN_NAMES:
                problem = f"every library has an attribute {name!r}"
                fix = "choose another name for the section"
            elif name in by_name:
                problem, fix = f"two sections are called {name!r}", "write @component(name=...)"
            elif folder is not None and os.path.isfile(os.path.join(folder, name + SUFFIX)):
                problem, fix = f"{name!r} is a function and a template", "rename one of them"
            by_name[name] = component
        if problem:
            raise LibraryError(f"the library {library!r}: {problem}", fix=fix)
    return by_name


def _folder(library: str, templates: str | os.PathLike[str] | None, start: str) -> str | None:
    """Return the folder of templates, ``None`` if the default folder does not exist.

    A relative path starts in the folder ``start``. Raises :class:`LibraryError` for another folder
    that does not exist.
    """
    if templates is None:
        return None
    try:
        folder = os.path.join(start, os.fspath(templates))
        exists = os.path.isdir(folder)
    except (TypeError, ValueError):
        folder, exists = repr(templates)[:200], False
    if exists:
        return os.path.realpath(folder)
    if templates == "templates":
        return None
    raise LibraryError(
        f"the library {library!r} has no folder {folder!r}",
        fix="write the path from the folder of the file that makes the library",
    )


def _template_names(folder: str) -> list[str]:
    """Return the names of the templates in a folder and in its subfolders."""
    names: list[str] = []
    for path, folders, files in os.walk(folder):
        # A private folder is not searched: os.walk() visits only the folders that stay in the list.
        folders[:] = [name for name in folders if not name.startswith(("_", "."))]
        relative_path = os.path.relpath(path, folder).replace(os.sep, "/")
        prefix = "" if relative_path == "." else f"{relative_path}/"
        names += [
            prefix + file.removesuffix(SUFFIX)
            for file in files
            if file.endswith(SUFFIX) and not file.startswith(("_", "."))
        ]
    return names


def _check_version(library: str, requires: object) -> None:
    """Raise :class:`LibraryError` if a library requires another version of promptdsl."""
    match = _REQUIRES.fullmatch(requires) if isinstance(requires, str) else None
    conditions_text = match[1] if match else "?"
    conditions = (
        [_CONDITION.fullmatch(text) for text in conditions_text.split(",")]
        if conditions_text
        else []
    )
    for condition in conditions:
        if condition is None:
            raise LibraryError(
                f"the library {library!r} requires {requires!r:.100}, which is not a version",
                fix='write requires="promptdsl>=0.1,<1"',
            )
        fits = _COMPARISONS[condition[1]](_release(__version__), _release(condition[2]))
        if not fits:
            raise LibraryError(
                f"the library {library!r} requires {requires}, and promptdsl {__version__} is "
                "installed",
                fix="install another version of the library or of promptdsl",
            )


def _release(text: str) -> list[int]:
    """Return the numbers of a version, without zeros at the end: ``[1]`` for ``1.0``."""
    release = re.match(r"\d+(?:\.\d+)*", text)
    numbers = [int(number) for number in release[0].split(".")] if release else []
    while numbers and not numbers[-1]:
        numbers.pop()
    return numbers
