"""The ``with`` block :func:`override`, which replaces components, sections and constants.

:func:`override` checks the keys and their replacements; :class:`_Override` is the block.
``replacements.py`` has what is in force in the block.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from inspect import unwrap
from types import FunctionType
from typing import Never, cast

import attrs

from promptdsl.components.arguments import adopt
from promptdsl.components.block import finish
from promptdsl.components.custom import ComponentFunction, components, original_of
from promptdsl.components.lazy import check_replaced
from promptdsl.components.options import is_name
from promptdsl.components.replacements import (
    OVERRIDES,
    Function,
    Key,
    Replacement,
    Replacements,
    as_tuple,
    difference,
    is_plain,
    unfit,
    written_as,
)
from promptdsl.components.scope import out_of_order
from promptdsl.foundation.errors import LibraryError, OptionError, nearest
from promptdsl.foundation.frozen import is_mapping
from promptdsl.foundation.source import LEFT_OUT, Source, author, public_api
from promptdsl.messages.field_checks import kind_of
from promptdsl.tree.node import Node, label, make, named_label
from promptdsl.tree.turn_nodes import FragmentNode


@public_api
def override(
    replacements: Mapping[str | Function | Node, Callable[..., object] | Node],
    /,
    *surplus: Never,
    **unknown: Never,
) -> AbstractContextManager[None]:
    """Return a ``with`` block in which components, sections and constants are replaced.

    A key of the mapping is one of these:

    - a component, its name, or its name with its module (``"shop.prompts.tone"``), if two
      components have the same name;
    - the qualified name of a section of a :class:`Library` (``"support:tone"``); its short name is
      not enough;
    - the id of a :class:`Section`;
    - a part that a module exports (a constant).

    The value of the key is its replacement. For a component it is a function that takes the same
    arguments, or a part. For a section and a constant it is a part. If a ``Section`` replaces a
    section, nothing of the old section stays. Any other part becomes the content of the old
    section, which keeps its id and title.

    The innermost override wins. If a function calls the component that it replaces, it gets the
    original component, or the next override around the block. Parts that were written before the
    block do not change, unless they are included or passed as arguments in the block. A
    :class:`Lazy` that is written in the block is called with the same overrides. A
    :class:`Template` that is written in the block uses them for the library sections that it
    includes; only text can replace these.

    Raises :class:`LibraryError` for an unknown library or section. Raises :class:`OptionError` for
    any other unknown name, and for a function that does not take the arguments of a call. The end
    of the block raises :class:`OptionError` for a section or constant that was not written in it.

    >>> from promptdsl import Section, System, component, override, render
    >>> @component
    ... def persona(name):
    ...     return f"You are {name}."
    >>> with override({persona: lambda name: f"Act as {name}."}):
    ...     render(System(persona("a pirate"))).messages[0].text
    'Act as a pirate.'
    >>> with override({"rules": Section("rules", "Be brief.")}):
    ...     render(System(Section("rules", "Be kind."))).messages[0].text
    'Be brief.'
    """
    line = author()
    mapping: object = replacements
    problem = ""
    if unknown:
        problem = "and no keywords"
    elif surplus:
        problem = "and nothing else"
    elif not is_mapping(mapping):
        problem = f"not {kind_of(mapping)}"
    if problem:
        name = next(iter(unknown), "persona")
        raise OptionError(
            f"override() takes a mapping, {problem}",
            fix=f'write override({{"{name}": my_{name}}})',
            at=(line,),
        )
    # Components that were written in the mapping itself have joined the open block.
    adopt(make(FragmentNode, at=line), (*replacements, *replacements.values()))
    checked = [_checked(key, by, line) for key, by in replacements.items()]
    return _Override(checked, line)


unwrap(override).__defaults__ = (LEFT_OUT,)


def _checked(key: object, by: object, line: Source) -> Replacement:
    """Return the replacement of a key ``by`` a function or a part.

    Raises :class:`OptionError` for a wrong key or value, :class:`LibraryError` for an unknown
    library or section.
    """
    if isinstance(key, Node):
        if isinstance(by, Node):
            return Replacement(key, written_as(finish(by)), line, check=check_replaced)
        problem = f"{named_label(key)} cannot be overridden by {kind_of(by)}"
        raise OptionError(problem, fix="write a part, such as Text(...)", at=(line,))
    matches = components_called(key)
    if matches:
        # The key of a library section is its name, because this is the same after pickling.
        component_key = cast("Key", key) if matches[0].section is None else matches[0].name
        return _of_component(component_key, matches, by, line)
    if isinstance(key, str):
        if isinstance(by, Node) and is_name(key):
            return Replacement(key, written_as(finish(by)), line, check=check_replaced)
        names = {component.name for component in components()}
        sections = {name for name in names if name.endswith(f":{key}")} | {*_templates_called(key)}
        fix = nearest(key, names) if names else "write @component before its function"
        if isinstance(by, str) and is_name(key) and key not in names and not fix.startswith("did"):
            fix = f"for the section of this id write {{{key!r}: Section({key!r}, text)}}"
        if sections:
            full_names = " or ".join(map(repr, sorted(sections)))
            fix = f"a section of a library has its full name: {full_names}"
        raise OptionError(f"no component is called {key!r}", fix=fix, at=(line,))
    problem = f"{getattr(key, '__name__', kind_of(key))} is not a component, a name or a part"
    fix = "override a function with @component, the id of a Section, or a part"
    if isinstance(key, FunctionType):
        fix = "write @component before its function"
    raise OptionError(problem, fix=fix, at=(line,))


def _of_component(
    key: Key, matches: list[ComponentFunction], by: object, line: Source
) -> Replacement:
    """Return the replacement of a component or section, or of all components with one name.

    ``matches`` are these components. Raises :class:`OptionError` for a value that cannot replace
    any of them.
    """
    name = key if isinstance(key, str) else matches[0].__name__
    if isinstance(by, Node):
        has_childless = not all(component.takes_children for component in matches)
        if not has_childless and not is_name(key):
            problem = f"{name} takes children, which a part cannot hold"
            raise OptionError(problem, fix="replace it by a function that yields", at=(line,))
        # A component does not have to be called in the block, so it counts as used. A section has
        # to be written in it.
        part = written_as(finish(by))
        return Replacement(key, part, line, used=has_childless, check=check_replaced)
    function = original_of(by)
    if not is_plain(function):
        raise OptionError(
            f"{name!r} cannot be overridden by {kind_of(by)}",
            fix="write a function, or a part such as Text(...)",
            at=(line,),
        )
    # If several components have this name, the function has to fit one of them. Each call is
    # checked, too.
    problems = [difference(component.function, function) for component in matches]
    if all(problems):
        raise unfit(name, matches[-1].function, (function, problems[-1]), (line,))
    return Replacement(key, cast("Function", by), line, used=True)


def components_called(key: object) -> list[ComponentFunction]:
    """Return the components of a key: the component itself, or all components of this name.

    For the qualified name of a section that was not used so far, it loads the library.
    """
    matches = [
        component for component in components() if component is key or key in component.names
    ]
    if not matches and isinstance(key, str) and ":" in key:
        return [_section_called(key)]
    return matches


def _section_called(name: str) -> ComponentFunction:
    """Return the component of a section of a library that is installed, or made in code.

    Raises :class:`LibraryError` for an unknown library or section.
    """
    from promptdsl.templates.installed import LIBRARIES_MADE

    try:
        return section_at(name)
    except LibraryError:
        library_name, _, section = name.partition(":")
        for library in [library for library in LIBRARIES_MADE if library.name == library_name]:
            with suppress(LibraryError):
                return cast("ComponentFunction", library[section])
        raise


def _templates_called(name: str) -> Iterator[str]:
    """Yield the qualified names of all templates with this short name.

    They are those of the libraries that this process made or loaded.
    """
    from promptdsl.templates.installed import LIBRARIES_MADE
    from promptdsl.templates.limits import SUFFIX

    for library in LIBRARIES_MADE:
        folder = library.templates
        if folder is not None and os.path.isfile(os.path.join(folder.folder, f"{name}{SUFFIX}")):
            yield f"{library.name}:{name}"


def section_at(name: str) -> ComponentFunction:
    """Return the component of a section of an installed library, by its qualified name.

    Raises :class:`LibraryError` for an unknown library or section.
    """
    from promptdsl.templates.installed import load_library

    library, _, section = name.partition(":")
    return cast("ComponentFunction", load_library(library)[section])


class _Override(AbstractContextManager[None]):
    """The block of :func:`override`; it can be entered several times."""

    def __init__(self, replacements: list[Replacement], line: Source) -> None:
        self.replacements = replacements
        self.line = line

    def __enter__(self) -> None:
        enclosing = OVERRIDES.get()
        # Copies, because each run of the block notes for itself what was used.
        copies = map(attrs.evolve, self.replacements)
        in_order = (*copies, *as_tuple(enclosing))
        in_block = Replacements(in_order, enclosing=enclosing, opened_by=self)
        OVERRIDES.set(in_block)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        top = candidate = OVERRIDES.get()
        while candidate is not None and candidate.opened_by is not self:
            candidate = candidate.enclosing
        if candidate is not None:
            OVERRIDES.set(candidate.enclosing)
        if kind is not None:
            return
        if candidate is None or candidate is not top:
            raise out_of_order("this override()", self.line)
        of_block = candidate.in_order[: len(self.replacements)]
        unused = [replacement for replacement in of_block if not replacement.used]
        if unused:
            key = unused[0].key
            part_name = label(key) if isinstance(key, Node) else f"Section {key!r}"
            problem = f"this override() replaced nothing: no {part_name} was written in its block"
            fix = (
                nearest(key, [component.name for component in components()])
                if isinstance(key, str)
                else ""
            )
            if not fix.startswith("did"):
                fix = "write an id that outline() shows, or override a component by its function"
            raise OptionError(problem, fix=fix, at=(self.line,))
