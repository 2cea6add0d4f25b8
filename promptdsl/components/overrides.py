"""The block :func:`override`: functions and parts replace components, sections and constants."""

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
    difference,
    entries_of,
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

    A key is one of these:

    - a component, its name, or its name with its module (``"shop.prompts.tone"``), if two
      components have the same name;
    - the qualified name of a section of a :class:`Library` (``"support:tone"``); its short name is
      not enough;
    - the id of a :class:`Section`;
    - a part that a module exports (a constant).

    A component is replaced by a function that takes the same arguments, or by a part. A section and
    a constant are replaced by a part. If a ``Section`` replaces a section, nothing of the old one
    stays. Any other part becomes the content of the old section, under its id and title.

    The innermost override wins. If a function calls the component that it replaces, it gets the
    original, or the next override around it. Parts that were written before the block do not
    change, unless they are included or passed as arguments in the block. A :class:`Lazy` that is
    written in the block is called with the same overrides. A :class:`Template` that is written in
    the block uses them for the library sections that it includes; only text can replace these.

    Raises :class:`LibraryError` for an unknown library or section. Raises :class:`OptionError` for
    any other unknown name, for a function that does not take the arguments of a call, and at the
    end of the block for a section or constant that was not written in it.

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
    # Parts written in the mapping itself have joined the open block.
    adopt(make(FragmentNode, at=line), (*replacements, *replacements.values()))
    checked = [_checked(key, by, line) for key, by in replacements.items()]
    return _Override(checked, line)


unwrap(override).__defaults__ = (LEFT_OUT,)


def _checked(key: object, by: object, line: Source) -> Replacement:
    """Return a replacement of a key ``by`` a value, or raise :class:`OptionError`."""
    if isinstance(key, Node):
        if isinstance(by, Node):
            return Replacement(key, written_as(finish(by)), line, check=check_replaced)
        problem = f"{named_label(key)} cannot be overridden by {kind_of(by)}"
        raise OptionError(problem, fix="override a part by a part", at=(line,))
    made = components_called(key)
    if made:
        # A library section is known by its name, which is the same after a pickle.
        known_by = cast("Key", key) if made[0].section is None else made[0].name
        return _of_component(known_by, made, by, line)
    if isinstance(key, str):
        if isinstance(by, Node) and is_name(key):
            return Replacement(key, written_as(finish(by)), line, check=check_replaced)
        names = {component.name for component in components()}
        sections = {name for name in names if name.endswith(f":{key}")} | {*_templates_called(key)}
        fix = nearest(key, names) if names else "write @component before its function"
        if isinstance(by, str) and is_name(key) and key not in names and not fix.startswith("did"):
            fix = f"for the section of this id write {{{key!r}: Section({key!r}, text)}}"
        if sections:
            full = " or ".join(map(repr, sorted(sections)))
            fix = f"a section of a library has its full name: {full}"
        raise OptionError(f"no component is called {key!r}", fix=fix, at=(line,))
    problem = f"{getattr(key, '__name__', kind_of(key))} is not a component, a name or a part"
    fix = "override a function with @component, the id of a Section, or a part"
    if isinstance(key, FunctionType):
        fix = "write @component before its function"
    raise OptionError(problem, fix=fix, at=(line,))


def _of_component(key: Key, made: list[ComponentFunction], by: object, line: Source) -> Replacement:
    """Return the replacement of a component or section, or of all components with one name."""
    name = key if isinstance(key, str) else made[0].__name__
    if isinstance(by, Node):
        childless = not all(component.takes_children for component in made)
        if not childless and not is_name(key):
            problem = f"{name} takes children, which a part cannot hold"
            raise OptionError(problem, fix="give a function that yields", at=(line,))
        # It is no error if the component is not called in the block.
        return Replacement(key, written_as(finish(by)), line, childless, check_replaced)
    function = original_of(by)
    if not is_plain(function):
        raise OptionError(
            f"{name!r} cannot be overridden by {kind_of(by)}",
            fix="give a function, or a part such as Text(...)",
            at=(line,),
        )
    # If several components have this name, it has to fit one. The call is checked again.
    problems = [difference(component.function, function) for component in made]
    if all(problems):
        raise unfit(name, made[-1].function, (function, problems[-1]), (line,))
    return Replacement(key, cast("Function", by), line, used=True)


def components_called(key: object) -> list[ComponentFunction]:
    """Return the components of a key: a component, those of a name, or an unused section."""
    made = [each for each in components() if each is key or key in each.names]
    if not made and isinstance(key, str) and ":" in key:
        return [_section_called(key)]
    return made


def _section_called(name: str) -> ComponentFunction:
    """Return the component of a library section: the library is installed, or made in code."""
    from promptdsl.templates.installed import MADE

    try:
        return section_at(name)
    except LibraryError:
        library, _, section = name.partition(":")
        for made in [made for made in MADE if made.name == library]:
            with suppress(LibraryError):
                return cast("ComponentFunction", made[section])
        raise


def _templates_called(name: str) -> Iterator[str]:
    """Yield the full names of the templates with a short name in the libraries of this process."""
    from promptdsl.templates.installed import MADE
    from promptdsl.templates.limits import SUFFIX

    for library in MADE:
        folder = library.templates
        if folder is not None and os.path.isfile(os.path.join(folder.folder, f"{name}{SUFFIX}")):
            yield f"{library.name}:{name}"


def section_at(name: str) -> ComponentFunction:
    """Return the component of a section of an installed library, by its qualified name."""
    from promptdsl.templates.installed import load_library

    library, _, section = name.partition(":")
    return cast("ComponentFunction", load_library(library)[section])


class _Override(AbstractContextManager[None]):
    """The block of :func:`override`; it can be entered several times."""

    def __init__(self, replacements: list[Replacement], line: Source) -> None:
        self.replacements = replacements
        self.line = line

    def __enter__(self) -> None:
        around = OVERRIDES.get()
        entries = (*map(attrs.evolve, self.replacements), *entries_of(around))
        inside = Replacements(entries, around=around, opened_by=self)
        OVERRIDES.set(inside)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        top = opened = OVERRIDES.get()
        while opened is not None and opened.opened_by is not self:
            opened = opened.around
        if opened is not None:
            OVERRIDES.set(opened.around)
        if kind is not None:
            return
        if opened is None or opened is not top:
            raise out_of_order("this override()", self.line)
        mine = opened.entries[: len(self.replacements)]
        unused = [replacement for replacement in mine if not replacement.used]
        if unused:
            key = unused[0].key
            missed = label(key) if isinstance(key, Node) else f"Section {key!r}"
            problem = f"this override() replaced nothing: no {missed} was written in its block"
            fix = nearest(key, [each.name for each in components()]) if isinstance(key, str) else ""
            if not fix.startswith("did"):
                fix = "take the id from outline(), or override a component by its function"
            raise OptionError(problem, fix=fix, at=(self.line,))
