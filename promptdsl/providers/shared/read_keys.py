"""The keys that a reader takes of recorded messages: what ``unread.py`` compares them with."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from promptdsl.foundation.frozen import is_mapping
from promptdsl.providers.shared.checks import mapping

Shape: TypeAlias = Mapping[str, "Inner"]
"""The keys that are read of an object, each with what is read of its value."""
Inner: TypeAlias = Shape | Callable[[Mapping[str, Any]], "Shape | None"] | None
"""The shape of an object, or a function that returns it; ``None`` where all is read."""

REST = "*"
"""In a shape: all further keys are kept."""


def shape(*names: str, **inner: Inner) -> Shape:
    """Return the shape of an object: keys of which all is read, and keys with a shape."""
    return {**dict.fromkeys(names), **inner}


def _as_mapping(value: object) -> Mapping[str, Any]:
    return value if is_mapping(value) else mapping(value)


class ReadKeys(NamedTuple):
    """The keys that are read of a payload; a list alone is the value of the last one."""

    payload: Mapping[str, Inner]
    entries_of: Callable[[object], Mapping[str, Any]] = _as_mapping
    """Returns a mapping under the keys that are listed."""


# Of Chat, and of chat templates.

SAID = ("id", "role", "content", "name")
REASONED = ("reasoning_content", "reasoning", "refusal")
FUNCTION = shape("name", "arguments", "parsed_arguments")
_CALL = shape("id", "type", "index", function=FUNCTION, custom=shape("name", "input"))


def call_keys(call: Mapping[str, Any]) -> Shape:
    """Return the keys of a call in a message of Chat, or of a chat template."""
    is_flat = "name" in call and "function" not in call
    return shape("id", "call_id", "type", "index", "name", "arguments") if is_flat else _CALL
