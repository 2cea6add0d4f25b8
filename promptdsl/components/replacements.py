"""The replacements that are in force at one point: of components, sections and constants.

The check of a replacing function comes last: it has to take the same arguments.
"""

import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import Parameter
from types import FunctionType
from typing import TypeAlias, TypeGuard, TypeVar

import attrs

from promptdsl.foundation.errors import OptionError
from promptdsl.foundation.source import Source
from promptdsl.tree.masks import NAMED, OPAQUE, SECTION, bits
from promptdsl.tree.node import Child, Node, child_nodes, implied, label, make
from promptdsl.tree.part_nodes import SectionNode
from promptdsl.tree.rewrite import copied, covering, rewrite, with_content
from promptdsl.tree.turn_nodes import ComponentNode, FragmentNode

# The replacements of components, sections and constants that are in force at one point.
#
# ``override()`` puts them into the context variable ``OVERRIDES``; components look there.

Function: TypeAlias = Callable[..., object]
Key: TypeAlias = "str | Function | Node"
"""A name, a component or a constant."""
Check: TypeAlias = Callable[[Node, Source | None], None]
"""A function that raises an error for a child that may not be in a node.

The line is that of its ``override()``."""
KeptOverrides: TypeAlias = tuple[tuple[Key, Function | Node], ...]
"""Replacements as plain data: keys and their functions or parts, the innermost first."""


@attrs.define(eq=False)
class Replacement:
    """One replacement: the ``key`` is replaced ``by`` a function or a part.

    ``line`` is the line of its ``override()``. ``used`` is whether it replaced something, or may
    still do so. ``check`` is called with each node in which a part was replaced.
    """

    key: Key
    by: Function | Node
    line: Source | None = None
    used: bool = False
    check: Check | None = None


class Replacements:
    """The replacements at one point, the innermost first.

    ``opened_by`` is the ``override`` block that added the first of them; ``around`` are those
    around this block.
    """

    def __init__(
        self,
        entries: tuple[Replacement, ...] = (),
        *,
        around: "Replacements | None" = None,
        opened_by: object = None,
    ) -> None:
        self.entries = entries
        self.by_key: dict[str | int, list[tuple[int, Replacement]]] = {}
        """The replacements of each key with their positions; a key is a name or an ``id()``."""
        for number, replacement in enumerate(entries):
            self.by_key.setdefault(_indexed(replacement.key), []).append((number, replacement))
        self.around = around
        self.opened_by = opened_by
        self.searched: dict[int, Node] = {}
        """The nodes in which nothing has to be replaced, by ``id()``."""
        if not PARTS_REPLACED and any(isinstance(each.by, Node) for each in entries):
            PARTS_REPLACED.append(True)

    def of_component(
        self, keys: tuple[str | Function, ...], *, has_children: bool
    ) -> Replacement | None:
        """Return the innermost replacement of a component: of its function, or of its names.

        A part cannot replace a component with children.
        """
        matches = [
            (number, replacement)
            for key in keys
            for number, replacement in self.by_key.get(_indexed(key), ())
            if not (has_children and isinstance(replacement.by, Node))
        ]
        return min(matches)[1] if matches else None

    def of_part(self, part: Node) -> Replacement | None:
        """Return the innermost replacement of a section or a constant that is not replaced yet."""
        matches = [*self.by_key.get(id(part), ())]
        if isinstance(part, SectionNode):
            named = self.by_key.get(part.options.id or "", ())
            matches += [match for match in named if isinstance(match[1].by, Node)]
        return min(matches)[1] if matches else None

    def without(self, replacement: Replacement) -> "Replacements":
        """Return the replacements for the code of one of them, which gets the next one."""
        return Replacements(tuple(each for each in self.entries if each is not replacement))

    def placed(self, part: Node) -> Node:
        """Return a part with its sections and constants replaced; the part itself may be one."""
        stand_ins: dict[int, Node] = {}
        checks: set[Check] = set()
        seen: list[Node] = []
        waiting = [part]
        while waiting:
            node = waiting.pop()
            # A part that replaced another one is not replaced again.
            if id(node) in self.searched or written_as(node) is not node:
                continue
            replacement = self.of_part(node)
            if replacement is None:
                seen.append(node)
                waiting += child_nodes(node)
            else:
                stand_ins[id(node)] = replaced(node, replacement)
                if replacement.check is not None:
                    checks.add(replacement.check)
        if not stand_ins:
            self.searched.update((id(node), node) for node in seen)
            return part

        def change(node: Node) -> Node:
            if id(node) in stand_ins:
                return stand_ins[id(node)]
            for check in checks:
                check(node, None)
            return node

        return rewrite(part, change, within=-1)


def entries_of(replacements: Replacements | None) -> tuple[Replacement, ...]:
    """Return the replacements that are in force, the innermost first."""
    return () if replacements is None else replacements.entries


def _indexed(key: Key) -> str | int:
    return key if isinstance(key, str) else id(key)


OVERRIDES: ContextVar[Replacements | None] = ContextVar("promptdsl_overrides", default=None)

C = TypeVar("C", bound=Child)

PARTS_REPLACED: list[bool] = []
"""Not empty after the first override of a part in this process: until then, no part is checked."""


def replaced(part: Node, replacement: Replacement) -> Node:
    """Return the node that replaces a section or a constant.

    A section replaces all of a section; any other part becomes its content. The outline names the
    replacement.
    """
    replacement.used = True
    by = replacement.by
    assert isinstance(by, Node)
    assert replacement.check is not None
    is_section = isinstance(part, SectionNode)
    inner = by.content if is_section and isinstance(by, SectionNode) else (by,)
    name = part.options.id or label(part).lower()
    mask = with_content(make(FragmentNode, (), mask=OPAQUE), inner)._mask
    note = make(ComponentNode, inner, mask=mask, at=replacement.line, name=name, by=label(by))
    # Not a field, so make() does not set it.
    object.__setattr__(note, "instead_of", copied(part, part.content, part._mask))
    if not isinstance(part, SectionNode):
        return note
    source = by if isinstance(by, SectionNode) else part
    mask = bits(SECTION | NAMED, covering((note,))) | implied(source.options)
    made = make(
        SectionNode, (note,), mask=mask, at=part, options=source.options, title=source.title
    )
    replacement.check(made, replacement.line)
    return made


def written_as(part: Node) -> Node:
    """Return a part as its author wrote it, before it was replaced."""
    note = part.content[0] if isinstance(part, SectionNode) and len(part.content) == 1 else part
    kept: Node = getattr(note, "instead_of", part)
    return kept


def placed(content: Sequence[C]) -> Sequence[C | Node]:
    """Return the parts of a content with their sections and constants replaced."""
    inside = OVERRIDES.get()
    if inside is None or not PARTS_REPLACED:
        return content
    parts: list[C | Node] = [*content]
    for index, child in enumerate(content):
        if isinstance(child, Node):
            parts[index] = inside.placed(child)
    return parts


@contextmanager
def replacing(replacements: Replacements | None) -> Generator[None]:
    """Return a ``with`` block in which these replacements are in force."""
    token = OVERRIDES.set(replacements)
    try:
        yield
    finally:
        OVERRIDES.reset(token)


def kept_overrides(*, of_sections: bool = False) -> KeptOverrides:
    """Return the replacements at this point as data that can be compared, printed and pickled.

    With ``of_sections`` only those of library sections, by their qualified names.
    """
    kept = entries_of(OVERRIDES.get())
    if of_sections:
        kept = tuple(each for each in kept if isinstance(each.key, str) and ":" in each.key)
    for replacement in kept:
        replacement.used = True
    return tuple((replacement.key, replacement.by) for replacement in kept)


def restored(kept: KeptOverrides, check: Check) -> Replacements:
    """Return the replacements of :func:`kept_overrides`."""
    return Replacements(tuple(Replacement(key, by, used=True, check=check) for key, by in kept))


# The check of a function that overrides another: it has to take the same arguments.

Call: TypeAlias = tuple[Sequence[object], Mapping[str, object]]
"""The arguments of a call: by position, and by name."""


def is_plain(function: object) -> TypeGuard[FunctionType]:
    """Return whether a value is a function, and not asynchronous."""
    return inspect.isfunction(function) and not (
        inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
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
    """Return the reason why ``function`` cannot replace ``original``, or an empty string.

    It has to take the required arguments of ``original``. If there is a ``call``, it has to take
    the arguments of this call. Defaults of ``original`` are not passed on.
    """
    yields = inspect.isgeneratorfunction(original)
    if yields != inspect.isgeneratorfunction(function):
        return "it does not yield" if yields else "it yields"
    wanted = inspect.signature(original).parameters
    passed = [(each.name, each.kind) for each in wanted.values() if each.default is Parameter.empty]
    if call is not None:
        kinds_in_order = (*_BY_POSITION, _SEVERAL[0])
        in_order = [parameter for parameter in wanted.values() if parameter.kind in kinds_in_order]
        passed = [(parameter.name, parameter.kind) for parameter in in_order[: len(call[0])]]
        passed += [(name, Parameter.KEYWORD_ONLY) for name in call[1]]
    taken = inspect.signature(function).parameters.values()
    kinds = {parameter.kind for parameter in taken}
    named = {parameter.name: parameter for parameter in taken if parameter.kind not in _SEVERAL}
    positions = dict(enumerate(each for each in taken if each.kind in _BY_POSITION))
    filled = {name for name, _ in passed}
    for index, (name, kind) in enumerate(passed):
        if kind in _SEVERAL and kind not in kinds:
            return f"it does not take {wanted[name]}"
        if kind in _BY_POSITION:
            at_index = positions.get(index)
            if at_index is None and Parameter.VAR_POSITIONAL not in kinds:
                return f"it does not take {name!r} by position"
            if at_index is not None:
                if at_index.name != name and at_index.name in wanted:
                    return f"it takes {name} where {at_index.name} is expected"
                filled.add(at_index.name)
        if kind in _BY_NAME:
            same = named.get(name)
            if same is None and Parameter.VAR_KEYWORD not in kinds:
                return f"it does not take {name!r} by name"
            if same is not None and same.kind is Parameter.POSITIONAL_ONLY:
                return f"it takes {name!r} by position only"
    missing = [
        name
        for name, parameter in named.items()
        if parameter.default is Parameter.empty and name not in filled
    ]
    return f"it requires {missing[0]!r}" if missing else ""


_BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
_SEVERAL = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
