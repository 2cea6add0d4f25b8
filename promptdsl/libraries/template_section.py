"""A section of a library that is a template: what its file says, and the component made of it."""

import inspect
from inspect import Parameter, Signature
from typing import Literal, NamedTuple

import attrs

from promptdsl.components.custom import ComponentFunction, component_of
from promptdsl.components.template import section_text
from promptdsl.foundation.errors import LibraryError
from promptdsl.foundation.frozen import is_list
from promptdsl.foundation.labelled import labelled
from promptdsl.foundation.library_section import LibrarySection
from promptdsl.templates.folders import find, read_template
from promptdsl.templates.front_matter import FrontMatter, split
from promptdsl.templates.inputs import Input
from promptdsl.templates.source import TemplateSource
from promptdsl.templates.template_folder import SUFFIX, TemplateFile, TemplateFolder
from promptdsl.tree.part_nodes import VolatileNode


@attrs.frozen
class SectionInfo:
    """A section of a library, as ``promptdsl list`` and ``promptdsl show`` tell it.

    ``section`` has its qualified name, version and digest. ``inputs`` are those of its front matter
    or of its signature; ``None`` for a template that takes any variables. ``file`` is the file it
    is written in, ``line`` the line at which it begins, ``source`` its text.

    >>> from promptdsl import Library, component
    >>> @component
    ... def tone(name: str = "Ada"):
    ...     '''How we speak.'''
    ...     return f"You are {name}."
    >>> info = Library("house", sections=[tone]).sections["tone"]
    >>> info.kind, info.title, info.inputs[0].default
    ('function', 'How we speak.', 'Ada')
    """

    section: LibrarySection
    kind: Literal["template", "function"]
    title: str
    description: str
    inputs: tuple[Input, ...] | None
    file: str
    line: int
    source: str


class ReadTemplate(NamedTuple):
    """A template of a library that was read."""

    front: FrontMatter
    digest: str
    file: TemplateFile
    source: str


class TemplateSection:
    """A template of a library: what its file says."""

    def __init__(self, folder: TemplateFolder, section: str) -> None:
        self.folder = folder
        self.section = section
        self.name = f"{folder.library}:{section}"
        self._kept = self._read()

    def read(self) -> ReadTemplate:
        """Return what the file says, read anew where the library reloads."""
        if self.folder.reload:
            self._kept = self._read()
        return self._kept

    def _read(self) -> ReadTemplate:
        file = find(self.section + SUFFIX, (self.folder,))
        if file is None:
            raise LibraryError(
                f"there is no file of {self.name!r} any more", fix="install it again"
            )
        source, digest = read_template(file)
        front, _ = split(source, self.name)
        return ReadTemplate(front or FrontMatter(name=self.name), digest[:8], file, source)

    def provenance(self) -> LibrarySection:
        """Return its name, version and digest."""
        return LibrarySection(self.name, self.folder.version, self.read().digest)

    def info(self) -> SectionInfo:
        """Return what the library says about it; raises :class:`TemplateError` for a broken one."""
        from promptdsl.templates.render import check_template

        front, _, file, source = self.read()
        check_template(file)
        return SectionInfo(
            self.provenance(),
            "template",
            front.title,
            front.description,
            front.inputs,
            file.path,
            1,
            source,
        )


class TemplateSignature(Signature):
    """The signature of a template section; a call is checked against its front matter."""

    def __init__(self, section: TemplateSection) -> None:
        inputs = section.read().front.inputs
        parameters = [
            Parameter(
                it.name,
                Parameter.KEYWORD_ONLY,
                default=Parameter.empty if it.required else it.default,
                annotation=_Written(it.annotation),
            )
            for it in inputs or ()
        ]
        if inputs is None:
            parameters = [Parameter("inputs", Parameter.VAR_KEYWORD, annotation=object)]
        super().__init__(parameters, return_annotation=_Written("CustomComponent"))
        self.section = section

    def bind(self, /, *args: object, **kwargs: object) -> inspect.BoundArguments:
        """Raise :class:`TemplateError` for wrong inputs, ``TypeError`` for any by position."""
        if args:
            raise TypeError("its inputs are given by name")
        self.section.read().front.checked({name: _plain(it) for name, it in kwargs.items()})
        # The file of a library that reloads may declare other inputs by now.
        current = TemplateSignature(self.section) if self.section.folder.reload else self
        return Signature.bind(current, **kwargs)


class _Written(str):
    """An annotation that is shown as it is written."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _plain(value: object, depth: int = 3) -> object:
    """Return an input as it is checked: a volatile one is its value, in a list too.

    No type has lists below ``depth``: what is there is left as it is.
    """
    if isinstance(value, VolatileNode):
        return labelled(value.plain, value.label or "")
    return [_plain(item, depth - 1) for item in value] if depth and is_list(value) else value


def template_component(folder: TemplateFolder, name: str, module: str) -> ComponentFunction:
    """Return the component of a template."""
    section = TemplateSection(folder, name)
    source = TemplateSource("name", name + SUFFIX, folder)

    def text(**inputs: object) -> object:
        return section_text(source, inputs)

    text.__name__ = text.__qualname__ = name
    front = section.read().front
    inputs = [f"{it.name}: {it.doc}" if it.doc else it.name for it in front.inputs or ()]
    lines = ["Inputs:", *(f"    {it}" for it in inputs)] if inputs else []
    doc = (front.title, front.description, "\n".join(lines))
    text.__module__, text.__doc__ = module, "\n\n".join(filter(None, doc))
    setattr(text, "__signature__", TemplateSignature(section))  # noqa: B010 (no attribute in stubs)
    text.__annotations__ = {}
    made = component_of(text, "template")
    made.name, made.section = section.name, section.provenance
    return made
