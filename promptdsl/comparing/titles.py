"""The titles of the entries of a snapshot: what an entry is, and what became of it on the wire."""

import re

import attrs

ABOVE, NOT_SENT = ", in the message above", ", not sent"
"""What a title says of a message that is sent in one with that above it, or not at all."""
_TITLE = re.compile(
    r"(, not strict)?(?: as (\w+))?(?:, in (<\w+>))?(, name not sent)?"
    rf"""(?:, id sent as ("(?:[^"\\]|\\.)*"|[^\s"]+))?({ABOVE}|{NOT_SENT})?\Z"""
)


@attrs.frozen
class EntryTitle:
    """The title of a message, of the tools, or of the form of the answer.

    ``what`` is its kind with its id and names. ``role`` is its role on the wire, and ``id`` the id
    of its result there, where they are others; ``fence`` is the tag around it. ``place`` is
    ``ABOVE``, ``NOT_SENT``, or empty for a message of its own.

    >>> title = EntryTitle("event left", role="user", place=ABOVE)
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
    place: str = ""

    @property
    def kind(self) -> str:
        """The title without what became of it on the wire."""
        return self.what if self.is_strict else f"{self.what}, not strict"

    @property
    def word(self) -> str:
        """The first word, such as ``event``."""
        return re.split("[ ,]", self.kind)[0]

    @property
    def sent_as(self) -> str:
        """What became of it on the wire, its role first."""
        return f"{self.role or self.word}{self._sent()}"

    def __str__(self) -> str:
        return self.kind + (f" as {self.role}" if self.role else "") + self._sent()

    def _sent(self) -> str:
        fence = f", in {self.fence}" if self.fence else ""
        name = "" if self.is_named else ", name not sent"
        id = f", id sent as {self.id}" if self.id else ""
        return f"{fence}{name}{id}{self.place}"


def title_of(text: str | EntryTitle) -> EntryTitle:
    """Return the title that is written as a text, or the title itself."""
    if isinstance(text, EntryTitle):
        return text
    end = _TITLE.search(text)
    assert end is not None  # it may be empty
    strict, role, fence, name, id, place = end.groups("")
    return EntryTitle(text[: end.start()], not strict, role, fence, not name, id, place)
