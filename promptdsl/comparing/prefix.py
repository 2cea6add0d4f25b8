"""The shared prefix of two prompts: how long it is, what ends it, and what a cache serves of it."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import accumulate, groupby
from typing import Any, TypeAlias

import attrs

from promptdsl import (
    Difference,
    ModelFacts,
    PrefixReport,
    Prompt,
    PromptError,
    Rendered,
    prefix_report,
    render,
)
from promptdsl.comparing.canonical import FileWriter, prompt_file
from promptdsl.comparing.changes import TEXT, Location, NamedEntry, named
from promptdsl.comparing.escapes import shown
from promptdsl.comparing.shown_texts import ShownTexts
from promptdsl.comparing.snapshot_file import WITHIN, PromptFile
from promptdsl.comparing.titles import NOT_SENT
from promptdsl.comparing.tokens import as_json, target_of, total_of
from promptdsl.foundation.old_names import OldAttribute
from promptdsl.foundation.unicode import equal_start

CACHED = 0.1
"""The approximate cost of a cached token; a token that is not cached costs 1."""
GAP = "\n\n"
"""The text for the border of two blocks, with or without a cache mark between them."""
CHANGED = "changed"
UNSEEN = "its text is the same, but not its JSON, such as the order of keys"
ESTIMATE = "estimate, by the tokens of the texts"

Counting: TypeAlias = Callable[[str], int]
Offset: TypeAlias = tuple[int, int]
"""The index of a text, and of a character in it."""
Block: TypeAlias = tuple[object, bool]
"""The value by which a block is compared, and whether a cache mark ends the block."""


@attrs.frozen
class SharedPrefix:
    """The beginning that two prompts share, and what a prompt cache serves of it.

    All counts are tokens of the second prompt. ``shared`` are the tokens of the prefix, ``behind``
    those after it, ``served`` those that the cache of the provider serves. ``broken_by`` is the
    location of the text that ends the prefix; empty if nothing ends it. ``lost_marks`` are the
    locations of the cache marks of the first prompt that serve nothing any more, as a block before
    them has changed. ``label`` says how exact the tokens are. ``report`` is the report on the two
    requests, ``None`` for snapshots.

    >>> from promptdsl import Section, System, diff
    >>> old, new = (System(Section("role", "You help."), Section("tone", tone)) for tone in "ab")
    >>> print(diff(old, new).prefix)
    the shared prefix ends at `tone`: 7 of 11 tokens
    """

    shared: int
    behind: int
    served: int
    label: str
    broken_by: str = ""
    lost_marks: tuple[str, ...] = ()
    is_unseen: bool = False
    report: PrefixReport | None = attrs.field(default=None, eq=False, repr=False)

    @property
    def anew(self) -> int:
        """The tokens of the second prompt that no cache serves."""
        return self.shared + self.behind - self.served

    @property
    def cost(self) -> float:
        """The cost of the second prompt after the first, in tokens that are not cached."""
        return self.served * CACHED + self.shared + self.behind - self.served

    @property
    def is_complete(self) -> bool:
        """Whether the second prompt is shared completely, and no cache mark is lost."""
        return not self.broken_by and not self.lost_marks

    is_whole = OldAttribute("SharedPrefix.is_whole")

    def __str__(self) -> str:
        text = "the shared prefix is the whole prompt"
        if self.broken_by:
            text = f"the shared prefix ends at `{_last(self.broken_by)}`: "
            text += f"{self.shared:,} of {self.shared + self.behind:,} tokens"
            text += f" ({UNSEEN})" if self.is_unseen else ""
        if self.lost_marks:
            text += f"; the cached prefix up to `{_last(self.lost_marks[-1])}` is lost"
        if self.served < self.shared and not self.is_complete:
            served = f"{self.served:,} tokens" if self.served else "nothing"
            text += f"; {served} from the cache, {self.anew:,} billed in full"
        return text

    def to_dict(self) -> dict[str, Any]:  # Any: JSON data
        """Return the fields as JSON data."""
        fields = as_json(attrs.evolve(self, report=None))
        del fields["report"]
        return {**fields, "anew": self.anew, "cost": self.cost}


def _last(location: str) -> str:
    """Return the last name of a location; of text in no section, the name of its message."""
    return location.removesuffix(" > (no section)").rpartition(" > ")[2]


class ComparedRender:
    """A render as a side of diffs: its snapshot is made once, however many diffs it is in.

    >>> from promptdsl import System, diff, render
    >>> from promptdsl.comparing import ComparedRender
    >>> renders = [ComparedRender(render(System(text))) for text in ("Be brief.", "Be kind.")]
    >>> diff(*renders).sentence
    '`system` changed: 1 line'
    """

    def __init__(self, rendered: Rendered) -> None:
        self.rendered = rendered

    @cached_property
    def file(self) -> PromptFile:
        """The snapshot of the render."""
        return prompt_file(self.rendered)

    @cached_property
    def sent_file(self) -> PromptFile:
        """The snapshot with volatile values as they are sent."""
        masked = self.rendered.masked(lambda span: shown(span.text))
        if masked is self.rendered:
            return self.file
        return FileWriter(masked, ShownTexts({})).file(masked.tokens.total)


def prefix_of_requests(
    before: ComparedRender, after: ComparedRender, count: Counting
) -> SharedPrefix | None:
    """Return the shared prefix of two requests; ``None`` if their models differ."""
    estimate = prefix_of_files(before.sent_file, after.sent_file, count)
    if estimate is None:
        return None
    report = prefix_report(before.rendered, after.rendered)
    estimate = attrs.evolve(estimate, report=report)
    first = report.first
    broken_by = _broken_by(first, estimate)
    # The texts of a snapshot do not show the order of keys.
    is_unseen = first is not None and first.how == CHANGED
    is_unseen = is_unseen and broken_by not in (estimate.broken_by, first and first.path)
    if after.rendered.facts.provider is None and not is_unseen:
        return estimate
    return attrs.evolve(
        estimate,
        shared=report.shared,
        behind=report.behind,
        served=report.served,
        label=report.label,
        broken_by=broken_by,
        is_unseen=is_unseen,
    )


def _broken_by(first: Difference | None, estimate: SharedPrefix) -> str:
    """Return the location of the first difference, named as in snapshots."""
    if first is None:
        return ""
    is_tool = first.what.startswith("tool '")
    if is_tool and (first.how == CHANGED or not estimate.broken_by.startswith("tools > ")):
        return f"tools > tool {first.path}"
    return estimate.broken_by or first.path or first.what


@attrs.define
class SentText:
    """Neighbouring texts as one text; ``key`` is what is sent before them, such as a role."""

    key: str
    pieces: list[tuple[Location, str]] = attrs.field(factory=list[tuple[Location, str]])
    """The texts, each with its location."""
    ends: list[int] = attrs.field(factory=list[int])
    """The offset of each block except the first, in characters."""
    marks: list[tuple[Location, int]] = attrs.field(factory=list[tuple[Location, int]])
    """The cache marks: the location before each, and its offset in characters."""
    length: int = 0

    def add(self, location: Location, text: str, gap: str) -> None:
        """Add a text; a text after a gap begins a new block."""
        self.ends += [self.length] if gap else []
        self.pieces.append((location, gap + text))
        self.length += len(gap + text)

    @property
    def text(self) -> str:
        """The complete text."""
        return "".join([text for _, text in self.pieces])

    def location_at(self, offset: int) -> Location:
        """Return the location of a character; behind the end, that of the last character."""
        ends = [*accumulate(len(text) for _, text in self.pieces)]
        return self.pieces[min(bisect_right(ends, offset), len(ends) - 1)][0]


def _texts_of(entry: NamedEntry) -> Iterator[SentText]:
    # The ids of turns are not sent; the ids of calls and the names of speakers are.
    title = entry.title
    name = (
        title.kind if title.first_word in ("tool", "answer") else title.kind.partition(" named ")[2]
    )
    text = SentText(f"{title.sent_as} {name}")
    marks = {after: [*group] for after, group in groupby(entry.cache, lambda mark: mark.after)}
    gap, location = "", entry.location(-1)
    for number in range(-1, len(entry.parts)):
        if number >= 0:
            part, location = entry.parts[number], entry.location(number)
            if part.mark == TEXT:
                gap = GAP
            elif part.mark and not part.mark.startswith(WITHIN):
                if number:
                    yield text
                    text, gap = SentText(""), ""
                text.key += part.mark
            text.add(location, part.text, gap)
            gap = ""
        for mark in marks.get(number, ()):
            if NOT_SENT not in mark.mark:
                text.marks.append((location, text.length))
            # The text after a cache mark is in another block.
            if mark.text:
                text.add(location, mark.text, GAP)
            gap = "" if mark.text else GAP
    text.pieces = text.pieces or [(location, "")]
    yield text


def prefix_of_files(before: PromptFile, after: PromptFile, count: Counting) -> SharedPrefix | None:
    """Return the shared prefix of two snapshots, an estimate; ``None`` for two models."""
    if dict(before.header).get("model") != dict(after.header).get("model"):
        return None
    model, provider = target_of(after)
    rule = ModelFacts().cache_rule
    # A snapshot may name an unknown provider.
    with suppress(PromptError):
        rule = render(Prompt(), model=model, provider=provider).facts.cache_rule
    # In the order of a cache: tools, answer, system, messages.
    texts, new_texts = (
        [text for entry in named(file) for text in _texts_of(entry)] for file in (before, after)
    )
    counts = [count(text.key) + count(text.text) for text in new_texts]
    counted_in_all = sum(counts)
    stated = total_of(after)
    total = counted_in_all if stated is None else stated

    def tokens(offset: Offset) -> int:
        number, length = offset
        counted = sum(counts[:number])
        counted += count(new_texts[number].text[:length]) if length else 0
        # Tokens that are not text, such as a preface to tools, are mostly before the texts.
        return max(total - max(counted_in_all - counted, 0), 0) if counted else 0

    end = _end_of_shared(texts, new_texts)
    shared = total if end is None else tokens(end)
    (olds, old_ends), (news, new_ends) = _blocks(texts), _blocks(new_texts)
    equal, served = rule.equal_blocks(olds, news), rule.served_blocks(olds, news)
    marks = [(location, (n, at)) for n, text in enumerate(texts) for location, at in text.marks]
    lost = [" > ".join(location) for location, at in marks if bisect_left(old_ends, at) >= equal]
    cached = shared
    if rule.needs_marks:
        cached = min(tokens(new_ends[served - 1]), shared) if served else 0
    broken_by = "" if end is None else " > ".join(_breaking_location(texts, new_texts, end))
    served = rule.served_tokens(cached)
    return SharedPrefix(shared, total - shared, served, ESTIMATE, broken_by, tuple(lost))


def _blocks(texts: Sequence[SentText]) -> tuple[list[Block], list[Offset]]:
    """Return the blocks of texts, as a cache compares them, and the offset at which each ends."""
    blocks, offsets = list[Block](), list[Offset]()
    for number, text in enumerate(texts):
        content, marks, start = text.text, {at for _, at in text.marks}, 0
        for end in (*text.ends, len(content)):
            blocks.append(((text.key, content[start:end]), end in marks))
            offsets.append((number, end))
            start = end
    return blocks, offsets


def _end_of_shared(before: Sequence[SentText], after: Sequence[SentText]) -> Offset | None:
    """Return the offset of the first difference between two prompts; ``None`` if they are equal."""
    for number, (old, new) in enumerate(zip(before, after, strict=False)):
        if old.key != new.key:
            return number, 0
        if old.text != new.text:
            return number, equal_start(old.text, new.text)
    least = min(len(before), len(after))
    return None if len(before) == len(after) else (least, 0)


def _breaking_location(
    before: Sequence[SentText], after: Sequence[SentText], end: Offset
) -> Location:
    """Return the location where the shared prefix ends: of a removed text, or of the new text."""
    number, length = end
    old, new = (
        side[number].location_at(length) if number < len(side) else None for side in (before, after)
    )
    is_removed = not any(old == location for text in after for location, _ in text.pieces)
    return (old if new is None or is_removed else None) or new or ()
