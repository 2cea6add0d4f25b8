"""The node: a frozen part of a tree that knows its source line.

Its ``_mask`` is the kind of the node and of the nodes below it (:mod:`promptdsl.tree.masks`). No
method of a node recurses, so a tree may be ten thousand levels deep.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CodeType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, TypeVar, cast

import attrs
from attrs.exceptions import FrozenInstanceError

from promptdsl.foundation.errors import ContentError, ScopeError, with_article
from promptdsl.foundation.frozen import EMPTY
from promptdsl.foundation.source import Position, Source, author, door, source_of
from promptdsl.messages.field_checks import Cache
from promptdsl.tree.masks import AUDIENCE, BUSY, CACHE, NAMED

if TYPE_CHECKING:
    from promptdsl.foundation.guards import WrittenTags
    from promptdsl.foundation.library_section import LibrarySection

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\Z")
"""A name, which can be a tag. An address is made of names, ``/``, numbers and JSON strings."""

HISTORY = "history"
"""The address of a recording, of which ``history[2]`` is a message."""


@attrs.frozen
class Options:
    """The options of a turn or a part."""

    id: str | None = None
    name: str | None = None
    metadata: Mapping[str, object] = EMPTY
    tags: tuple[str, ...] = ()
    audience: str = "all"
    cache: bool | Cache = False
    """The cache mark after it; ``True`` is a mark with the default lifetime of the provider."""
    merge: bool = True
    priority: float | None = None
    """A budget drops the lowest priority first, and never ``None``."""
    encoding: Literal["minimal", "full"] | None = None
    """How values in its fence or tag are encoded, ``None`` as around it."""
    separator: str | None = None
    """The white space between its parts, ``None`` for that of its kind."""
    within: tuple[str, ...] = ()
    """The names of the components that wrote it, the outermost first."""
    libraries: "tuple[LibrarySection | None, ...]" = attrs.field(default=(), eq=False)
    """The sections of libraries among these, the innermost last, ``None`` for one that is
    overridden; for the text of a template, the sections that it includes."""
    number: int = attrs.field(default=1, eq=False)
    """Its number among the turns of one id, in written order."""
    reserved_tags: frozenset[str] = attrs.field(default=frozenset(), eq=False)
    """The tags that are written in its turn, folded: no value in it writes them."""
    closed: frozenset[str] = attrs.field(default=frozenset(), eq=False)
    """The tags that the author's text of a turn of the conversation closes, folded: no value in
    that turn writes them."""
    opens_code: int = attrs.field(default=0, eq=False)
    """The number of texts in its turn that may leave a code fence of the author's open."""
    tags_of_source: "tuple[WrittenTags, ...]" = attrs.field(default=(), eq=False)
    """The tags in the source of a template, for its text."""

    @property
    def address(self) -> str:
        """The id as an address has it: a name, or a JSON string on one line with its number."""
        id = self.id or ""
        if self.number == 1 and NAME.match(id) and id != HISTORY:
            return id
        quoted = json.dumps(id, ensure_ascii=False)
        if not quoted.isprintable():
            marks = (mark if mark.isprintable() else json.dumps(mark)[1:-1] for mark in quoted)
            quoted = "".join(marks)
        return quoted if self.number == 1 else f"{quoted}#{self.number}"


DEFAULTS = Options()


def mark_of(options: Options) -> Cache | None:
    """Return the cache mark of options, ``None`` without one."""
    return "default" if options.cache is True else options.cache or None


def implied(options: Options) -> int:
    """Return the mask bits of options."""
    mask = NAMED if options.id is not None else 0
    if options.audience != "all":
        mask |= AUDIENCE
    return mask | CACHE if options.cache else mask


Child: TypeAlias = "str | Node"
"""A child: an exact ``str`` or a node."""


class Node:
    """A frozen part of a tree.

    >>> from promptdsl import Node, Section, Text
    >>> part = Section("rules", "Be brief.", Text("Be kind."))
    >>> isinstance(part, Node), len(part.content), part.source.line
    (True, 2, 1)
    >>> part == Section("rules", "Be brief.", Text("Be kind."))
    True

    ``content`` is a tuple of strings and nodes. Nodes are compared by what they contain, not by
    where they were written; ``source`` is the author's file and line.
    """

    __slots__ = ("_code", "_mask", "_offset", "content", "options")
    _beside: ClassVar[tuple[str, ...]] = ()
    """The slots that are not fields: notes about a node that are not compared or saved."""
    _internal: ClassVar[tuple[str, ...]] = ()
    """The fields that are of no use to an author: ``dir()`` leaves them out."""
    _field_names: ClassVar[tuple[str, ...]] = ()
    """The names of the fields, those of the base class first."""
    _defaults: ClassVar[Mapping[str, object]] = EMPTY
    """The optional fields and their defaults."""
    _node: ClassVar[type["Node"]]
    """What it is in a tree: the class itself, or for a component the class of nodes it is of."""
    _frozen: ClassVar[type["Node"]]
    """The class that it gets at its first use, a subclass of it; for others the class itself."""
    _saved_as: ClassVar[type["Node"]]
    """The class that is named where it is pickled."""
    _second_block: ClassVar[str] = (
        "write a new one, or put the finished one in place with include(...)"
    )
    """What to do instead of opening a finished one as a block."""
    _outline: ClassVar[Callable[["Node"], str]]
    """The outline of a node, set by the room, because the outline knows every class of node."""
    _refused: ClassVar[set[str]] = set()
    """The names that only have an error with advice: ``unknown_names`` adds them."""
    _unadded: ClassVar[str] = 'write them side by side, as arguments: User("I am ", name)'
    """What to write instead of a sum."""
    _holds_parts: ClassVar[bool] = False
    """Whether a budget may drop the nodes in it; in a text they are pieces of the text."""
    _is_prose: ClassVar[bool] = False
    """Whether it is plain text, which may follow a label or a box on its line."""
    _may_quote: ClassVar[bool] = False
    """Whether its text may show the outline of a part on purpose."""
    _volatile_fields: ClassVar[tuple[str, ...]] = ()
    """The fields of data that may hold volatile values, or (``labels``) the labels of such."""
    _placement: Any  # Any: where the class does not tell, it may be any
    """What it is in a prompt, for type checkers alone; ``components.contents`` lists them."""
    _head: ClassVar[str | None] = None
    """The first word in the address of its messages, by default their role."""

    content: tuple[Child, ...]
    _mask: int
    options: Options
    _code: CodeType | Source | None
    """The code object that wrote it, or its file and line where there is no code object."""
    _offset: int
    """The offset of the instruction in the code object, -1 where that is unknown."""

    def __init_subclass__(cls) -> None:
        cls._node = cls._frozen = cls._saved_as = cls

    @property
    def _at(self) -> Position | Source | None:
        """The position in the author's code: a code object and an offset, which are cheap."""
        code = self._code
        return (code, self._offset) if isinstance(code, CodeType) else code

    @property
    def source(self) -> Source | None:
        """The author's file and line, ``None`` for a node that a pass made."""
        at = self._at
        return source_of(at) if isinstance(at, tuple) else at

    def __setattr__(self, name: str, value: object, /) -> None:
        raise FrozenInstanceError

    def __delattr__(self, name: str, /) -> None:
        raise FrozenInstanceError

    def __dir__(self) -> Iterable[str]:
        """Return the names that an author may use, and those with an underscore."""
        return set(object.__dir__(self)).difference(Node._refused, self._beside, self._internal)

    def __copy__(self) -> "Node":
        return self

    def __deepcopy__(self, memo: object) -> "Node":
        return self

    def __eq__(self, other: object) -> bool:
        return _are_equal(self, other) if isinstance(other, Node) else NotImplemented

    def __hash__(self) -> int:
        texts = tuple(child for child in self.content if isinstance(child, str))
        return hash((self._node, len(self.content), texts))

    def __repr__(self) -> str:
        return "".join(_printed(self))

    def __str__(self) -> str:
        """Return the outline of the part, below a line that says what it is and where it stands."""
        name = label(self) if self.options.id is None else f"{label(self)} {self.options.id!r}"
        place = "" if self.source is None else f" at {self.source}"
        return f"<{name}{place}: not rendered>\n{Node._outline(self)}".rstrip("\n")

    def _repr_html_(self) -> str:
        """Return the outline for a notebook."""
        from html import escape

        return f'<pre style="overflow-x: auto">{escape(str(self))}</pre>'

    def __format__(self, spec: str) -> str:
        raise ContentError(
            f"{named_label(self)} has no text before it is rendered",
            fix="pass the component itself as an argument, or render() it; "
            "print(part) and str(part) show its outline",
            at=(author(), self.source),
        )

    def _name(self) -> str:
        """Return the name of its component."""
        return type(self).__name__.removesuffix("Node")

    def _summary(self) -> str:
        """Return what an outline says of it: its name, and its fields in a few words."""
        return label(self).lower()

    def _authored(self) -> Iterable[str]:
        """Return the author's texts in its fields, whose tags no value beside it may forge."""
        return ()

    @door
    def _no_sum(self, other: object) -> "Node":
        raise ContentError(
            f"{named_label(self)} cannot be added to a text or to another component",
            fix=self._unadded,
            at=(author(),),
        )

    __add__ = __radd__ = _no_sum

    def __enter__(self) -> "Node":
        finished = type(self) is self._frozen
        problem = "finished, it cannot be opened as a block" if finished else "no block"
        raise ScopeError(
            f"this {label(self)} is {problem}",
            fix=self._second_block if finished else "give it its content as arguments",
            at=(author(), self.source),
        )

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Never called, because ``__enter__`` always raises."""

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (list(_records(self)),)


Node._node = Node._frozen = Node._saved_as = Node


N = TypeVar("N", bound=Node)


def node_class(cls: type[N]) -> type[N]:
    """Return a class of nodes: its annotated names are slots and fields, their values defaults.

    Slots have to be there when a class is made, so this makes it again, as ``attrs.define`` does:
    a method cannot use ``super()``. A metaclass would need no decorator, but it makes every
    ``isinstance`` of a node take twice the time. The module has to import ``annotations`` from
    ``__future__``.
    """
    body = {name: value for name, value in vars(cls).items() if name not in _OF_INSTANCES}
    fields = [
        name
        for name, kind in cls.__annotations__.items()
        if name not in ("content", "_placement", *cls._beside) and "ClassVar" not in kind
    ]
    own_defaults = {name: body.pop(name) for name in fields if name in body}
    body["_field_names"] = (*cls._field_names, *fields)
    body["_defaults"] = {**cls._defaults, **own_defaults}
    body["__slots__"] = (*fields, *(body.get("_beside", ())))
    return cast("type[N]", type(cls.__name__, cls.__bases__, body))


_OF_INSTANCES = ("__dict__", "__weakref__")
_Record: TypeAlias = tuple[
    type[Node], tuple[str | None, ...], int, Source | None, Options, dict[str, object]
]
"""A saved node: its class, content (``None`` for a node), mask, line, options and fields."""
_set = object.__setattr__


def make(
    cls: type[N],
    content: tuple[Child, ...] = (),
    *,
    mask: int = 0,
    at: "Position | Source | Node | None" = None,
    options: Options = DEFAULTS,
    **fields: object,
) -> N:
    """Return a new node of a class, as passes make it; authors call components.

    ``at`` is its position in the author's code, or a node with the same position.
    """
    node = object.__new__(cls)
    _set(node, "content", content)
    _set(node, "_mask", mask)
    if isinstance(at, Node):
        _set(node, "_code", at._code)
        _set(node, "_offset", at._offset)
    else:
        code, offset = at if isinstance(at, tuple) else (at, -1)
        _set(node, "_code", code)
        _set(node, "_offset", offset)
    _set(node, "options", options)
    for name in cls._field_names:
        _set(node, name, fields[name] if name in fields else cls._defaults[name])
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
    """Return the name of a node in messages to its author: that of its component."""
    return node._name()


def named_label(node: Node) -> str:
    """Return the :func:`label` of a node with its article: ``a User``, ``an Assistant``."""
    return with_article(label(node))


def found_in(*data: object) -> list[Node]:
    """Return the nodes in plain data, at any depth."""
    nodes: list[Node] = []
    waiting: list[object] = [*data]
    seen: set[int] = set()
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Node):
            nodes.append(value)
        elif isinstance(value, Mapping):
            waiting += cast("Mapping[object, object]", value).values()
        elif isinstance(value, list | tuple):
            waiting += cast("list[object]", value)
    return nodes


# Comparing, printing and saving, with a stack instead of recursion.


def _are_equal(left: Node, right: Node) -> bool:
    pairs: list[tuple[Child, Child]] = [(left, right)]
    while pairs:
        first, second = pairs.pop()
        if first is second:
            continue
        if isinstance(first, str) or isinstance(second, str):
            if first != second:
                return False
            continue
        if (
            first._node is not second._node
            or len(first.content) != len(second.content)
            or first.options != second.options
            or any(
                getattr(first, name) != getattr(second, name) for name in first._node._field_names
            )
        ):
            return False
        pairs.extend(zip(first.content, second.content, strict=True))
    return True


def _printed(root: Node) -> Iterator[str]:
    """Yield the pieces of the ``repr`` of a tree."""
    stack: list[Child] = [root]
    while stack:
        item = stack.pop()
        if isinstance(item, _Syntax):
            yield item
            continue
        if isinstance(item, str):
            yield repr(item)
            continue
        yield f"{item._name()}("
        stack.append(_Syntax(")"))
        for index in range(len(item.content) - 1, -1, -1):
            stack.append(item.content[index])
            if index:
                stack.append(_Syntax(", "))
        keywords: list[str] = []
        for option in attrs.fields(Options):
            value = getattr(item.options, option.name)
            if option.eq and value != option.default:
                keywords.append(f"{option.name}={value!r}")
        defaults = item._node._defaults
        for name in item._node._field_names:
            value = getattr(item, name, None)
            # An open component has no value of some fields yet.
            is_default = value is None or (name in defaults and value == defaults[name])
            is_implied = name in ("role", "kind") or (name == "equipment" and not value)
            if not is_default and not is_implied:
                keywords.append(f"{name}={value!r}")
        if keywords:
            stack.append(_Syntax(", ".join(keywords) + (", " if item.content else "")))


class _Syntax(str):
    """Text that is printed without quotes."""

    __slots__ = ()


def _records(root: Node) -> Iterator[_Record]:
    """Yield the nodes of a tree in document order, as records that are saved without recursion."""
    sources: dict[tuple[int, int], Source | None] = {}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        at: CodeType | Source | None = node._code
        if isinstance(at, CodeType):
            # A line that wrote several nodes is looked up and saved once.
            key = (id(at), node._offset)
            at = sources[key] if key in sources else sources.setdefault(key, node.source)
        children = tuple([child if isinstance(child, str) else None for child in node.content])
        fields = {name: getattr(node, name) for name in node._node._field_names}
        yield node._saved_as, children, node._mask, at, node.options, fields
        waiting += [child for child in reversed(node.content) if not isinstance(child, str)]


def _restored(records: list[_Record]) -> Node:
    """Return the tree that :func:`_records` took apart."""
    nodes: list[Node] = []
    for cls, children, mask, at, options, fields in reversed(records):
        content = tuple(nodes.pop() if child is None else child for child in children)
        nodes.append(
            make(cls._frozen, content, mask=mask & ~BUSY, at=at, options=options, **fields)
        )
    return nodes.pop()
