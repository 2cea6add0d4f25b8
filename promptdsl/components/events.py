"""Event blocks: an action of a user, a change of a value, an event of the application."""

from collections.abc import Callable
from typing import Never, TypeAlias

from promptdsl.components.options import too_many
from promptdsl.components.scope import Component, place, start
from promptdsl.foundation.errors import ContentError, DataError
from promptdsl.foundation.escaping import data_text
from promptdsl.foundation.json import ABSENT
from promptdsl.foundation.signatures import LEFT_OUT
from promptdsl.foundation.trusted import Trusted
from promptdsl.foundation.unicode import exact
from promptdsl.messages import StateChangeBlock, SystemEventBlock, UserActionBlock
from promptdsl.tree.masks import EVENT_BLOCK, bits
from promptdsl.tree.node import label, named_label
from promptdsl.tree.part_nodes import EventBlockNode

_EVENT_BLOCK = bits(EVENT_BLOCK)
_NO_FIELDS: frozenset[str] = frozenset()
_BlockClass: TypeAlias = Callable[..., UserActionBlock | StateChangeBlock | SystemEventBlock]


class UserAction(Component, EventBlockNode):
    """An action of a user, inside an :class:`Event`: ``{actor or "User"} {action}: {target}``.

    Each other keyword is a detail, written as a line of its own. Every field is a value: a string,
    a number, a boolean or ``None``.

    Raises :class:`ContentError` for a field that has no text, such as a list.

    >>> from promptdsl import Event, UserAction, render
    >>> event = Event(UserAction("opened", target="invoice 1881", amount="EUR 49"))
    >>> print(render(event).messages[0].content[0].text)
    <event type="user_action">
    User opened: invoice 1881
    amount: EUR 49
    </event>
    """

    __slots__ = ()
    _own = _EVENT_BLOCK

    def __init__(
        self,
        action: str,
        /,
        *extra: Never,
        target: object = None,
        actor: object = None,
        **details: object,
    ) -> None:
        if extra:
            raise too_many(self, action, *extra)
        fields = {"action": action, "target": target, "actor": actor}
        _write_event(self, UserActionBlock, fields, details)


class StateChange(Component, EventBlockNode):
    """A value that changed, inside an :class:`Event`: ``{key} changed: {old} -> {new}``.

    ``old`` and ``new`` may be left out, ``trigger`` is the cause; each other keyword is a detail,
    written as a line of its own.

    Raises :class:`ContentError` for a field that has no text, such as a list.

    >>> from promptdsl import Event, StateChange, render
    >>> event = Event(StateChange("ticket", old="draft", new="open"))
    >>> print(render(event).messages[0].content[0].text)
    <event type="state_change">
    ticket changed: draft -> open
    </event>
    """

    __slots__ = ()
    _own = _EVENT_BLOCK

    def __init__(
        self,
        key: str,
        /,
        *extra: Never,
        old: object = ABSENT,
        new: object = ABSENT,
        trigger: object = None,
        **details: object,
    ) -> None:
        if extra:
            raise too_many(self, key, *extra)
        fields = {"key": key, "old": old, "new": new, "trigger": trigger}
        _write_event(self, StateChangeBlock, fields, details)


class SystemEvent(Component, EventBlockNode):
    """Something the application did, inside an :class:`Event`: ``{source}: {event}``.

    ``source`` is the part of the application; each other keyword is data, written as a line of its
    own.

    Raises :class:`ContentError` for a field that has no text, such as a list.

    >>> from promptdsl import Event, SystemEvent, render
    >>> event = Event(SystemEvent("payment failed", source="billing", attempts=3))
    >>> print(render(event).messages[0].content[0].text)
    <event type="system_event">
    billing: payment failed
    attempts: 3
    </event>
    """

    __slots__ = ()
    _own = _EVENT_BLOCK

    def __init__(self, event: str, /, *extra: Never, source: object = None, **data: object) -> None:
        if extra:
            raise too_many(self, event, *extra)
        _write_event(self, SystemEventBlock, {"event": event, "source": source}, data)


def _write_event(
    component: UserAction | StateChange | SystemEvent,
    cls: _BlockClass,
    fields: dict[str, object],
    details: dict[str, object],
) -> None:
    """Fill a component with its block and place it; the names of its trusted fields are noted."""
    start(component, 3)
    first = next(iter(fields.values()))
    if first is None or first is LEFT_OUT:
        problem = f"{named_label(component)} needs a text"
        raise ContentError(problem, fix=f'{label(component)}("...")', at=(component.source,))
    # Every field needs a text.
    for name, value in (*fields.items(), *details.items()):
        try:
            if value is not ABSENT:
                data_text(value)
        except ContentError as error:
            problem = f"{name}: {error.what}"
            raise ContentError(problem, fix=error.fix, at=(component.source,)) from None
    # Author text in a field is noted by name, as the block holds plain strings.
    inner = "data" if cls is SystemEventBlock else "details"
    trusted = [name for name, value in fields.items() if type(value) is Trusted]
    trusted += [f"{inner}.{key}" for key, value in details.items() if type(value) is Trusted]
    component.trusted = frozenset(trusted) if trusted else _NO_FIELDS
    values: list[object] = [*fields.values()]
    if trusted:
        values = [exact(value) for value in values]
        details = {key: exact(value) for key, value in details.items()}
    try:
        component.block = cls(*values, details)
    except DataError as error:
        raise ContentError(error.what, fix=error.fix, at=(component.source,)) from None
    place(component)
