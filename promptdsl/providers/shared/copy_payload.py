"""Payloads whose containers are their own: what is handed out is nobody else's."""

# What a value is told by its exact type, which is faster than isinstance and tells a checker less.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from typing import Any

from promptdsl.providers.shared.request import Param


def fresh(payload: Param) -> Param:
    """Return a copy of a payload that shares no list and no dictionary with it, at any depth.

    Only containers are copied; texts, bytes and numbers cannot be changed, and are shared.
    """
    try:
        return _copied(payload)  # type: ignore[no-any-return]
    except RecursionError:
        return _copied_at_any_depth(payload)


def _copied(value: Any) -> Any:
    """Return a copy of a dictionary or a list, anything else as it is."""
    kind = type(value)
    if kind is dict:
        made = value.copy()
        # The keys of a copy stay, so values may be put in while they are gone through.
        for key in made:
            held = made[key]
            if type(held) is not str:
                made[key] = _copied(held)
        return made
    return _items(value) if kind is list else value


def _items(value: list[Any]) -> list[Any]:
    """Return a copy of a list: a long payload is mostly entries of one part, and texts in it."""
    made: list[Any] = []
    for item in value:
        if type(item) is not dict:
            made.append(_copied(item))
            continue
        copied = item.copy()
        made.append(copied)
        for key in copied:
            held = copied[key]
            if type(held) is str:
                continue
            if type(held) is list and len(held) == 1 and type(held[0]) is dict:
                part = held[0].copy()
                copied[key] = [part]
                for name in part:
                    if type(part[name]) is not str:
                        part[name] = _copied(part[name])
            else:
                copied[key] = _copied(held)
    return made


def _copied_at_any_depth(payload: Param) -> Param:
    found = payload.copy()
    waiting: list[Any] = [found]
    while waiting:
        held = waiting.pop()
        for key, value in [*(held.items() if type(held) is dict else enumerate(held))]:
            if type(value) is dict or type(value) is list:
                held[key] = copied = value.copy()
                waiting.append(copied)
    return found
