"""What happens in an application: the blocks of an event turn."""

import sys
from collections.abc import Callable
from typing import Any

from promptdsl.components.block import Written
from promptdsl.components.scope import place
from promptdsl.foundation.errors import ContentError, DataError
from promptdsl.foundation.escaping import data_text
from promptdsl.foundation.json import ABSENT
from promptdsl.foundation.trusted import Trusted
from promptdsl.foundation.unicode import exact
from promptdsl.messages import StateChangeBlock, SystemEventBlock, UserActionBlock
from promptdsl.tree.masks import EVENT_BLOCK, bits
from promptdsl.tree.node import DEFAULTS, label, named_label
from promptdsl.tree.part_nodes import EventBlockNode

_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]

_HAPPENING = bits(EVENT_BLOCK)


class UserAction(Written, EventBlockNode):
    """Something a user did: ``{actor or "User"} {action}: {target}``, then one line a detail.

    Every field is a value; raises :class:`ContentError` for one that has no text.
    """

    __slots__ = ()

    def __init__(
        self, action: str, /, *, target: object = None, actor: object = None, **details: object
    ) -> None:
        frame = _getframe(1)
        self.code = frame.f_code
        self.offset = frame.f_lasti
        _write(self, UserActionBlock, {"action": action, "target": target, "actor": actor}, details)


class StateChange(Written, EventBlockNode):
    """A value that changed: ``{key} changed: {old} -> {new}``; one not given is left out."""

    __slots__ = ()

    def __init__(
        self,
        key: str,
        /,
        *,
        old: object = ABSENT,
        new: object = ABSENT,
        trigger: object = None,
        **details: object,
    ) -> None:
        frame = _getframe(1)
        self.code = frame.f_code
        self.offset = frame.f_lasti
        fields = {"key": key, "old": old, "new": new, "trigger": trigger}
        _write(self, StateChangeBlock, fields, details)


class SystemEvent(Written, EventBlockNode):
    """Something the application did: ``{source}: {event}``, then one line an entry of ``data``."""

    __slots__ = ()

    def __init__(self, event: str, /, *, source: object = None, **data: object) -> None:
        frame = _getframe(1)
        self.code = frame.f_code
        self.offset = frame.f_lasti
        _write(self, SystemEventBlock, {"event": event, "source": source}, data)


def _write(
    component: Any, cls: Callable[..., Any], fields: dict[str, object], details: dict[str, object]
) -> None:
    """Fill a component with its block and place it; what an author vouches for is noted apart."""
    _check(component, fields, details)
    vouched = [name for name, value in fields.items() if type(value) is Trusted]
    inner = "data" if cls is SystemEventBlock else "details"
    vouched += [f"{inner}.{key}" for key, value in details.items() if type(value) is Trusted]
    component.trusted = frozenset(vouched) if vouched else _NOTHING
    given: tuple[object, ...] = (*fields.values(), details)
    if vouched:
        inside = {key: exact(value) for key, value in details.items()}
        given = (*map(exact, fields.values()), inside)
    try:
        component.block = cls(*given)
    except DataError as error:
        raise ContentError(error.what, fix=error.fix, at=(component.source,)) from None
    component.content = ()
    component.mask = _HAPPENING
    component.options = DEFAULTS
    place(component)


_NOTHING: frozenset[str] = frozenset()


def _check(component: Any, fields: dict[str, object], details: dict[str, object]) -> None:
    if next(iter(fields.values())) is None:
        raise ContentError(
            f"{named_label(component)} needs a text",
            fix=f'{label(component)}("...")',
            at=(component.source,),
        )
    for name, value in (*fields.items(), *details.items()):
        try:
            if value is not ABSENT:
                data_text(value)
        except ContentError as error:
            raise ContentError(
                f"{name}: {error.what}", fix=error.fix, at=(component.source,)
            ) from None
