"""What happens in an application: the blocks of an event turn."""

import sys
from typing import Any

from promptdsl import nodes
from promptdsl.blocks import StateChangeBlock, SystemEventBlock, UserActionBlock
from promptdsl.components.writing import Written
from promptdsl.encoding import data_text
from promptdsl.errors import ContentError
from promptdsl.json_text import ABSENT
from promptdsl.scope import OPENED, join
from promptdsl.tree import DEFAULTS, HAPPENING, bits, label, named_label

_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]

_HAPPENING = bits(HAPPENING)


class UserAction(Written, nodes.Happening):
    """Something a user did: ``{actor or "User"} {action}: {target}``, then one line a detail.

    Every field is a value; raises :class:`ContentError` for one that has no text.
    """

    __slots__ = ()
    _node = nodes.Happening

    def __init__(
        self, action: str, /, *, target: object = None, actor: object = None, **details: object
    ) -> None:
        frame = _getframe(1)
        self.code = frame.f_code
        self.offset = frame.f_lasti
        _check(self, "action", {"action": action, "target": target, "actor": actor, **details})
        _place(self, UserActionBlock(action, target, actor, details))


class StateChange(Written, nodes.Happening):
    """A value that changed: ``{key} changed: {old} -> {new}``; one not given is left out."""

    __slots__ = ()
    _node = nodes.Happening

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
        given = {"old": old, "new": new, "trigger": trigger, **details}
        _check(self, "key", {"key": key, **{k: v for k, v in given.items() if v is not ABSENT}})
        _place(self, StateChangeBlock(key, old, new, trigger, details))


class SystemEvent(Written, nodes.Happening):
    """Something the application did: ``{source}: {event}``, then one line an entry of ``data``."""

    __slots__ = ()
    _node = nodes.Happening

    def __init__(self, event: str, /, *, source: object = None, **data: object) -> None:
        frame = _getframe(1)
        self.code = frame.f_code
        self.offset = frame.f_lasti
        _check(self, "event", {"event": event, "source": source, **data})
        _place(self, SystemEventBlock(event, source, data))


def _check(component: Any, needed: str, fields: dict[str, object]) -> None:
    if fields[needed] is None:
        raise ContentError(
            f"{named_label(component)} needs a text",
            fix=f'{label(component)}("...")',
            at=(component.source,),
        )
    for name, value in fields.items():
        try:
            data_text(value)
        except ContentError as error:
            raise ContentError(
                f"{name}: {error.what}", fix=error.fix, at=(component.source,)
            ) from None


def _place(component: Any, block: Any) -> None:
    component.content = ()
    component.mask = _HAPPENING
    component.options = DEFAULTS
    component.block = block
    top = OPENED.get()
    if top is not None:
        join(component, top, component.mask)
