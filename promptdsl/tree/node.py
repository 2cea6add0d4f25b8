"""The tree: frozen nodes that know where they were written, and nothing that works on them.

A node's ``mask`` says what it is at its own level (the *surface* bits) and what stands anywhere
below it (the *deep* bits), so that a pass which looks for something that is not there can leave.
Nothing here recurses: comparing, printing, copying and saving a tree ten thousand levels deep work.
"""

# The functions below are what the methods of a node would be, if methods could not recurse.
# pyright: reportPrivateUsage=false
from collections.abc import Iterator, Mapping
from types import CodeType
from typing import Any, ClassVar, TypeVar, cast

import attrs
from attrs.exceptions import FrozenInstanceError

from promptdsl.foundation.errors import ContentError, ScopeError
from promptdsl.foundation.frozen import EMPTY
from promptdsl.foundation.source import Position, Source, author, source_of
from promptdsl.messages.field_checks import Cache
from promptdsl.tree.masks import AUDIENCE, BUSY, CACHE, NAMED


@attrs.frozen
class Options:
    """What may be said of a turn or a part beside its content."""

    id: str | None = None
    name: str | None = None
    metadata: Mapping[str, Any] = EMPTY
    tags: tuple[str, ...] = ()
    audience: str = "all"
    cache: bool | Cache = False
    """A mark behind it; ``True`` lives as long as the provider says."""
    merge: bool = True
    priority: float | None = None
    """Where a budget is too small: the higher, the longer it stays; ``None`` is required."""
    within: tuple[str, ...] = ()
    """The names of the components this was written by, the outermost first."""


DEFAULTS = Options()


def mark_of(options: Options) -> Cache | None:
    """Return the cache mark that options ask for."""
    return "default" if options.cache is True else options.cache or None


def implied(options: Options) -> int:
    """Return the bits of a mask that options bring."""
    mask = NAMED if options.id is not None else 0
    if options.audience != "all":
        mask |= AUDIENCE
    return mask | CACHE if options.cache else mask


Child = Any
"""A child is an exact ``str`` or a :class:`Node`; spelled loosely because nodes nest in nodes."""


class Node:
    """A frozen part of a tree.

    ``content`` holds strings and nodes. ``at`` is where it was written; it takes no part in
    equality. ``source`` gives it as file and line.
    """

    __slots__ = ("code", "content", "mask", "offset", "options")
    _fields: ClassVar[tuple[str, ...]] = ()
    _unsaid: ClassVar[Mapping[str, Any]] = EMPTY
    """Fields that need not be said, and what they are then."""
    _node: ClassVar[type["Node"]]
    """The class of the tree: this one, and for a component (``Written``) the node it becomes."""
    head: ClassVar[str | None] = None
    """What the address of its messages starts with, where that is not their role."""

    content: tuple[Child, ...]
    mask: int
    options: Options
    code: CodeType | Source | None
    """The code object that wrote this, or its file and line where the code is not at hand."""
    offset: int
    """Which instruction of the code did."""

    def __init_subclass__(cls) -> None:
        cls._node = cls

    @property
    def at(self) -> Position | Source | None:
        """Where this was written: a code object and an offset, kept apart because that is cheap."""
        code = self.code
        return (code, self.offset) if isinstance(code, CodeType) else code

    @property
    def source(self) -> Source | None:
        """The author's file and line, ``None`` for what a pass made."""
        at = self.at
        return source_of(at) if isinstance(at, tuple) else at

    def __setattr__(self, name: str, value: object, /) -> None:
        raise FrozenInstanceError

    def __delattr__(self, name: str, /) -> None:
        raise FrozenInstanceError

    def __copy__(self) -> "Node":
        return self

    def __deepcopy__(self, memo: object) -> "Node":
        return self

    def __eq__(self, other: object) -> bool:
        return equal(self, other) if isinstance(other, Node) else NotImplemented

    def __hash__(self) -> int:
        texts = tuple(child for child in self.content if isinstance(child, str))
        return hash((self._node, len(self.content), texts))

    def __repr__(self) -> str:
        return "".join(_printed(self))

    def __str__(self) -> str:
        return self._no_text(author())

    def __format__(self, spec: str) -> str:
        return self._no_text(author())

    def _name(self) -> str:
        """Return what its author calls this."""
        return type(self).__name__

    def _no_text(self, place: Source) -> str:
        raise ContentError(
            f"{named_label(self)} has no text before it is rendered",
            fix="pass the component itself as an argument, or render() it; repr() shows it",
            at=(place, self.source),
        )

    def __enter__(self) -> "Node":
        raise ScopeError(
            f"this {label(self)} is finished, it cannot be opened as a block",
            fix="write a new one, or put the finished one in place with include(...)",
            at=(author(), self.source),
        )

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Nothing is open: ``__enter__`` always raises."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _thawed, (list(_flat(self)),)


Node._node = Node


N = TypeVar("N", bound=Node)
_set = object.__setattr__


def make(
    cls: type[N],
    content: tuple[Child, ...] = (),
    *,
    mask: int = 0,
    at: "Position | Source | Node | None" = None,
    options: Options = DEFAULTS,
    **fields: Any,
) -> N:
    """Return a new node of a class; a pass makes nodes so, an author by calling components.

    ``at`` is where it was written, or another node that was written there.
    """
    node = object.__new__(cls)
    _set(node, "content", content)
    _set(node, "mask", mask)
    if isinstance(at, Node):
        _set(node, "code", at.code)
        _set(node, "offset", at.offset)
    else:
        code, offset = at if isinstance(at, tuple) else (at, -1)
        _set(node, "code", code)
        _set(node, "offset", offset)
    _set(node, "options", options)
    if cls._unsaid:
        fields = {**cls._unsaid, **fields}
    for name in cls._fields:
        _set(node, name, fields[name])
    return node


def walk(root: Node) -> Iterator[tuple[Node, int]]:
    """Yield ``root`` and every node in its content with its depth, in document order.

    A node in a field, the :class:`Value` in the title of a ``Section``, is not visited.
    """
    stack: list[tuple[Node, int]] = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        yield node, depth
        stack.extend(
            (child, depth + 1) for child in reversed(node.content) if not isinstance(child, str)
        )


def label(node: Node) -> str:
    """Return what to call a node in a message to its author: the component's name."""
    return node._name()


def named_label(node: Node) -> str:
    """Return the :func:`label` of a node behind its article: ``a User``, ``an Assistant``."""
    name = label(node)
    return f"an {name}" if name[0] in "AEIO" or name == "Untrusted" else f"a {name}"


def equal(left: Node, right: Node) -> bool:
    """Return whether two trees say the same, wherever they were written."""
    pairs: list[tuple[Any, Any]] = [(left, right)]
    while pairs:
        one, two = pairs.pop()
        if one is two:
            continue
        if isinstance(one, Node) and isinstance(two, Node):
            if not _alike(one, two):
                return False
            pairs.extend(zip(one.content, two.content, strict=True))
        elif one != two:
            return False
    return True


def _alike(one: Node, two: Node) -> bool:
    return (
        one._node is two._node
        and len(one.content) == len(two.content)
        and one.options == two.options
        and all(getattr(one, name) == getattr(two, name) for name in one._node._fields)
    )


def _printed(root: Node) -> Iterator[str]:
    stack: list[Any] = [root]
    while stack:
        item = stack.pop()
        if isinstance(item, _Raw):
            yield item
            continue
        if isinstance(item, str):
            yield repr(item)
            continue
        yield f"{label(item)}("
        stack.append(_Raw(")"))
        for index in range(len(item.content) - 1, -1, -1):
            stack.append(item.content[index])
            if index:
                stack.append(_Raw(", "))
        fields = _printed_fields(item)
        if fields:
            stack.append(_Raw(fields + (", " if item.content else "")))


class _Raw(str):
    """Text that is printed as it is."""

    __slots__ = ()


_SAID = tuple((field.name, field.default) for field in attrs.fields(Options))


def _printed_fields(node: Node) -> str:
    options = node.options
    shown: list[tuple[str, Any]] = []
    if options is not DEFAULTS:
        said = [(name, getattr(options, name), default) for name, default in _SAID]
        shown += [(name, value) for name, value, default in said if value != default]
    own = [(name, getattr(node, name, None)) for name in node._node._fields]
    shown += [(n, v) for n, v in own if v is not None and n not in ("role", "kind")]
    unsaid = node._node._unsaid
    shown = [(n, v) for n, v in shown if n not in unsaid or v != unsaid[n]]
    shown = [(n, v) for n, v in shown if v or n != "equipment"]
    return ", ".join([f"{name}={value!r}" for name, value in shown])


def _flat(root: Node) -> Iterator[tuple[Any, ...]]:
    """Yield the nodes in document order as plain records, so that saving needs no recursion."""
    places: dict[tuple[int, int], Source | None] = {}
    for node, _ in walk(root):
        at = node.at
        if isinstance(at, tuple):
            # One line writes many nodes: it is looked up once, and saved once.
            key = (id(at[0]), at[1])
            at = places[key] if key in places else places.setdefault(key, node.source)
        children = tuple([child if isinstance(child, str) else None for child in node.content])
        fields = {name: getattr(node, name) for name in node._node._fields}
        yield node._node, children, node.mask, at, node.options, fields


def _thawed(records: list[tuple[Any, ...]]) -> Node:
    made: list[Node] = []
    for cls, children, mask, at, options, fields in reversed(records):
        content = tuple(made.pop() if child is None else child for child in children)
        made.append(make(cls, content, mask=mask & ~BUSY, at=at, options=options, **fields))
    return made.pop()


def found_in(*data: object) -> list[Node]:
    """Return the nodes that stand in plain data, however deep, where none should."""
    found: list[Node] = []
    waiting: list[object] = [*data]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, Node):
            found.append(one)
        elif isinstance(one, Mapping):
            waiting += cast("Mapping[object, object]", one).values()
        elif isinstance(one, list | tuple):
            waiting += cast("list[object]", one)
    return found
