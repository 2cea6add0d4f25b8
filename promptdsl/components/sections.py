"""Named parts, several parts as one, notes, and putting a finished part in place."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from promptdsl.components.arguments import Content, adopt, retract
from promptdsl.components.block import (
    BESIDE,
    PART_FORBIDS,
    ROOTED,
    Block,
    begin,
    finish,
    named,
    with_own_code,
)
from promptdsl.components.scope import OPENED, join, put
from promptdsl.config.transformation import FORMATS
from promptdsl.config.transformation import Format as FormatName
from promptdsl.foundation.errors import ContentError, OptionError, ScopeError, nearest
from promptdsl.foundation.escaping import text_of
from promptdsl.foundation.source import author
from promptdsl.foundation.unicode import exact
from promptdsl.tree.group_nodes import FormatNode, FragmentNode, NoteNode
from promptdsl.tree.masks import AUDIENCE, BARE, BUSY, HOLLOW, NAMED, SECTION, bits
from promptdsl.tree.node import Node, Options, label, make
from promptdsl.tree.part_nodes import SectionNode, ValueNode
from promptdsl.tree.turn_nodes import OutputNode, ToolNode

_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]
_join = with_own_code(join)

_SECTION_TEXT = bits(SECTION | NAMED)
_SECTION_BARE = _SECTION_TEXT | BARE


class Section(Block, SectionNode):
    """A named part of a turn; outside of any turn it belongs to the system message.

    ``title`` is shown as a heading, or as an attribute in XML; without one only the content is.
    ``cache=True`` marks the end of a stable part.
    """

    __slots__ = ()
    _own = _SECTION_TEXT
    _forbids = PART_FORBIDS
    _forbids_at_once = ROOTED
    _accepts = frozenset({"id", "priority", "cache", "audience"})

    if TYPE_CHECKING:

        def __init__(
            self,
            id: str,
            /,
            *content: Content,
            title: str | ValueNode | None = None,
            priority: float | None = None,
            cache: bool = False,
            audience: str = "all",
        ) -> None: ...

    else:

        def __init__(self, id, /, *content, title=None, **options):
            frame = _getframe(1)
            self.code = frame.f_code
            self.offset = frame.f_lasti
            plain = type(id) is str and (
                not content or (len(content) == 1 and type(content[0]) is str)
            )
            known = _OPTIONS.get(_key(id, options) if options else id) if plain else None
            if known is None or not (title is None or type(title) is str):
                given = named(self, id, content, options)
                self.title = None if title is None else _title(self, title, content)
                begin(self, content, given)
                _remember(self.options)
                return
            # The fast path: an id and priority that were checked before, one string or nothing.
            self.title = title
            self.content = content
            self.options = known
            mask = _SECTION_TEXT if content else _SECTION_BARE
            top = OPENED.get()
            if top is None:
                self.mask = mask
            else:
                _join(self, top, mask)

    def _keywords(self) -> frozenset[str]:
        return (self._accepts | {"title"}) - {"id"}

    def _advice(self, node: Node) -> str:
        if isinstance(node, ToolNode | OutputNode):
            return BESIDE
        if node.mask & ROOTED:
            return (
                "a turn never stands inside a Section: write it beside it, directly in the Timeline"
            )
        return f"put the {label(node)} directly in its turn"


_OPTIONS: dict[object, Options] = {}
_MOST = 10_000


def _key(id: str | None, options: Mapping[str, Any]) -> object:
    """Return what the options of an id and a priority are remembered by, ``None`` for others."""
    priority: object = options.get("priority")
    kind = type(priority)
    return (id, kind, priority) if len(options) == 1 and kind in (int, float) else None


def _remember(options: Options) -> None:
    """Keep the options of a section that has an id, and maybe a priority, for the next such."""
    id, priority = options.id, options.priority
    if len(_OPTIONS) < _MOST and options == Options(id=id, priority=priority):
        _OPTIONS[id if priority is None else _key(id, {"priority": priority})] = options


def _title(section: Section, title: object, content: tuple[Content, ...]) -> str | ValueNode:
    try:
        if isinstance(title, ValueNode):
            adopt(section, [title] if title.mask & BUSY else [])
            return finish(title)  # type: ignore[return-value]
        return text_of(title)
    except ContentError as error:
        retract((*content, title))
        raise error.located(section.source) from None


class Fragment(Block, FragmentNode):
    """Several parts that stand for themselves wherever the fragment is put."""

    __slots__ = ()
    _own = HOLLOW

    if TYPE_CHECKING:

        def __init__(self, *content: Content) -> None: ...

    else:

        def __init__(self, *content, **options):
            frame = _getframe(1)
            self.code = frame.f_code
            self.offset = frame.f_lasti
            begin(self, content, options)


class Format(Block, FormatNode):
    """Parts that are written in a format of their own, ``"markdown"`` or ``"xml"``.

    Raises :class:`OptionError` for an unknown format.
    """

    __slots__ = ()
    _own = HOLLOW

    if TYPE_CHECKING:

        def __init__(self, format: FormatName, /, *content: Content) -> None: ...

    else:

        def __init__(self, format, /, *content, **options):
            frame = _getframe(1)
            self.code = frame.f_code
            self.offset = frame.f_lasti
            if format not in FORMATS:
                retract(content)
                raise OptionError(
                    f"unknown format {format!r}",
                    fix=nearest(str(format), FORMATS),
                    at=(self.source,),
                )
            self.format = exact(format)
            begin(self, content, options)


class Note(Block, NoteNode):
    """What only people read: it is left out of everything that is sent to a model."""

    __slots__ = ()
    _own = HOLLOW | AUDIENCE
    _forbids = PART_FORBIDS
    _forbids_at_once = ROOTED

    if TYPE_CHECKING:

        def __init__(self, *content: Content) -> None: ...

    else:

        def __init__(self, *content, **options):
            frame = _getframe(1)
            self.code = frame.f_code
            self.offset = frame.f_lasti
            begin(self, content, options)

    def _advice(self, node: Node) -> str:
        if isinstance(node, ToolNode | OutputNode):
            return BESIDE
        return "a Note holds text and parts"


def include(*parts: Node) -> None:
    """Put finished parts into the open block, each as often as you like.

    Raises :class:`ScopeError` when no block is open, or a part is not finished.
    """
    place = author()
    top = OPENED.get()
    if top is None or top[0] is None:
        raise ScopeError(
            "include() needs an open block",
            fix="use it inside a `with` block, or pass the part as an argument",
            at=(place,),
        )
    for part in parts:
        if not isinstance(part, Node):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ContentError(
                f"include() takes components, not {type(part).__name__}",
                fix="write Text(...) for text",
                at=(place,),
            )
    # Together: those that were written in the argument list are the newest of the block together.
    adopt(make(FragmentNode, at=place), [part for part in parts if part.mask & BUSY])
    for part in parts:
        put(finish(part), top)
