"""Overrides: functions and parts in the place of components, sections and constants."""

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from inspect import Parameter, unwrap
from types import FunctionType
from typing import TYPE_CHECKING, Never, TypeAlias, TypeGuard, cast
from weakref import WeakKeyDictionary

import attrs

from promptdsl.components.arguments import adopt
from promptdsl.components.block import finish
from promptdsl.components.lazy_results import check_replaced
from promptdsl.components.options import is_name
from promptdsl.components.replacements import (
    OVERRIDES,
    Function,
    Key,
    Replacement,
    Replacements,
    written_as,
)
from promptdsl.foundation.errors import LibraryError, OptionError, ScopeError, nearest
from promptdsl.foundation.frozen import is_mapping
from promptdsl.foundation.signatures import LEFT_OUT
from promptdsl.foundation.source import Source, author, door
from promptdsl.messages.field_checks import kind_of
from promptdsl.tree.group_nodes import FragmentNode
from promptdsl.tree.masks import BARE, BUSY
from promptdsl.tree.node import Node, label, make, named_label

if TYPE_CHECKING:
    from promptdsl.foundation.library_section import LibrarySection

Call: TypeAlias = tuple[Sequence[object], Mapping[str, object]]
"""The arguments of a call: by position, and by name."""

COMPONENTS: WeakKeyDictionary[Function, str] = WeakKeyDictionary()
"""All components that functions were made into, and their names: several may have the same."""


_Told: TypeAlias = "Callable[[], LibrarySection]"
SECTIONS: WeakKeyDictionary[Function, _Told] = WeakKeyDictionary()
"""The functions that sections of libraries were made of, and what tells their section."""


def qualified(made: Function) -> str:
    """Return the name of a component with the name of its module."""
    return f"{made.__module__}.{COMPONENTS[made].rpartition(':')[2]}"


def is_plain(function: object) -> TypeGuard[FunctionType]:
    """Return whether a value is a function that is not asynchronous."""
    return inspect.isfunction(function) and not (
        inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
    )


@door
def override(
    replacements: Mapping[str | Function | Node, Callable[..., object] | Node],
    /,
    *surplus: Never,
    **unknown: Never,
) -> AbstractContextManager[None]:
    """Return a ``with`` block in which components, sections and constants are replaced.

    A key is a component, its name, or its name with its module (``"shop.prompts.tone"``), which
    tells two components of one name apart; the qualified name of a section of a :class:`Library`
    (``"support:tone"``), which its bare name does not replace; the id of a :class:`Section`; or a
    part that a module exports (a constant). A component is replaced by a function that takes what
    its calls give, or by a part; a section and a constant by a part. A section takes the whole
    place of a section; any other part becomes its content, under its id and title.

    The innermost override wins. When a function calls the component it replaces, it gets the
    original, or the next override around it. Parts that were written before stay as they are, until
    they are included or passed as arguments in the block; a :class:`Lazy` written in the block is
    called with the same overrides. A :class:`Template` written in the block also has them for the
    sections of libraries that it includes, which are replaced by text alone.

    Raises :class:`LibraryError` for an unknown library or section, :class:`OptionError` for any
    other unknown name, a function that does not take what every call gives (at the call what that
    gives), and at the end of the block for a section or constant that was not in it.

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
    given: object = replacements
    if surplus or unknown or not is_mapping(given):
        name = next(iter(unknown), "persona")
        problem = f"not {kind_of(given)}"
        if surplus or unknown:
            problem = "and no keywords" if unknown else "and nothing else"
        raise OptionError(
            f"override() takes a mapping, {problem}",
            fix=f'write override({{"{name}": my_{name}}})',
            at=(line,),
        )
    # Parts written in the mapping itself have joined the open block.
    busy = [x for x in (*given, *given.values()) if isinstance(x, Node) and x.mask & (BUSY | BARE)]
    adopt(make(FragmentNode, at=line), busy)
    checked = [_checked(key, by, line) for key, by in given.items()]
    return _Override(checked, line)


unwrap(override).__defaults__ = (LEFT_OUT,)


def _checked(key: object, given: object, line: Source) -> Replacement:
    """Return a replacement whose key and value fit, or raise :class:`OptionError`."""
    made = components_called(key)
    if made and ":" in COMPONENTS[made[0]]:
        # A section goes by its name, which is the same after a pickle.
        key = COMPONENTS[made[0]]
    name = key if isinstance(key, str) else getattr(key, "__name__", kind_of(key))
    if isinstance(key, Node):
        name = named_label(key)
    elif not isinstance(key, str) and not made:
        problem = f"{name} is no component, no name and no part"
        fix = "write @component before its function"
        if not isinstance(key, FunctionType):
            fix = "override a function with @component, the id of a Section, or a part"
        raise OptionError(problem, fix=fix, at=(line,))
    if isinstance(given, Node) and (made or isinstance(key, Node) or is_name(key)):
        childless = [one for one in made if not inspect.isgeneratorfunction(original_of(one))]
        if made and not childless and not is_name(key):
            problem = f"{name} takes children, and a part has no place for them"
            raise OptionError(problem, fix="give a function that yields", at=(line,))
        # A component that exists may be called in the block or not: as with a function.
        part = written_as(finish(given))
        return Replacement(cast("Key", key), part, line, bool(childless), check_replaced)
    if isinstance(key, Node):
        problem = f"{name} is overridden by {kind_of(given)}, which is no part"
        raise OptionError(problem, fix="a part is replaced by a part", at=(line,))
    if not made:
        names = {*COMPONENTS.values()}
        sections = {one for one in names if one.endswith(f":{name}")} | {*_templates_called(name)}
        fix = nearest(name, names) if names else "write @component before its function"
        if sections:
            full = " or ".join(map(repr, sorted(sections)))
            fix = f"a section of a library has its full name: {full}"
        raise OptionError(f"no component is called {name!r}", fix=fix, at=(line,))
    # A component replaces another one by the function it was made of.
    function = original_of(given) if is_plain(given) else given
    if not is_plain(function):
        raise OptionError(
            f"{name!r} is overridden by {kind_of(given)}, no plain function and no part",
            fix="give a function, or a part such as Text(...)",
            at=(line,),
        )
    # Of several components with this name it has to fit one: the call shows later which it is.
    problems = [difference(original_of(one), function) for one in made]
    if all(problems):
        raise unfit(name, original_of(made[-1]), (function, problems[-1]), (line,))
    return Replacement(cast("Key", key), function, line, used=True)


def components_called(key: object) -> list[Function]:
    """Return a component as a list, those of a name, or a section that was not used yet."""
    alive = [made for made in (reference() for reference in COMPONENTS.keyrefs()) if made]
    made = [one for one in alive if one is key or key in (COMPONENTS[one], qualified(one))]
    return [_section_called(key)] if not made and isinstance(key, str) and ":" in key else made


def _section_called(name: str) -> Function:
    """Return the component of a section: of an installed library, else of one made in code."""
    from promptdsl.templates.installed import MADE

    try:
        return section_at(name)
    except LibraryError:
        library, _, section = name.partition(":")
        for made in [made for made in MADE if made.name == library]:
            with suppress(LibraryError):
                return made[section]
        raise


def _templates_called(name: str) -> Iterator[str]:
    """Yield the full names of the templates with a bare name in the libraries of this process."""
    from promptdsl.templates.installed import MADE
    from promptdsl.templates.template_folder import SUFFIX

    for library in MADE:
        folder = library.templates
        if folder is not None and os.path.isfile(os.path.join(folder.folder, f"{name}{SUFFIX}")):
            yield f"{library.name}:{name}"


def original_of(function: Function) -> Function:
    """Return the function that a component was made of, and any other function as it is."""
    wrapped: Function = getattr(function, "__wrapped__", function)
    return wrapped if function in COMPONENTS else function


def section_at(name: str) -> Function:
    """Return the component of a section of an installed library, by its qualified name.

    Raises :class:`LibraryError` for a library that cannot be used, and an unknown section.
    """
    from promptdsl.templates.installed import load_library

    library, _, section = name.partition(":")
    return load_library(library)[section]


class _Override(AbstractContextManager[None]):
    """The block of :func:`override`; it can be entered anywhere, any number of times."""

    def __init__(self, replacements: list[Replacement], line: Source) -> None:
        self.replacements = replacements
        self.line = line

    def __enter__(self) -> None:
        around = OVERRIDES.get()
        outer = () if around is None else around.entries
        entries = (*map(attrs.evolve, self.replacements), *outer)
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
            raise ScopeError(
                "this override() is closed out of order",
                fix="close blocks in the order they were opened; a generator suspended inside a "
                "block keeps it open",
                at=(author(), self.line),
            )
        unused = [entry for entry in opened.entries[: len(self.replacements)] if not entry.used]
        if unused:
            key = unused[0].key
            missed = label(key) if isinstance(key, Node) else f"Section {key!r}"
            fix = "take the id from outline(), or override a component by its function"
            near = nearest(key, COMPONENTS.values()) if isinstance(key, str) else ""
            raise OptionError(
                f"this override() replaced nothing: no {missed} was written in its block",
                fix=near if near.startswith("did") else fix,
                at=(self.line,),
            )


def unfit(
    name: str, original: Function, wrong: tuple[Function, str], at: tuple[Source | None, ...]
) -> OptionError:
    """Return the error for a function that cannot replace a component, with the reason."""
    function, problem = wrong
    return OptionError(
        f"{getattr(function, '__name__', function)} cannot replace {name}: {problem}",
        fix=f"take the same arguments: {name}{inspect.signature(original)}",
        at=at,
    )


def difference(original: Function, function: Function, call: Call | None = None) -> str:
    """Return the reason why a function cannot replace another, else an empty string.

    It has to take what every call gives, and what ``call`` gives: an input of the other one that
    is left to its default is not passed on.
    """
    yields = inspect.isgeneratorfunction(original)
    if yields != inspect.isgeneratorfunction(function):
        return "it does not yield" if yields else "it yields"
    wanted = inspect.signature(original).parameters
    given = [(it.name, it.kind) for it in wanted.values() if it.default is Parameter.empty]
    if call is not None:
        in_order = [it for it in wanted.values() if it.kind in (*_BY_POSITION, _SEVERAL[0])]
        given = [(it.name, it.kind) for it in in_order[: len(call[0])]]
        given += [(name, Parameter.KEYWORD_ONLY) for name in call[1]]
    taken = inspect.signature(function).parameters
    positions = [parameter for parameter in taken.values() if parameter.kind in _BY_POSITION]
    kinds = {parameter.kind for parameter in taken.values()}
    filled: set[str] = set()
    for index, (name, kind) in enumerate(given):
        by_position, by_name = kind in _BY_POSITION, kind in _BY_NAME
        same = taken.get(name)
        same = None if same is not None and same.kind in _SEVERAL else same
        at_index = positions[index] if by_position and index < len(positions) else None
        problem = ""
        if kind in _SEVERAL and kind not in kinds:
            problem = f"it does not take {wanted[name]}"
        elif by_position and at_index is None and Parameter.VAR_POSITIONAL not in kinds:
            problem = f"it does not take {name!r} by position"
        elif at_index is not None and at_index.name != name and at_index.name in wanted:
            problem = f"it takes {name} in the place of {at_index.name}"
        elif by_name and same is None and Parameter.VAR_KEYWORD not in kinds:
            problem = f"it does not take {name!r} by name"
        elif by_name and same is not None and same.kind is Parameter.POSITIONAL_ONLY:
            problem = f"it takes {name!r} by position only"
        if problem:
            return problem
        filled |= {other.name for other in (at_index, same) if other is not None}
    missing = [
        parameter.name
        for parameter in taken.values()
        if parameter.kind not in _SEVERAL
        and parameter.default is Parameter.empty
        and parameter.name not in filled
    ]
    return f"it requires {missing[0]!r}" if missing else ""


_BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
_SEVERAL = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
