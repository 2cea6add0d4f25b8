"""A library section that is a template: the information in its file, and its component.

Begin with :func:`template_component`, the last function, which makes the component.
"""

import inspect
from inspect import Parameter, Signature
from typing import Literal, NamedTuple

import attrs

from promptdsl.components.custom import ComponentFunction, component_of
from promptdsl.components.template import section_text
from promptdsl.foundation.errors import LibraryError
from promptdsl.foundation.escaping import labelled
from promptdsl.foundation.frozen import is_list
from promptdsl.foundation.source import LibrarySection
from promptdsl.templates.front_matter import FrontMatter, Input, split
from promptdsl.templates.limits import SUFFIX, TemplateFile, TemplateFolder
from promptdsl.templates.sources import TemplateSource, find, read_template
from promptdsl.tree.part_nodes import VolatileNode


@attrs.frozen
class SectionInfo:
    """The information about a library section that ``promptdsl list`` and ``promptdsl show`` print.

    ``section`` has its qualified name, version and digest. ``inputs`` are the inputs in its front
    matter or its signature; ``None`` for a template that takes any variables. ``file`` is the path
    of its file, ``line`` its first line in this file, ``source`` its text.

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
    """What was read of a template: its front matter, its digest, its file and its text."""

    front_matter: FrontMatter
    digest: str
    file: TemplateFile
    source: str


class TemplateSection:
    """A library section that is a template; it reads the file of the template."""

    def __init__(self, folder: TemplateFolder, section: str) -> None:
        self.folder = folder
        self.section = section
        self.name = f"{folder.library}:{section}"
        self._content = self._read()

    def read(self) -> ReadTemplate:
        """Return the content of the file; it is read again if the library has ``reload``."""
        if self.folder.reload:
            self._content = self._read()
        return self._content

    def _read(self) -> ReadTemplate:
        """Read the file; raise :class:`LibraryError` if it does not exist any more."""
        file = find(self.section + SUFFIX, (self.folder,))
        if file is None:
            raise LibraryError(
                f"the file of {self.name!r} does not exist any more",
                fix="install its library again",
            )
        source, digest = read_template(file)
        front_matter, _ = split(source, self.name)
        return ReadTemplate(front_matter or FrontMatter(name=self.name), digest[:8], file, source)

    def provenance(self) -> LibrarySection:
        """Return its name, version and digest."""
        return LibrarySection(self.name, self.folder.version, self.read().digest)

    def info(self) -> SectionInfo:
        """Return the information about it; raises :class:`TemplateError` for a broken template."""
        from promptdsl.templates.render import check_template

        front_matter, _, file, source = self.read()
        check_template(file)
        return SectionInfo(
            self.provenance(),
            "template",
            front_matter.title,
            front_matter.description,
            front_matter.inputs,
            file.path,
            1,
            source,
        )


class TemplateSignature(Signature):
    """The signature of a template section, which checks a call by the front matter."""

    def __init__(self, section: TemplateSection) -> None:
        inputs = section.read().front_matter.inputs
        parameters = [
            Parameter(
                input.name,
                Parameter.KEYWORD_ONLY,
                default=Parameter.empty if input.required else input.default,
                annotation=_Written(input.annotation),
            )
            for input in inputs or ()
        ]
        if inputs is None:
            parameters = [Parameter("inputs", Parameter.VAR_KEYWORD, annotation=object)]
        super().__init__(parameters, return_annotation=_Written("CustomComponent"))
        self.section = section

    def bind(self, /, *args: object, **kwargs: object) -> inspect.BoundArguments:
        """Bind the inputs of a call.

        Raises :class:`TemplateError` for wrong inputs, ``TypeError`` for an input by position.
        """
        if args:
            raise TypeError("its inputs are passed by name")
        self.section.read().front_matter.checked(
            {name: _plain(value) for name, value in kwargs.items()}
        )
        # With ``reload`` the file may have other inputs now, so the signature is made again.
        current = TemplateSignature(self.section) if self.section.folder.reload else self
        return Signature.bind(current, **kwargs)


class _Written(str):
    """The text of an annotation, which is printed without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _plain(value: object, depth: int = 3) -> object:
    """Return an input with plain values instead of volatile ones, also in lists, for its check.

    Lists below ``depth`` levels are not changed: an input has fewer levels.
    """
    if isinstance(value, VolatileNode):
        return labelled(value.plain, value.label or "")
    return [_plain(item, depth - 1) for item in value] if depth and is_list(value) else value


def template_component(folder: TemplateFolder, name: str, module: str) -> ComponentFunction:
    """Return the component of a template in the folder of a library.

    ``module`` is the name of the library's module. Raises :class:`TemplateError` for a mistake in
    the front matter.
    """
    section = TemplateSection(folder, name)
    source = TemplateSource("name", name + SUFFIX, folder)

    def text(**inputs: object) -> object:
        return section_text(source, inputs)

    text.__name__ = text.__qualname__ = name
    front_matter = section.read().front_matter
    inputs = [
        f"{input.name}: {input.doc}" if input.doc else input.name
        for input in front_matter.inputs or ()
    ]
    lines = ["Inputs:", *(f"    {line}" for line in inputs)] if inputs else []
    doc = (front_matter.title, front_matter.description, "\n".join(lines))
    text.__module__, text.__doc__ = module, "\n\n".join(filter(None, doc))
    setattr(text, "__signature__", TemplateSignature(section))  # noqa: B010 (no attribute in stubs)
    text.__annotations__ = {}
    component = component_of(text, "template")
    component.name, component.section = section.name, section.provenance
    return component
