"""The replacements of components, sections and constants that are in force at one point.

Read :class:`Replacement` and :class:`Replacements` first. Last comes the check of a function that
replaces another function: it has to take the same arguments.
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
from promptdsl.tree.rewrite import copied, deep_bits, rewrite, with_content
from promptdsl.tree.turn_nodes import ComponentNode, FragmentNode

# The replacements of components, sections and constants that are in force at one point.
#
# ``override()`` sets the context variable ``OVERRIDES``; components read it.

Function: TypeAlias = Callable[..., object]
Key: TypeAlias = "str | Function | Node"
"""A name, a component or a constant."""
Check: TypeAlias = Callable[[Node, Source | None], None]
"""A function that raises an error if a child may not be in a node.

Its arguments are the node, and the line of the ``override()`` that replaced the child."""
SavedOverrides: TypeAlias = tuple[tuple[Key, Function | Node], ...]
"""Replacements as plain data: keys with their functions or parts, the innermost first."""


@attrs.define(eq=False)
class Replacement:
    """One replacement: the ``key`` is replaced ``by`` a function or a part.

    ``line`` is the line of its ``override()``. ``used`` is whether it replaced something, or may do
    so after the block. ``check`` is called with each node in which a part was replaced.
    """

    key: Key
    by: Function | Node
    line: Source | None = None
    used: bool = False
    check: Check | None = None


class Replacements:
    """The replacements that are in force at one point.

    ``in_order`` has them, the innermost first. ``opened_by`` is the ``override`` block that added
    the first of them. ``enclosing`` are the replacements around this block.
    """

    def __init__(
        self,
        in_order: tuple[Replacement, ...] = (),
        *,
        enclosing: "Replacements | None" = None,
        opened_by: object = None,
    ) -> None:
        self.in_order = in_order
        self.by_key: dict[str | int, list[tuple[int, Replacement]]] = {}
        """The replacements of each key, with their indices; a key is a name or an ``id()``."""
        for index, replacement in enumerate(in_order):
            self.by_key.setdefault(_indexed(replacement.key), []).append((index, replacement))
        self.enclosing = enclosing
        self.opened_by = opened_by
        self.searched: dict[int, Node] = {}
        """The nodes in which there is nothing to replace, by ``id()``.

        The dictionary keeps them alive, so no other node gets the same ``id()``.
        """
        if not PARTS_REPLACED and any(isinstance(candidate.by, Node) for candidate in in_order):
            PARTS_REPLACED.append(True)

    def of_component(
        self, keys: tuple[str | Function, ...], *, has_children: bool
    ) -> Replacement | None:
        """Return the innermost replacement of a component, or ``None``.

        ``keys`` are its function and its names. A part cannot replace a component with children.
        """
        matches = [
            (index, replacement)
            for key in keys
            for index, replacement in self.by_key.get(_indexed(key), ())
            if not (has_children and isinstance(replacement.by, Node))
        ]
        return min(matches)[1] if matches else None

    def of_node(self, node: Node) -> Replacement | None:
        """Return the innermost replacement of a node that is a section or a constant, or ``None``.

        The node was not replaced yet.
        """
        matches = [*self.by_key.get(id(node), ())]
        if isinstance(node, SectionNode):
            by_id = self.by_key.get(node.options.id or "", ())
            matches += [match for match in by_id if isinstance(match[1].by, Node)]
        return min(matches)[1] if matches else None

    def without(self, replacement: Replacement) -> "Replacements":
        """Return all replacements but this one.

        They are in force in the code that replaces a component: it may call this component.
        """
        return Replacements(tuple(other for other in self.in_order if other is not replacement))

    def applied_to(self, root: Node) -> Node:
        """Return a tree with its sections and constants replaced; the root itself may be one."""
        stand_ins: dict[int, Node] = {}
        checks: set[Check] = set()
        seen: list[Node] = []
        node_stack = [root]
        while node_stack:
            node = node_stack.pop()
            # A node that replaced another node is not replaced again.
            if id(node) in self.searched or written_as(node) is not node:
                continue
            replacement = self.of_node(node)
            if replacement is None:
                seen.append(node)
                node_stack += child_nodes(node)
            else:
                stand_ins[id(node)] = replaced(node, replacement)
                if replacement.check is not None:
                    checks.add(replacement.check)
        if not stand_ins:
            self.searched.update((id(node), node) for node in seen)
            return root

        def change(node: Node) -> Node:
            if id(node) in stand_ins:
                return stand_ins[id(node)]
            for check in checks:
                check(node, None)
            return node

        every_bit = -1
        return rewrite(root, change, within=every_bit)


def as_tuple(replacements: Replacements | None) -> tuple[Replacement, ...]:
    """Return the replacements as a tuple, the innermost first; ``None`` has none."""
    return () if replacements is None else replacements.in_order


def _indexed(key: Key) -> str | int:
    """Return the key of ``by_key`` for a key of a replacement."""
    return key if isinstance(key, str) else id(key)


OVERRIDES: ContextVar[Replacements | None] = ContextVar("promptdsl_overrides", default=None)

C = TypeVar("C", bound=Child)

PARTS_REPLACED: list[bool] = []
"""Not empty after the first override of a part in this process. Before it, no node is looked up."""


def replaced(node: Node, replacement: Replacement) -> Node:
    """Return the node that replaces a section or a constant.

    If a section replaces a section, nothing of the old section stays. Any other part becomes the
    content of the old section. The outline names the replacement.
    """
    replacement.used = True
    by = replacement.by
    assert isinstance(by, Node)
    assert replacement.check is not None
    is_section = isinstance(node, SectionNode)
    inner = by.content if is_section and isinstance(by, SectionNode) else (by,)
    name = node.options.id or label(node).lower()
    mask = with_content(make(FragmentNode, (), mask=OPAQUE), inner)._mask
    component_node = make(
        ComponentNode, inner, mask=mask, at=replacement.line, name=name, by=label(by)
    )
    # Not a field, so make() does not set it.
    object.__setattr__(component_node, "instead_of", copied(node, node.content, node._mask))
    if not isinstance(node, SectionNode):
        return component_node
    source = by if isinstance(by, SectionNode) else node
    mask = bits(SECTION | NAMED, deep_bits((component_node,))) | implied(source.options)
    section = make(
        SectionNode,
        (component_node,),
        mask=mask,
        at=node,
        options=source.options,
        title=source.title,
    )
    replacement.check(section, replacement.line)
    return section


def written_as(node: Node) -> Node:
    """Return a node as its author wrote it, before it was replaced."""
    replacing_node = (
        node.content[0] if isinstance(node, SectionNode) and len(node.content) == 1 else node
    )
    original: Node = getattr(replacing_node, "instead_of", node)
    return original


def with_replacements(content: Sequence[C]) -> Sequence[C | Node]:
    """Return the children in a content, with their sections and constants replaced."""
    overrides = OVERRIDES.get()
    if overrides is None or not PARTS_REPLACED:
        return content
    children: list[C | Node] = [*content]
    for index, child in enumerate(content):
        if isinstance(child, Node):
            children[index] = overrides.applied_to(child)
    return children


@contextmanager
def replacing(replacements: Replacements | None) -> Generator[None]:
    """Return a ``with`` block in which these replacements are in force."""
    token = OVERRIDES.set(replacements)
    try:
        yield
    finally:
        OVERRIDES.reset(token)


def current_overrides(*, of_sections: bool = False) -> SavedOverrides:
    """Return the replacements at this point as data that can be compared, printed and pickled.

    They count as used from now on. With ``of_sections`` these are only the replacements of library
    sections, by their qualified names.
    """
    in_order = as_tuple(OVERRIDES.get())
    if of_sections:
        in_order = tuple(
            candidate
            for candidate in in_order
            if isinstance(candidate.key, str) and ":" in candidate.key
        )
    for replacement in in_order:
        replacement.used = True
    return tuple((replacement.key, replacement.by) for replacement in in_order)


def restored(overrides: SavedOverrides, check: Check) -> Replacements:
    """Return the replacements that :func:`current_overrides` saved; ``check`` is their check."""
    return Replacements(
        tuple(Replacement(key, by, used=True, check=check) for key, by in overrides)
    )


# The check of a function that overrides another: it has to take the same arguments.

Call: TypeAlias = tuple[Sequence[object], Mapping[str, object]]
"""The arguments of a call: by position, and by name."""


def is_plain(function: object) -> TypeGuard[FunctionType]:
    """Return whether a value is a function that is not asynchronous."""
    return inspect.isfunction(function) and not (
        inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
    )


def unfit(
    name: str, original: Function, wrong: tuple[Function, str], at: tuple[Source | None, ...]
) -> OptionError:
    """Return the error for a function that cannot replace the component ``name``.

    ``wrong`` is the function, and the reason.
    """
    function, problem = wrong
    return OptionError(
        f"{getattr(function, '__name__', function)} cannot replace {name}: {problem}",
        fix=f"take the same arguments: {name}{inspect.signature(original)}",
        at=at,
    )


def difference(original: Function, function: Function, call: Call | None = None) -> str:
    """Return the reason why ``function`` cannot replace ``original``, or an empty string.

    It has to take the required arguments of ``original``. If there is a ``call``, it has to take
    the arguments of this call instead. Defaults of ``original`` are not passed to it.
    """
    yields = inspect.isgeneratorfunction(original)
    if yields != inspect.isgeneratorfunction(function):
        return "it does not yield" if yields else "it yields"
    parameters = inspect.signature(original).parameters
    passed = [
        (candidate.name, candidate.kind)
        for candidate in parameters.values()
        if candidate.default is Parameter.empty
    ]
    if call is not None:
        kinds_in_order = (*_BY_POSITION, _SEVERAL[0])
        in_order = [
            parameter for parameter in parameters.values() if parameter.kind in kinds_in_order
        ]
        passed = [(parameter.name, parameter.kind) for parameter in in_order[: len(call[0])]]
        passed += [(name, Parameter.KEYWORD_ONLY) for name in call[1]]
    accepted = inspect.signature(function).parameters.values()
    kinds = {parameter.kind for parameter in accepted}
    accepted_by_name = {
        parameter.name: parameter for parameter in accepted if parameter.kind not in _SEVERAL
    }
    positions = dict(
        enumerate(candidate for candidate in accepted if candidate.kind in _BY_POSITION)
    )
    filled = {name for name, _ in passed}
    for index, (name, kind) in enumerate(passed):
        if kind in _SEVERAL and kind not in kinds:
            return f"it does not take {parameters[name]}"
        if kind in _BY_POSITION:
            by_position = positions.get(index)
            if by_position is None and Parameter.VAR_POSITIONAL not in kinds:
                return f"it does not take {name!r} by position"
            if by_position is not None:
                if by_position.name != name and by_position.name in parameters:
                    return f"it takes {name} where {by_position.name} is expected"
                filled.add(by_position.name)
        if kind in _BY_NAME:
            by_keyword = accepted_by_name.get(name)
            if by_keyword is None and Parameter.VAR_KEYWORD not in kinds:
                return f"it does not take {name!r} by name"
            if by_keyword is not None and by_keyword.kind is Parameter.POSITIONAL_ONLY:
                return f"it takes {name!r} by position only"
    missing = [
        name
        for name, parameter in accepted_by_name.items()
        if parameter.default is Parameter.empty and name not in filled
    ]
    return f"it requires {missing[0]!r}" if missing else ""


_BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
"""The kinds of parameters that can be passed by position."""
_BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
"""The kinds of parameters that can be passed by name."""
_SEVERAL = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
"""The kinds of parameters that take several arguments: ``*args`` and ``**kwargs``."""
