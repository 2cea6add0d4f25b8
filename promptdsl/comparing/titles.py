"""The titles of the entries of a snapshot: what an entry is, and how its message is sent."""

import re

import attrs

ABOVE, NOT_SENT = ", in the message above", ", not sent"
"""The notes on a message that is sent as a part of the message above it, and on one not sent."""
_TITLE = re.compile(
    r"(, not strict)?(?: as (\w+))?(?:, in (<\w+>))?(, name not sent)?"
    rf"""(?:, id sent as ("(?:[^"\\]|\\.)*"|[^\s"]+))?({ABOVE}|{NOT_SENT})?\Z"""
)


@attrs.frozen
class EntryTitle:
    """The title of the entry of a turn, of the tools, or of the output schema.

    ``what`` is the title in the prompt: a first word such as ``event``, then id and names. The
    other fields tell how it is sent. ``role`` and ``id`` are empty if they are sent unchanged.
    ``fence`` is the tag around it. ``note`` is ``ABOVE``, ``NOT_SENT``, or empty.

    >>> title = EntryTitle("event left", role="user", note=ABOVE)
    >>> str(title), title.kind, title.sent_as
    ('event left as user, in the message above', 'event left', 'user, in the message above')
    >>> title_of(str(title)) == title
    True
    """

    what: str
    is_strict: bool = True
    role: str = ""
    fence: str = ""
    is_named: bool = True
    id: str = ""
    note: str = ""

    @property
    def kind(self) -> str:
        """The title without how it is sent."""
        return self.what if self.is_strict else f"{self.what}, not strict"

    @property
    def first_word(self) -> str:
        """The first word, such as ``event``."""
        return re.split("[ ,]", self.kind)[0]

    @property
    def sent_as(self) -> str:
        """How it is sent: its role first, then what else differs."""
        return f"{self.role or self.first_word}{self._sent()}"

    def __str__(self) -> str:
        return self.kind + (f" as {self.role}" if self.role else "") + self._sent()

    def _sent(self) -> str:
        fence = f", in {self.fence}" if self.fence else ""
        name = "" if self.is_named else ", name not sent"
        id = f", id sent as {self.id}" if self.id else ""
        return f"{fence}{name}{id}{self.note}"


def title_of(text: str | EntryTitle) -> EntryTitle:
    """Return the title with this text; a title is returned as it is."""
    if isinstance(text, EntryTitle):
        return text
    end = _TITLE.search(text)
    assert end is not None  # the pattern also matches an empty end
    strict, role, fence, name, id, note = end.groups("")
    return EntryTitle(text[: end.start()], not strict, role, fence, not name, id, note)
