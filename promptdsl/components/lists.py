"""The parts of text that hold other parts: lists, quotations and examples."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Never

from promptdsl.components.arguments import (
    ITEM_BITS,
    TEXT_BITS,
    adopt,
    gather,
    gather_items,
    inline,
    refused,
    volatile_in,
)
from promptdsl.components.block import TEXT_FORBIDS, Container, begin, seal, turn_advice
from promptdsl.components.options import check_flag, too_many
from promptdsl.components.scope import freeze, is_unused
from promptdsl.foundation.errors import with_article
from promptdsl.tree.masks import CLOSED, ITEM, SECTION
from promptdsl.tree.node import DEFAULTS, Child, Node
from promptdsl.tree.part_nodes import (
    ChecklistNode,
    ExampleNode,
    ExampleSideNode,
    ItemNode,
    ListNode,
    QuoteNode,
)
from promptdsl.tree.turn_nodes import CacheBreakpointNode

if TYPE_CHECKING:
    from promptdsl.components.contents import ItemContent, ListContent, TextContent


class TextContainer(Container):
    """The base class of the components that hold parts of one text. Not for authors."""

    __slots__ = ()
    _initial_mask = TEXT_BITS
    _forbids = TEXT_FORBIDS

    @classmethod
    def _advice(cls, node: Node) -> str:
        if node._mask & SECTION:
            return "a Section holds lists, a list holds no Section"
        name = cls.__name__.removesuffix("Side")
        if isinstance(node, CacheBreakpointNode):
            return f"a {name} is one text: write the breakpoint after it"
        otherwise = f"{with_article(name)} holds text only: write it next to the {name}"
        return turn_advice(node, otherwise)


class List(TextContainer, ListNode):
    """A list: each argument, and each part written in its block, is an item.

    A ``List`` in it is nested under the item before it. With ``ordered=True`` the items have
    numbers (default ``False``).

    Raises :class:`OptionError` for another ``ordered``, :class:`PlacementError` for a part that is
    not text, such as a ``Section`` or an attachment.

    >>> from promptdsl import List, System, render
    >>> print(render(System(List("Read.", "Answer.", ordered=True))).messages[0].text)
    1. Read.
    2. Answer.
    """

    __slots__ = ()
    _forbids = TEXT_FORBIDS & ~ITEM
    _gather = staticmethod(gather_items)

    def __init__(self, *items: "ListContent", ordered: bool = False, **unknown: Never) -> None:
        self.ordered = ordered
        begin(self, items, unknown)

    def _check_fields(self) -> None:
        check_flag(self, "ordered", self.ordered)


class Checklist(TextContainer, ChecklistNode):
    """A list of tasks; write ``Item(..., done=True)`` for a task that is done. No options.

    >>> from promptdsl import Checklist, Item, System, render
    >>> print(render(System(Checklist(Item("Read.", done=True), "Answer."))).messages[0].text)
    - [x] Read.
    - [ ] Answer.
    """

    __slots__ = ()
    _forbids = TEXT_FORBIDS & ~ITEM
    _gather = staticmethod(gather_items)

    def __init__(self, *items: "ListContent", **unknown: Never) -> None:
        begin(self, items, unknown)


class Item(TextContainer, ItemNode):
    """An item of a :class:`List` or a :class:`Checklist`; it may hold lists, quotations and code.

    ``done`` is for checklists: ``True``, or ``False`` or ``None`` (default) for not done.

    Raises :class:`OptionError` for another ``done``, :class:`ContentError` for ``None`` and
    ``False`` as an argument.

    >>> from promptdsl import Item, List, System, render
    >>> item = Item("Read:", List("the question", "the page"))
    >>> print(render(System(List(item))).messages[0].text)
    - Read:
      - the question
      - the page
    """

    __slots__ = ()
    _initial_mask = ITEM_BITS

    def __init__(self, *parts: "ItemContent", done: bool | None = None, **unknown: Never) -> None:
        self.done = done
        begin(self, parts, unknown)

    def _check_fields(self) -> None:
        if self.done is not None:
            check_flag(self, "done", self.done)

    @staticmethod
    def _gather(component: Node, args: tuple[object, ...]) -> Sequence[Child]:
        return gather(component, _without_nothing(component, args))


class Quote(TextContainer, QuoteNode):
    """A quotation of text and parts of text. It takes no options.

    >>> from promptdsl import Quote, System, render
    >>> print(render(System("The rule:", Quote("No refunds."))).messages[0].text)
    The rule:
    <BLANKLINE>
    > No refunds.
    """

    __slots__ = ()

    def __init__(self, *parts: "TextContent", **unknown: Never) -> None:
        begin(self, parts, unknown)


class Example(TextContainer, ExampleNode):
    """An example of an ``input`` and the ``output`` it should lead to.

    Each side is text, or one component that holds text.

    Raises :class:`ContentError` for a side that is not text, also for ``None`` and ``False``.

    >>> from promptdsl import Example, Format, System, render
    >>> print(render(System(Format("xml", Example("2 + 2", "4")))).messages[0].text)
    <example>
    <input>2 + 2</input>
    <output>4</output>
    </example>
    """

    __slots__ = ()

    _twice = "both its sides are arguments: Example(input, output)"

    def __init__(
        self, input: "ItemContent", output: "ItemContent", *extra: Never, **unknown: Never
    ) -> None:
        if extra:
            raise too_many(self, input, output, *extra)
        begin(self, (input, output), unknown)

    def _check_fields(self) -> None:
        # Both sides are arguments, so it cannot be opened as a block.
        self._mask |= CLOSED

    @staticmethod
    def _gather(component: Node, args: tuple[object, ...]) -> Sequence[Child]:
        """Return the two sides of an example; a component just written moves into its side."""
        for part in _without_nothing(component, args):
            if not isinstance(part, Node):
                inline(part, component)
        adopt(component, (*volatile_in(args), *args))
        sides: list[Child] = []
        for name, part in zip(("input", "output"), args, strict=True):
            side = object.__new__(ExampleSide)
            side._code, side._offset, side.options = component._code, component._offset, DEFAULTS
            side.name = name
            seal(side, tuple(gather(side, (part,))), TEXT_BITS)
            sides.append(freeze(side))
        return sides


class ExampleSide(TextContainer, ExampleSideNode):
    """One of the two sides of an example. Not for authors."""

    __slots__ = ()

    def _name(self) -> str:
        return "Example" if is_unused(self) else ExampleSideNode._name(self)


def _without_nothing(component: Node, parts: tuple[object, ...]) -> tuple[object, ...]:
    """Return the arguments, or raise :class:`ContentError` for ``None`` or ``False`` in them."""
    for part in parts:
        if part is None or part is False:
            raise refused(part, component)
    return parts
