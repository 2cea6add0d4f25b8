"""Groundings: content that is sent with this request only and is not part of the conversation."""

from typing import TYPE_CHECKING, Unpack, get_args

from promptdsl.components.arguments import adopt, value_text
from promptdsl.components.block import PART_FORBIDS, ROOTED, Container, begin, part_advice
from promptdsl.components.options import (
    EphemeralOptions,
    FencedOptions,
    bad_option,
    check_choice,
    is_real,
)
from promptdsl.config.transformation import EphemeralPosition
from promptdsl.foundation.errors import ContentError
from promptdsl.tree.masks import CACHE, REQUEST, bits
from promptdsl.tree.node import Node
from promptdsl.tree.part_nodes import ValueNode
from promptdsl.tree.turn_nodes import CacheBreakpointNode, RequestOnlyNode

if TYPE_CHECKING:
    from promptdsl.components.contents import PartContent

POSITIONS: tuple[EphemeralPosition, ...] = get_args(EphemeralPosition)


class RequestComponent(Container, RequestOnlyNode):
    """The base class of ``Grounding`` and ``Ephemeral``. Not for authors."""

    __slots__ = ()
    _initial_mask = bits(REQUEST)
    _forbids = PART_FORBIDS | CACHE
    _forbids_at_once = ROOTED

    def _check_fields(self) -> None:
        texts: tuple[object, ...] = (self.type, self.title)
        try:
            # A type and a title are values.
            plain = [*map(_plain, texts)]
        except ContentError as error:
            raise error.located(self.source) from None
        adopt(self, texts)
        self.type, self.title = plain
        if self.position is not None:
            check_choice(self, "position", self.position, POSITIONS)
        if not is_real(self.order):
            raise bad_option(self, "order", self.order, "write a number")

    @classmethod
    def _advice(cls, node: Node) -> str:
        if node._mask & CACHE:
            mark = "the breakpoint" if isinstance(node, CacheBreakpointNode) else "cache=True"
            return f"a part that is sent once cannot be cached: leave {mark} out"
        return part_advice(node, f"write it next to the {cls.__name__}, not in it")


def _plain(text: object) -> str | None:
    return None if text is None else value_text(text)


class Ephemeral(RequestComponent):
    """Content for this request only, between delimiters; the next request does not repeat it.

    Options:

    - ``type`` and ``title``: texts that are written in the opening tag;
    - ``position``: ``"flow"`` (where it is written), ``"after_system"``, ``"start"``,
      ``"before_user"`` or ``"end"``; by default the configuration decides;
    - ``order``: a number, 0 by default; at the same position, the lowest comes first;
    - ``encoding``: ``"minimal"`` or ``"full"``, how values in it are encoded; by default the
      configuration decides;
    - ``id``, ``metadata``, ``tags``, ``audience``, ``priority``: see :class:`System`.

    Raises :class:`OptionError` for an unknown option or a bad value, :class:`PlacementError` for a
    child that may not be here: a turn, or a part with a cache mark.

    >>> from promptdsl import Ephemeral, Timeline, User, render
    >>> prompt = Timeline(Ephemeral("It is 9 am.", type="clock"), User("Am I late?"))
    >>> "It is 9 am." in render(prompt).messages[0].text
    True
    """

    __slots__ = ()
    _options_type = EphemeralOptions

    def __init__(
        self,
        *content: "PartContent",
        type: str | ValueNode | None = None,
        title: str | ValueNode | None = None,
        position: EphemeralPosition | None = None,
        order: float = 0,
        **options: Unpack[EphemeralOptions],
    ) -> None:
        self.type, self.title, self.position, self.order = type, title, position, order  # type: ignore[assignment]
        self.grounding = False
        begin(self, content, options)


class Grounding(RequestComponent):
    r"""Facts for this request only. Every string in it is a value, also one that you write.

    ``id`` names the facts in addresses and reports. It is any text, such as the id of a document;
    several groundings may have the same id. Facts are sent directly before the last user message,
    unless there is another ``position``. The options and errors are those of :class:`Ephemeral`,
    without ``type``.

    >>> from promptdsl import Grounding, Timeline, User, render
    >>> page = Grounding("page", "<b>Shop</b> </context>")
    >>> render(Timeline(page, User("Is it open?"))).messages[0].text
    '<context>\n<b>Shop</b> &lt;/context>\n</context>\n\nIs it open?'
    """

    __slots__ = ()
    _options_type = FencedOptions

    def __init__(
        self,
        id: str,
        /,
        *content: "PartContent",
        title: str | ValueNode | None = None,
        position: EphemeralPosition | None = None,
        order: float = 0,
        **options: Unpack[FencedOptions],
    ) -> None:
        self.type = None
        self.title, self.position, self.order = title, position, order  # type: ignore[assignment]
        self.grounding = True
        begin(self, content, options, id=id)
