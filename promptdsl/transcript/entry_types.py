"""The types of entries: those of this package, and those that a user registers."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from promptdsl.foundation.errors import OptionError, TranscriptError, shown
from promptdsl.foundation.source import public_api
from promptdsl.messages.message import Message

C = TypeVar("C", bound=type)

BUILT_IN: Mapping[str, frozenset[str]] = {
    "message": frozenset({"message", "reply"}),
    "replace": frozenset({"turn", "message", "also", "rest", "reply"}),
    "remove": frozenset({"turn", "also", "rest"}),
    "summary": frozenset({"text", "upto"}),
    "undo": frozenset({"to"}),
    "note": frozenset({"note"}),
    "metadata": frozenset({"metadata"}),
    "erased": frozenset(),
}
"""The types of entries of this package, and the keys of their data."""

REGISTERED: dict[str, Any] = {}  # Any: classes with from_json and to_json


def type_of(value: object) -> str | None:
    """Return the name that the class of a value is registered under, or ``None``."""
    return next((name for name, cls in REGISTERED.items() if type(value) is cls), None)


def is_known(name: str) -> bool:
    """Return whether this version reads entries of a type."""
    return name in BUILT_IN or name in REGISTERED


def message_of(name: str, value: Any) -> Message | None:  # Any: of a registered class
    """Return the message of an object of a registered class, ``None`` if only people see it."""
    make = getattr(value, "to_message", None)
    message: object = None if make is None else make()
    if message is None:
        return None
    if isinstance(message, Message):
        blocks = message.content if message._plain is None else ()
        if not any(block.type in ("tool_use", "tool_result") for block in blocks):
            return message
    raise TranscriptError(
        f"to_message() of the type {name!r} returns a Message without calls and results, or None",
        fix="append calls and results as messages of their own",
    )


@public_api
def entry_type(name: str) -> Callable[[C], C]:
    """Return a decorator that registers a class, so that its objects can be appended.

    The class has ``to_json()``, which returns JSON data, and ``from_json(data)``, a class method
    that returns an object. ``to_message()`` is optional: it returns the :class:`Message` that a
    model gets, or ``None``; it is called once for each entry.

    >>> from promptdsl import Transcript, entry_type
    >>> @entry_type("rating")
    ... class Rating:
    ...     def __init__(self, stars):
    ...         self.stars = stars
    ...     def to_json(self):
    ...         return {"stars": self.stars}
    ...     @classmethod
    ...     def from_json(cls, data):
    ...         return cls(data["stars"])
    >>> Transcript().append(Rating(5)).data["value"]
    {'stars': 5}

    Raises :class:`OptionError` for the name of a built-in type, for a name that is taken, and for a
    class without these methods.
    """
    if not isinstance(name, str) or not name.isidentifier() or name in BUILT_IN:  # pyright: ignore[reportUnnecessaryIsInstance]
        fix = f"write a word; these are taken: {', '.join(BUILT_IN)}"
        raise OptionError(f"an entry type cannot be named {shown(name)}", fix=fix)

    @public_api
    def register(cls: C) -> C:
        for method in ("to_json", "from_json"):
            if not callable(getattr(cls, method, None)):
                fix = "write to_json(self), and from_json(cls, data) as a class method"
                raise OptionError(f"{cls.__name__} has no {method}()", fix=fix)
        known = REGISTERED.setdefault(name, cls)
        # A module that is loaded again defines its class again.
        if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            what = f"the entry type {name!r} is taken by {known.__qualname__}"
            raise OptionError(what, fix="give it another name")
        REGISTERED[name] = cls
        return cls

    return register
