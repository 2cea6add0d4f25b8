"""Delimiters: the texts that are written before and after an event or a grounding."""

import re
from typing import Literal

import attrs

_NAME = "[A-Za-z_][A-Za-z0-9_.-]*"
_TAG = re.compile(rf"\s*<({_NAME})(?:\s[^<>]*)?>\s*")
_CLOSING_TAG = re.compile(rf"\s*</({_NAME})\s*>\s*")
_set = object.__setattr__


@attrs.frozen(cache_hash=True)
class Delimiter:
    """The opening and closing delimiter of a text.

    ``kind`` is ``default`` for a tag that takes attributes (``open`` is the tag without them),
    ``pair`` for two texts, ``prefix`` for ``open`` alone, ``none`` for no delimiters.
    """

    kind: Literal["default", "pair", "prefix", "none"]
    open: str = ""
    close: str = ""
    tag_name: str | None = attrs.field(init=False, eq=False, repr=False)
    """The tag name if ``open`` is a tag, else ``None``."""
    is_tag: bool = attrs.field(init=False, eq=False, repr=False)
    """Whether both texts are the same tag. Then it is enough to guard the tag name."""
    literals: tuple[str, ...] = attrs.field(init=False, eq=False, repr=False)
    """The delimiters that are not tags; the text between them may not contain these texts."""

    def __attrs_post_init__(self) -> None:
        opening, closing = _TAG.fullmatch(self.open), _CLOSING_TAG.fullmatch(self.close)
        name = opening[1] if opening else None
        is_tag = closing is not None and closing[1] == name
        # Stripped: the line ends around a text could complete a delimiter with white space.
        literals = () if is_tag else tuple(text.strip() for text in (self.open, self.close) if text)
        _set(self, "tag_name", name)
        _set(self, "is_tag", is_tag)
        _set(self, "literals", literals)


NO_DELIMITER = Delimiter("none")
EVENT_DELIMITER = Delimiter("default", "<event>", "</event>")
EPHEMERAL_DELIMITER = Delimiter("default", "<context>", "</context>")


@attrs.frozen(cache_hash=True)
class Delimiters:
    """The delimiters of every type of event, and of groundings (``ephemeral``)."""

    user_action: Delimiter = EVENT_DELIMITER
    state_change: Delimiter = EVENT_DELIMITER
    system_event: Delimiter = EVENT_DELIMITER
    text: Delimiter = EVENT_DELIMITER
    ephemeral: Delimiter = EPHEMERAL_DELIMITER

    @property
    def all(self) -> tuple[Delimiter, ...]:
        """All delimiters, those of events first."""
        events = (self.user_action, self.state_change, self.system_event, self.text)
        return (*events, self.ephemeral)


EVENT_TYPES = ("user_action", "state_change", "system_event", "text")
