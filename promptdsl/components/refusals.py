"""The errors for arguments that are not content, each with what to write instead."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from promptdsl.foundation.errors import ContentError
from promptdsl.messages import UnknownBlock
from promptdsl.messages.blocks import CLASSES
from promptdsl.messages.message import Message
from promptdsl.tree.node import named_label


def refused(arg: object, component: Any) -> ContentError:
    """Return the error for something that is not content."""
    shown = "True" if arg is True else f"a {_type_name(arg)}"
    return ContentError(
        f"{shown} cannot be content of {named_label(component)}",
        fix=_remedy(arg),
        at=(component.source,),
    )


def _type_name(arg: object) -> str:
    """Return the name of a type; a component class has a type of its own, which is no help."""
    return "type" if isinstance(arg, type) else type(arg).__name__


def _remedy(arg: object) -> str:
    """Return what to write instead of something that is not content."""
    if isinstance(arg, Message) or _is_message(arg):
        return "what is recorded stands in a History, directly in the Timeline: History([message])"
    name = _type_name(arg)
    otherwise = f"write str(...) of the {name}, or Value(str(...)) when it comes from elsewhere"
    return next((fix for kinds, fix in _REMEDIES if isinstance(arg, kinds)), otherwise)


def _is_message(arg: object) -> bool:
    return type(arg) is dict and "role" in arg and "content" in arg


_REMEDIES: tuple[tuple[Any, str], ...] = (
    (bool, "write str(flag) to print it; `flag and Text(...)` leaves something out"),
    (type(None), "leave it out, or write an empty string"),
    ((list, tuple, set, frozenset, Iterator), "unpack it: *items"),
    (
        (*CLASSES.values(), UnknownBlock),
        'write History([Message("user", [block])]), or the component of that name',
    ),
    (Mapping, "write Json(value) to show it as JSON, or pass its items one by one"),
    (Callable, "call it"),
)
