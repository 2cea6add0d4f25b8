"""The event blocks: an action of a user, a change of a value, an event of the application."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from promptdsl.components.arguments import adopt_values, volatile_leaf
from promptdsl.components.block import ROOTED, TEXT_FORBIDS, Container, begin, part_advice
from promptdsl.components.scope import location, retract, start
from promptdsl.foundation.errors import ContentError, PromptError
from promptdsl.foundation.escaping import text_of
from promptdsl.foundation.frozen import EMPTY, frozen, is_list, is_mapping, plain
from promptdsl.foundation.json import ABSENT
from promptdsl.foundation.signatures import LEFT_OUT
from promptdsl.foundation.source import end_traceback
from promptdsl.foundation.trusted import Trusted
from promptdsl.foundation.unicode import on_one_line
from promptdsl.messages import EventBlock, StateChangeBlock, SystemEventBlock, UserActionBlock
from promptdsl.tree.masks import EVENT_BLOCK, UNWRITTEN, bits
from promptdsl.tree.node import Node, label, named_label, nodes_in
from promptdsl.tree.part_nodes import EventBlockNode, ValueNode, VolatileNode

if TYPE_CHECKING:
    from promptdsl.components.contents import TextContent


class EventBlockComponent(Container, EventBlockNode):
    """The base class of the event blocks, which have fields and text. Not for authors."""

    __slots__ = ()
    _initial_mask = bits(EVENT_BLOCK)
    _forbids = TEXT_FORBIDS
    _forbids_at_once = ROOTED

    def _check_fields(self) -> None:
        self._mask &= ~UNWRITTEN  # most events have no text

    @classmethod
    def _advice(cls, node: Node) -> str:
        return part_advice(node, f"an event block holds text: write the {label(node)} next to it")


class UserAction(EventBlockComponent):
    """An action of a user, inside an :class:`Event`: ``{actor or "User"} {action}: {target}``.

    Any other keyword is a detail, which is written on its own line. Every field is a value: a
    string, a number, a boolean, ``None``, a :class:`Volatile`, or a list or mapping of these, which
    becomes JSON. Content is text after the fields; it is author text, as in other instructions.

    Raises :class:`ContentError` for a field that is not data.

    >>> from promptdsl import Event, UserAction, render
    >>> event = Event(UserAction("opened", target="invoice 1881", amount="EUR 49"))
    >>> print(render(event).messages[0].content[0].text)
    <event type="user_action">
    User opened: invoice 1881
    amount: EUR 49
    </event>
    """

    __slots__ = ()

    def __init__(
        self,
        action: str | ValueNode,
        /,
        *content: "TextContent",
        target: object = None,
        actor: object = None,
        **details: object,
    ) -> None:
        fields = {"action": action, "target": target, "actor": actor}
        _begin_event(self, UserActionBlock, fields, details, *content)


class StateChange(EventBlockComponent):
    """A value that changed, inside an :class:`Event`: ``{key} changed: {old} -> {new}``.

    ``old`` and ``new`` may be left out, ``trigger`` is the cause. Any other keyword is a detail,
    which is written on its own line. Fields and content are those of :class:`UserAction`.

    Raises :class:`ContentError` for a field that is not data, and for two strings after the key
    without ``old`` and ``new``.

    >>> from promptdsl import Event, StateChange, render
    >>> event = Event(StateChange("ticket", old="draft", new="open"))
    >>> print(render(event).messages[0].content[0].text)
    <event type="state_change">
    ticket changed: draft -> open
    </event>
    """

    __slots__ = ()

    def __init__(
        self,
        key: str | ValueNode,
        /,
        *content: "TextContent",
        old: object = ABSENT,
        new: object = ABSENT,
        trigger: object = None,
        **details: object,
    ) -> None:
        fields = {"key": key, "old": old, "new": new, "trigger": trigger}
        _begin_event(self, StateChangeBlock, fields, details, *content)


class SystemEvent(EventBlockComponent):
    """An event of the application, inside an :class:`Event`: ``{source}: {event}``.

    ``source`` is the part of the application. Any other keyword is data, which is written on its
    own line. Fields and content are those of :class:`UserAction`.

    Raises :class:`ContentError` for a field that is not data.

    >>> from promptdsl import Event, SystemEvent, render
    >>> event = Event(SystemEvent("payment failed", source="billing", attempts=3))
    >>> print(render(event).messages[0].content[0].text)
    <event type="system_event">
    billing: payment failed
    attempts: 3
    </event>
    """

    __slots__ = ()

    def __init__(
        self,
        event: str | ValueNode,
        /,
        *content: "TextContent",
        source: object = None,
        **data: object,
    ) -> None:
        _begin_event(self, SystemEventBlock, {"event": event, "source": source}, data, *content)


def _begin_event(
    component: EventBlockComponent,
    cls: Callable[..., EventBlock],
    fields: Mapping[str, object],
    details: Mapping[str, object],
    *content: "TextContent",
) -> None:
    """Fill a component with its block and its content, and put it into the open block.

    Each field of the block has a text; nested data becomes JSON. A volatile value is plain in the
    block, and its label is noted in the component.
    """
    start(component, 3)
    volatile: list[VolatileNode] = []
    labels: dict[tuple[object, ...], str] = {}
    try:
        first = next(iter(fields.values()))
        if first is None or first is LEFT_OUT:
            problem = f"{named_label(component)} needs a text"
            raise ContentError(problem, fix=f'{label(component)}("...")')
        unset = fields.get("old") is fields.get("new") is ABSENT
        if unset and [*map(type, content)] == [str, str]:
            problem = "a StateChange takes the old and the new value by name"
            raise ContentError(problem, fix="write StateChange(key, old=..., new=...)")
        plain_fields = _plain_values("fields", fields, volatile, labels)
        plain_details = _plain_values("details", details, volatile, labels)
        if volatile:
            adopt_values(component, volatile, *content)
        component.labels = frozen(labels) if volatile else EMPTY
        component.block = cls(*plain_fields.values(), plain_details)
    except PromptError as error:
        retract((*content, *nodes_in(*fields.values(), *details.values())))
        end_traceback(error.located(component.source))
        raise
    # The block has plain strings only, so the names of fields with author text are noted.
    inner = "data" if cls is SystemEventBlock else "details"
    trusted = [name for name, value in fields.items() if type(value) is Trusted]
    trusted += [f"{inner}.{key}" for key, value in details.items() if type(value) is Trusted]
    component.trusted = frozenset(trusted)
    if content:
        begin(component, content, {}, at=component._at)
    else:
        location(component)


def _plain_values(
    group: str,
    fields: Mapping[str, object],
    volatile: list[VolatileNode],
    labels: dict[tuple[object, ...], str],
) -> Mapping[str, object]:
    """Return fields with plain values; note the volatile values and their labels."""
    plain_values: dict[str, object] = {}
    for name, value in fields.items():
        if type(value) is str or value is None or value is ABSENT:
            continue
        leaf = volatile_leaf(volatile, labels, group)
        if is_mapping(value) or is_list(value):
            plain_values[name] = plain(value, name, leaf)
        elif isinstance(value, VolatileNode):
            plain_values[name] = leaf(value, {}, name)
        else:
            try:
                text_of(value)
            except ContentError as error:
                raise ContentError(f"{on_one_line(name)}: {error.what}", fix=error.fix) from None
    return {**fields, **plain_values} if volatile else fields
