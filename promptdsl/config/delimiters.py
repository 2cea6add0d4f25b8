"""Delimiters: the texts at both ends of an event or a request-only turn, which fence it in."""

import re
from typing import Literal

import attrs

_NAME = "[A-Za-z_][A-Za-z0-9_.-]*"
_TAG = re.compile(rf"\s*<({_NAME})(?:\s[^<>]*)?>\s*")
_CLOSING_TAG = re.compile(rf"\s*</({_NAME})\s*>\s*")
_set = object.__setattr__


@attrs.frozen(cache_hash=True)
class Delimiter:
    """The two ends of a fence.

    ``default`` is a tag that takes attributes (``open`` is the tag without them); ``pair`` is two
    texts, ``prefix`` is ``open`` alone, ``none`` is no fence.
    """

    kind: Literal["default", "pair", "prefix", "none"]
    open: str = ""
    close: str = ""
    tag_name: str | None = attrs.field(init=False, eq=False, repr=False)
    """The name of the tag that ``open`` is, or ``None``."""
    is_tag: bool = attrs.field(init=False, eq=False, repr=False)
    """Whether both ends are one tag, so that guarding its name guards the whole fence."""
    literals: tuple[str, ...] = attrs.field(init=False, eq=False, repr=False)
    """The ends that are not tags; the text inside is guarded against these literal texts."""

    def __attrs_post_init__(self) -> None:
        opening, closing = _TAG.fullmatch(self.open), _CLOSING_TAG.fullmatch(self.close)
        name = opening[1] if opening else None
        is_tag = closing is not None and closing[1] == name
        # Stripped, because the line ends around a text could complete an end with white space.
        literals = () if is_tag else tuple(text.strip() for text in (self.open, self.close) if text)
        _set(self, "tag_name", name)
        _set(self, "is_tag", is_tag)
        _set(self, "literals", literals)


NO_DELIMITER = Delimiter("none")
EVENT_DELIMITER = Delimiter("default", "<event>", "</event>")
EPHEMERAL_DELIMITER = Delimiter("default", "<context>", "</context>")


@attrs.frozen(cache_hash=True)
class Delimiters:
    """The delimiter of every type of event, and of request-only turns."""

    user_action: Delimiter = EVENT_DELIMITER
    state_change: Delimiter = EVENT_DELIMITER
    system_event: Delimiter = EVENT_DELIMITER
    text: Delimiter = EVENT_DELIMITER
    ephemeral: Delimiter = EPHEMERAL_DELIMITER

    @property
    def all(self) -> tuple[Delimiter, ...]:
        """Every delimiter, those of events first."""
        events = (self.user_action, self.state_change, self.system_event, self.text)
        return (*events, self.ephemeral)


EVENT_TYPES = ("user_action", "state_change", "system_event", "text")
