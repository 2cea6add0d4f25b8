"""The node: a frozen part of a tree that knows its source line.

Read :class:`Options` and :class:`Node` first, then :func:`node_class` and :func:`make`, which
define and make nodes. Words for outlines come before them; comparing, printing and saving come
last.
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
from promptdsl.foundation.source import Position, Source, author, public_api, source_of
from promptdsl.messages.field_checks import Cache
from promptdsl.tree.masks import AUDIENCE, CACHE, NAMED, PLACED_OR_OPEN

if TYPE_CHECKING:
    from promptdsl.foundation.guards import WrittenTags
    from promptdsl.foundation.source import LibrarySection


# Words that several nodes write in an outline: sizes, cache marks and priorities.


def in_words(name: str) -> str:
    """Return the name of a component in words: ``user action``."""
    return re.sub("(?<=[a-z])(?=[A-Z])", " ", name).lower()


def size(text: str) -> str:
    """Return the number of characters of a text in words: ``12 characters``."""
    return "1 character" if len(text) == 1 else f"{len(text):,} characters"


def cached(cache_mark: Cache) -> str:
    """Return the words for a cache mark."""
    return "cached" if cache_mark == "default" else f"cached for {cache_mark}"


def prioritised(priority: float | None) -> str:
    """Return a priority as it is written in an outline; an empty string for ``None``."""
    return "" if priority is None else f" priority={priority:,}"


# The node: a frozen part of a tree that knows its source line.
#
# Its ``_mask`` says what the node is, and which nodes are below it (:mod:`promptdsl.tree.masks`).
# No method of a node recurses, so a tree may have ten thousand levels.

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\Z")
"""A name that can be a tag, and that is written in an address without quotes."""

HISTORY = "history"
"""The address of a recorded conversation; ``history[2]`` is one of its messages."""


@attrs.frozen
class Options:
    """The options of a node: those that its author wrote, and what passes note about it."""

    id: str | None = None
    name: str | None = None
    metadata: Mapping[str, object] = EMPTY
    tags: tuple[str, ...] = ()
    audience: str = "all"
    cache: bool | Cache = False
    """The cache mark after this node; ``True`` is a mark with the provider's default lifetime."""
    merge: bool = True
    priority: float | None = None
    """A budget drops the lowest priority first. It never drops a node with ``None``."""
    encoding: Literal["minimal", "full"] | None = None
    """How values between its delimiters or tags are encoded; ``None`` is the encoding around it."""
    separator: str | None = None
    """The white space between its children; ``None`` is the default of its kind."""
    within: tuple[str, ...] = ()
    """The names of the components whose functions wrote it, the outermost first."""
    libraries: "tuple[LibrarySection | None, ...]" = attrs.field(default=(), eq=False)
    """The library sections among these components, the innermost last.

    ``None`` stands for a section that is overridden. The text of a template has the sections that
    the template includes."""
    number: int = attrs.field(default=1, eq=False)
    """Its number among the turns with the same id, in the order in which they are written."""
    reserved_tags: frozenset[str] = attrs.field(default=frozenset(), eq=False)
    """The tags that the author wrote in its turn, case-folded. No value in the turn may write one.
    """
    closed: frozenset[str] = attrs.field(default=frozenset(), eq=False)
    """The tags that the author closes in a turn of the conversation, case-folded.

    No value in that turn may write one."""
    opens_code: int = attrs.field(default=0, eq=False)
    """The number of texts in its turn that may leave a code fence of the author open."""
    tags_of_source: "tuple[WrittenTags, ...]" = attrs.field(default=(), eq=False)
    """The tags in the source of the template, if the node is the text of a template."""

    @property
    def address(self) -> str:
        """The id as it is written in an address: a name, or a JSON string with its number."""
        id = self.id or ""
        if self.number == 1 and NAME.match(id) and id != HISTORY:
            return id
        quoted = "".join(map(_printable, json.dumps(id, ensure_ascii=False)))
        return quoted if self.number == 1 else f"{quoted}#{self.number}"


def _printable(char: str) -> str:
    """Return a character, or its JSON escape if it cannot be printed."""
    return char if char.isprintable() else json.dumps(char)[1:-1]


DEFAULTS = Options()


def mark_of(options: Options) -> Cache | None:
    """Return the cache mark of options, or ``None``."""
    return "default" if options.cache is True else options.cache or None


def implied(options: Options) -> int:
    """Return the mask bits that follow from options."""
    mask = NAMED if options.id is not None else 0
    if options.audience != "all":
        mask |= AUDIENCE
    return mask | CACHE if options.cache else mask


Child: TypeAlias = "str | Node"
"""A child of a node: an exact ``str``, or a node."""


class Node:
    """A frozen part of a tree.

    >>> from promptdsl import Node, Section, Text
    >>> part = Section("rules", "Be brief.", Text("Be kind."))
    >>> isinstance(part, Node), len(part.content), part.source.line
    (True, 2, 1)
    >>> part == Section("rules", "Be brief.", Text("Be kind."))
    True

    ``content`` is a tuple of strings and nodes. ``source`` is the author's file and line. Two nodes
    are equal if they contain the same; their lines may differ.
    """

    __slots__ = ("_code", "_mask", "_offset", "content", "options")
    _extra_slots: ClassVar[tuple[str, ...]] = ()
    """The slots that are not fields: nodes are not compared, printed or saved with them."""
    _hidden_fields: ClassVar[tuple[str, ...]] = ()
    """The fields that an author does not need: ``dir()`` leaves them out."""
    _field_names: ClassVar[tuple[str, ...]] = ()
    """The names of the fields, those of the base class first."""
    _defaults: ClassVar[Mapping[str, object]] = EMPTY
    """The optional fields and their defaults."""
    _node: ClassVar[type["Node"]]
    """For the class of a component, the class of its node; otherwise the class itself."""
    _frozen: ClassVar[type["Node"]]
    """The subclass that a component gets at its first use; for a node, its class."""
    _saved_as: ClassVar[type["Node"]]
    """The class in a pickle of the node."""
    _open_advice: ClassVar[str] = "write a new one, or use the finished one with include(...)"
    """The advice for a finished component that is opened as a block."""
    _outline: ClassVar[Callable[["Node"], str]]
    """The function for the outline of a node. ``tree/__init__.py`` sets it, because the outline
    imports all node classes."""
    _refused: ClassVar[set[str]] = set()
    """The names that only raise an error with advice. ``unknown_names.py`` adds them."""
    _add_advice: ClassVar[str] = 'write them side by side, as arguments: User("I am ", name)'
    """The advice for a node that is added with ``+``."""
    _holds_parts: ClassVar[bool] = False
    """Whether a budget may drop single children. The children of a text are pieces of the text, so
    it may not."""
    _is_prose: ClassVar[bool] = False
    """Whether it is plain text, which may follow a label or a check box on the same line."""
    _may_quote: ClassVar[bool] = False
    """Whether its text may contain the outline of a node on purpose: then no hint reports it."""
    _volatile_fields: ClassVar[tuple[str, ...]] = ()
    """The fields that may hold volatile values, or in ``labels`` only their labels."""
    _placement: Any  # Any: a class without a placement may be anywhere
    """Where it may be in a prompt, only for type checkers. ``components/block.py`` lists the
    placements."""
    _address_word: ClassVar[str | None] = None
    """The first word in the address of its messages; ``None`` is their role."""

    content: tuple[Child, ...]
    _mask: int
    options: Options
    _code: CodeType | Source | None
    """The code object that wrote it, or its file and line if there is no code object."""
    _offset: int
    """The offset of the instruction in the code object, -1 if it is unknown."""

    def __init_subclass__(cls) -> None:
        cls._node = cls._frozen = cls._saved_as = cls

    @property
    def _at(self) -> Position | Source | None:
        """The position in the author's code: a code object and an offset, or a file and line.

        An offset is cheaper than a line, which :attr:`source` looks up.
        """
        code = self._code
        return (code, self._offset) if isinstance(code, CodeType) else code

    @property
    def source(self) -> Source | None:
        """The author's file and line, ``None`` if it is unknown."""
        at = self._at
        return source_of(at) if isinstance(at, tuple) else at

    def __setattr__(self, name: str, value: object, /) -> None:
        raise FrozenInstanceError

    def __delattr__(self, name: str, /) -> None:
        raise FrozenInstanceError

    def __dir__(self) -> Iterable[str]:
        """Return the names that an author may use, and all names with an underscore."""
        return set(object.__dir__(self)).difference(
            Node._refused, self._extra_slots, self._hidden_fields
        )

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
        """Return a line with the name of the node and its source line, then its outline.

        If standard output is a terminal, the lines of the outline fit its width.
        """
        name = label(self)
        if self.options.id is not None:
            name += f" {self.options.id!r}"
        if self.source is not None:
            name += f" at {self.source}"
        return f"<{name}: not rendered>\n{Node._outline(self)}".rstrip("\n")

    def _repr_html_(self) -> str:
        """Return the outline for a notebook."""
        from html import escape

        # The tabindex lets the keyboard scroll the region. With the classes, "$" makes no formula.
        attributes = 'tabindex="0" class="mathjax_ignore tex2jax_ignore" style="overflow-x: auto"'
        return f"<pre {attributes}>{escape(str(self))}</pre>"

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
        """Return its line in an outline: its name, and its fields in a few words."""
        return in_words(label(self))

    def _authored(self) -> Iterable[str]:
        """Return the author's texts in its fields: no value near them may forge their tags."""
        return ()

    @public_api
    def _no_sum(self, other: object) -> "Node":
        raise ContentError(
            f"{named_label(self)} cannot be added to a text or to another component",
            fix=self._add_advice,
            at=(author(),),
        )

    __add__ = __radd__ = _no_sum

    def __enter__(self) -> "Node":
        problem, fix = "it takes only arguments", "give it its content as arguments"
        if type(self) is self._frozen:
            problem, fix = "it is finished", self._open_advice
        raise ScopeError(
            f"this {label(self)} cannot be opened as a block: {problem}",
            fix=fix,
            at=(author(), self.source),
        )

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Do nothing: Python never calls it, because ``__enter__`` always raises."""

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (list(_records(self)),)


Node._node = Node._frozen = Node._saved_as = Node


N = TypeVar("N", bound=Node)


def node_class(cls: type[N]) -> type[N]:
    """Return a node class: its annotated names become slots and fields, their values defaults.

    A class cannot get slots later, so this makes a second class, as ``attrs.define`` does.
    Therefore its methods cannot use ``super()``. A metaclass would need no decorator, but it would
    make every ``isinstance`` of a node twice as slow. The module has to import ``annotations`` from
    ``__future__``.
    """
    body = {name: value for name, value in vars(cls).items() if name not in _OF_INSTANCES}
    fields = [
        name
        for name, kind in cls.__annotations__.items()
        if name not in ("content", "_placement", *cls._extra_slots) and "ClassVar" not in kind
    ]
    defaults = {name: body.pop(name) for name in fields if name in body}
    body["_field_names"] = (*cls._field_names, *fields)
    body["_defaults"] = {**cls._defaults, **defaults}
    body["__slots__"] = (*fields, *(body.get("_extra_slots", ())))
    return cast("type[N]", type(cls.__name__, cls.__bases__, body))


_OF_INSTANCES = ("__dict__", "__weakref__")
"""The entries that Python adds to a class without slots; the second class does without them."""
SavedPosition: TypeAlias = tuple[Source, int]
"""The line of a saved node, and the offset of the instruction that wrote it."""
_Record: TypeAlias = tuple[
    type[Node], tuple[str | None, ...], int, SavedPosition | None, Options, dict[str, object]
]
"""A saved node: its class, content, mask, position, options and fields.

In the content ``None`` stands for a child that is a node."""
_set = object.__setattr__


def make(
    cls: type[N],
    content: tuple[Child, ...] = (),
    *,
    mask: int = 0,
    at: "Position | SavedPosition | Source | Node | None" = None,
    options: Options = DEFAULTS,
    **fields: object,
) -> N:
    """Return a new node of a class. Passes use this function; authors call components.

    ``at`` is the position in the author's code, or a node with the same position. ``fields`` are
    the fields of the class; a field that is left out gets its default.
    """
    node = object.__new__(cls)
    _set(node, "content", content)
    _set(node, "_mask", mask)
    code: object = at
    offset = -1
    if isinstance(at, Node):
        code, offset = at._code, at._offset
    elif isinstance(at, tuple):
        code, offset = at
    _set(node, "_code", code)
    _set(node, "_offset", offset)
    _set(node, "options", options)
    values = {**cls._defaults, **fields}
    for name in cls._field_names:
        _set(node, name, values[name])
    return node


def walk(root: Node) -> Iterator[tuple[Node, int]]:
    """Yield ``root`` and every node in its content with its depth, in document order.

    A node in a field is not visited, such as the :class:`Value` in the title of a ``Section``.
    """
    stack: list[tuple[Node, int]] = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        yield node, depth
        stack.extend((child, depth + 1) for child in reversed(child_nodes(node)))


def child_nodes(node: Node) -> list[Node]:
    """Return the nodes in the content of a node, without its texts."""
    return [child for child in node.content if not isinstance(child, str)]


def label(node: Node) -> str:
    """Return the name of a node for errors and hints: the name of its component."""
    return node._name()


def named_label(node: Node) -> str:
    """Return the :func:`label` of a node with its article: ``a User``, ``an Assistant``."""
    return with_article(label(node))


def nodes_in(*data: object) -> list[Node]:
    """Return the nodes inside plain data, at any depth."""
    nodes: list[Node] = []
    value_stack: list[object] = [*data]
    seen: set[int] = set()
    while value_stack:
        value = value_stack.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Node):
            nodes.append(value)
        elif isinstance(value, Mapping):
            value_stack += cast("Mapping[object, object]", value).values()
        elif isinstance(value, list | tuple):
            value_stack += cast("list[object]", value)
    return nodes


# Comparing, printing and saving, with a stack instead of recursion.


def _are_equal(one_root: Node, other_root: Node) -> bool:
    """Return whether two trees have the same classes, options, fields and texts."""
    pairs: list[tuple[Child, Child]] = [(one_root, other_root)]
    while pairs:
        first, second = pairs.pop()
        if first is second:
            continue
        if isinstance(first, str) or isinstance(second, str):
            if first != second:
                return False
            continue
        if first._node is not second._node or first.options != second.options:
            return False
        names = first._node._field_names
        if any(getattr(first, name) != getattr(second, name) for name in names):
            return False
        if len(first.content) != len(second.content):
            return False
        pairs.extend(zip(first.content, second.content, strict=True))
    return True


def _fields(node: Node) -> dict[str, object]:
    return {name: getattr(node, name) for name in node._node._field_names}


def _printed(root: Node) -> Iterator[str]:
    """Yield the pieces of the ``repr`` of a tree."""
    piece_stack: list[Child] = [root]
    while piece_stack:
        piece = piece_stack.pop()
        if isinstance(piece, _Syntax):
            yield piece
            continue
        if isinstance(piece, str):
            yield repr(piece)
            continue
        yield f"{piece._name()}("
        # What follows is pushed in reverse order: the end of the node first, its keywords last.
        piece_stack.append(_Syntax(")"))
        for index, child in reversed([*enumerate(piece.content)]):
            piece_stack.append(child)
            if index:
                piece_stack.append(_Syntax(", "))
        keywords = [*_keywords(piece)]
        if keywords and piece.content:
            keywords.append("")  # a comma before the content
        piece_stack.append(_Syntax(", ".join(keywords)))


def _keywords(node: Node) -> Iterator[str]:
    """Yield the options and fields of a node that differ from the defaults, as ``name=value``."""
    for option in attrs.fields(Options):
        value = getattr(node.options, option.name)
        if option.eq and value != option.default:
            yield f"{option.name}={value!r}"
    for name in node._node._field_names:
        # An open component has no value of some fields yet.
        value = getattr(node, name, None)
        is_implied = name in ("role", "kind") or (name == "equipment" and not value)
        if value is not None and value != node._node._defaults.get(name) and not is_implied:
            yield f"{name}={value!r}"


class _Syntax(str):
    """Text that is printed without quotes."""

    __slots__ = ()


def _records(root: Node) -> Iterator[_Record]:
    """Yield a record of each node of a tree, in document order.

    A list of records is pickled without recursion, whatever the depth of the tree is.
    """
    sources: dict[tuple[int, int], Source | None] = {}
    node_stack = [root]
    while node_stack:
        node = node_stack.pop()
        at: CodeType | Source | None = node._code
        if isinstance(at, CodeType):
            # If a line wrote several nodes, it is looked up and saved only once.
            key = (id(at), node._offset)
            at = sources[key] if key in sources else sources.setdefault(key, node.source)
        position = None if at is None else (at, node._offset)
        children = tuple(map(_text_of, node.content))
        yield node._saved_as, children, node._mask, position, node.options, _fields(node)
        node_stack += reversed(child_nodes(node))


def _text_of(child: Child) -> str | None:
    return child if isinstance(child, str) else None


def _restored(records: list[_Record]) -> Node:
    """Return the tree that :func:`_records` made records of."""
    nodes: list[Node] = []
    for cls, children, mask, at, options, fields in reversed(records):
        content: list[Child] = []
        for text in children:
            child = nodes.pop() if text is None else text
            content.append(child)
        state = mask & ~PLACED_OR_OPEN  # a restored node is in no open block
        node = make(cls._frozen, tuple(content), mask=state, at=at, options=options, **fields)
        nodes.append(node)
    return nodes.pop()
