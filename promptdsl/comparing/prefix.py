"""The shared prefix of two prompts: what a prompt cache can serve, and what ends it."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import attrs

from promptdsl import Rendered, prefix_report
from promptdsl.comparing.alignment import equal_start
from promptdsl.comparing.changes import NamedEntry, named
from promptdsl.comparing.snapshot_file import PromptFile

CACHED = 0.1
"""The approximate cost of a token from a cache; a token that is read anew costs 1."""


@attrs.frozen
class SharedPrefix:
    """The beginning that two prompts share, in tokens of the second, which a cache can serve.

    ``behind`` are the tokens of the second prompt after it: they are read anew. ``broken_by`` is
    what ended it, as changes name places; empty for equal prompts. ``lost_marks`` are the places of
    the cache marks of the first prompt that it does not reach: what they cached is read anew once.
    ``label`` says how exact the tokens are.

    >>> from promptdsl import Section, System, diff
    >>> one, two = (System(Section("role", "You help."), Section("tone", it)) for it in "ab")
    >>> print(diff(one, two).prefix)
    the shared prefix ends at `system > tone`: 7 of 11 tokens
    """

    shared: int
    behind: int
    label: str
    broken_by: str = ""
    lost_marks: tuple[str, ...] = ()

    @property
    def cost(self) -> float:
        """The cost of the second prompt after the first, in tokens that are read anew."""
        return self.shared * CACHED + self.behind

    def __str__(self) -> str:
        if not self.broken_by:
            return "the requests are the same"
        text = f"the shared prefix ends at `{self.broken_by}`: "
        text += f"{self.shared:,} of {self.shared + self.behind:,} tokens"
        if self.lost_marks:
            text += f"; the cached prefix up to `{self.lost_marks[-1]}` is lost, "
            text += f"{self.behind:,} tokens are read anew once"
        return text

    def to_dict(self) -> dict[str, Any]:  # Any: JSON data
        """Return the fields as JSON data."""
        return {**attrs.asdict(self), "lost_marks": [*self.lost_marks], "cost": self.cost}


def prefix_of_requests(
    before: Rendered, after: Rendered, files: tuple[PromptFile, PromptFile]
) -> SharedPrefix:
    """Return what two requests for one target share; their texts tell which marks are lost."""
    report = prefix_report(before, after)
    ends = _first_difference(*map(_pieces, files))
    broken_by = "" if report.first is None else ends.place or report.first.what
    return SharedPrefix(report.shared, report.behind, report.label, broken_by, ends.lost_marks)


def prefix_of_files(
    before: PromptFile, after: PromptFile, count: Callable[[str], int]
) -> SharedPrefix | None:
    """Return what two snapshots share, by the tokens of their texts; ``None`` for two models."""
    if dict(before.header).get("model") != dict(after.header).get("model"):
        return None
    pieces = _pieces(before), _pieces(after)
    ends = _first_difference(*pieces)
    texts = [piece.text for piece in pieces[1]]
    total = sum(map(count, texts))
    shared = total
    if ends.place:
        shared = min(sum(map(count, texts[: ends.number])) + count(ends.text), total)
    return SharedPrefix(shared, total - shared, "estimate", ends.place, ends.lost_marks)


class SentPiece(NamedTuple):
    """A text in the order of a cache: what it belongs to, and whether a cache mark is after it."""

    place: str
    title: str
    mark: str
    text: str
    is_marked: bool


class PrefixEnd(NamedTuple):
    """Where two prompts differ first: the number of the piece, its place, and the equal text."""

    number: int
    place: str
    text: str
    lost_marks: tuple[str, ...]


def _pieces(file: PromptFile) -> list[SentPiece]:
    """Return the texts of a prompt in the order of a cache: tools, answer, system, messages."""
    return [piece for entry in named(file) for piece in _of_entry(entry)]


def _of_entry(entry: NamedEntry) -> Iterator[SentPiece]:
    sent = [mark.after for mark in entry.cache if ", not sent" not in mark.mark]
    for number, part in enumerate(entry.parts):
        place = " > ".join(entry.place(number))
        # A text after a mark is of the part before it.
        after = [mark.text for mark in entry.cache if mark.after == number]
        yield SentPiece(place, entry.title, part.mark, "".join([part.text, *after]), number in sent)


def _first_difference(before: list[SentPiece], after: list[SentPiece]) -> PrefixEnd:
    pairs = zip(before, after, strict=False)
    # A mark alone changes no text.
    same = (old[1:4] == new[1:4] for old, new in pairs)
    index = next((number for number, it in enumerate(same) if not it), min(len(before), len(after)))
    if index == len(before) == len(after):
        return PrefixEnd(index, "", "", ())
    lost = tuple(piece.place for piece in before[index:] if piece.is_marked)
    if index >= len(after):
        return PrefixEnd(index, before[index].place, "", lost)
    new, text = after[index], ""
    if index < len(before) and before[index][1:3] == new[1:3]:
        text = new.text[: equal_start(before[index].text, new.text)]
    return PrefixEnd(index, new.place, text, lost)
