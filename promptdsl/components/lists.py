"""Parts of text that hold others: lists, quotations, examples."""

import sys
from typing import TYPE_CHECKING, Any

from promptdsl.components.arguments import (
    TEXT_BITS,
    Content,
    adopt,
    freeze,
    gather,
    gather_items,
    inline,
    retract,
)
from promptdsl.components.block import TEXT_FORBIDS, Block, advice_for, begin, seal
from promptdsl.components.refusals import refused
from promptdsl.foundation.errors import OptionError, PromptError
from promptdsl.tree.masks import BARE, BUSY, CLOSED, ITEM, SECTION, TEXT, bits
from promptdsl.tree.node import DEFAULTS, Node, label, named_label
from promptdsl.tree.part_nodes import (
    ChecklistNode,
    ExampleNode,
    ExampleSideNode,
    ItemNode,
    ListNode,
    QuoteNode,
)
from promptdsl.tree.turn_nodes import CacheBreakpointNode

_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]

_ITEM_BITS = bits(TEXT | ITEM)


class TextBlock(Block):
    """What the components share that hold parts of one text. Not a component of its own."""

    __slots__ = ()
    _own = TEXT_BITS
    _forbids = TEXT_FORBIDS

    def _advice(self, node: Node) -> str:
        if node.mask & SECTION:
            return "a Section holds lists, it does not stand in one"
        if isinstance(node, CacheBreakpointNode):
            return f"a {label(self)} is sent whole: write the breakpoint behind it"
        beside = f"{named_label(self)} holds text only: write it beside the {label(self)}"
        return advice_for(node, beside)


class List(TextBlock, ListNode):
    """A list. What is given or written in it is an item each; a ``List`` in it is nested.

    ``ordered=True`` numbers the items.
    """

    __slots__ = ()
    _forbids = TEXT_FORBIDS & ~ITEM
    _gather = staticmethod(gather_items)

    if TYPE_CHECKING:

        def __init__(self, *items: Content, ordered: bool = False) -> None: ...

    else:

        def __init__(self, *items, ordered=False, **options):
            frame = _getframe(1)
            self.code = frame.f_code
            self.offset = frame.f_lasti
            self.ordered = ordered
            _check_flag(self, "ordered", ordered, items)
            begin(self, items, options)

    def _keywords(self) -> frozenset[str]:
        return frozenset({"ordered"})


class Checklist(TextBlock, ChecklistNode):
    """A list of what is to be done: ``Item(..., done=True)`` is done already."""

    __slots__ = ()
    _forbids = TEXT_FORBIDS & ~ITEM
    _gather = staticmethod(gather_items)

    if TYPE_CHECKING:

        def __init__(self, *items: Content) -> None: ...

    else:

        def __init__(self, *items, **options):
            frame = _getframe(1)
            self.code = frame.f_code
            self.offset = frame.f_lasti
            begin(self, items, options)


class Item(TextBlock, ItemNode):
    """An item of a list. It may hold other lists, quotations, code. ``done`` is for checklists."""

    __slots__ = ()
    _own = _ITEM_BITS

    if TYPE_CHECKING:

        def __init__(self, *parts: Content, done: bool | None = None) -> None: ...

    else:

        def __init__(self, *parts, done=None, **options):
            frame = _getframe(1)
            self.code = frame.f_code
            self.offset = frame.f_lasti
            self.done = done
            if done is not None:
                _check_flag(self, "done", done, parts)
            try:
                _refuse_nothing(self, parts)
            except PromptError:
                retract(parts)
                raise
            begin(self, parts, options)

    def _keywords(self) -> frozenset[str]:
        return frozenset({"done"})


class Quote(TextBlock, QuoteNode):
    """A quotation."""

    __slots__ = ()

    if TYPE_CHECKING:

        def __init__(self, *parts: Content) -> None: ...

    else:

        def __init__(self, *parts, **options):
            frame = _getframe(1)
            self.code = frame.f_code
            self.offset = frame.f_lasti
            begin(self, parts, options)


class Example(TextBlock, ExampleNode):
    """An example: what goes in, and what comes out.

    Each side is text, or a component that holds text.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def __init__(self, input: Content, output: Content) -> None: ...

    else:

        def __init__(self, input, output, **options):
            frame = _getframe(1)
            self.code = frame.f_code
            self.offset = frame.f_lasti
            sides = _sides(self, (input, output)) if not options else (input, output)
            begin(self, sides, options)
            # Both sides are there: no block adds a third.
            self.mask |= CLOSED

    def _keywords(self) -> frozenset[str]:
        return frozenset({"input", "output"})


class SideBlock(TextBlock, ExampleSideNode):
    """One side of an example. Not a component of its own."""

    __slots__ = ()

    def _name(self) -> str:
        return "Example"


def _sides(example: Example, given: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the two sides of an example; what was just written moves into them."""
    try:
        _refuse_nothing(example, given)
        for part in given:
            if not isinstance(part, Node):
                inline(part, example)
        parts = [part for part in given if isinstance(part, Node)]
        adopt(example, [part for part in parts if part.mask & (BUSY | BARE)])
        return tuple(_side(example, name, part) for name, part in zip(_NAMES, given, strict=True))
    except PromptError:
        retract(given)
        raise


_NAMES = ("input", "output")


def _side(example: Example, name: str, given: object) -> Any:
    side = object.__new__(SideBlock)
    side.code, side.offset, side.options = example.code, example.offset, DEFAULTS
    side.name = name
    seal(side, tuple(gather(side, (given,))), TEXT_BITS)
    return freeze(side)


def _refuse_nothing(component: Any, parts: tuple[Any, ...]) -> None:
    for part in parts:
        if part is None or part is False:
            raise refused(part, component)


def _check_flag(component: Any, name: str, given: object, parts: tuple[Any, ...]) -> None:
    if isinstance(given, bool):
        return
    retract(parts)
    raise OptionError(
        f"{label(component)}({name}={given!r})", fix="write True or False", at=(component.source,)
    )
