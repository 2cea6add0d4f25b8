"""What a difference costs: the tokens that are added, and the prefix that a cache serves."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import accumulate, groupby
from typing import Any, NamedTuple, TypeAlias

import attrs

from promptdsl import (
    Difference,
    ModelFacts,
    PrefixReport,
    Prompt,
    PromptError,
    ProviderId,
    ProviderName,
    Rendered,
    prefix_report,
    render,
)
from promptdsl.comparing.canonical import FileWriter, prompt_file
from promptdsl.comparing.changes import HEADER, TEXT, Change, Location, NamedEntry, named
from promptdsl.comparing.snapshot_file import NOT_SENT, WITHIN, PromptFile, ShownTexts, shown
from promptdsl.foundation.old_names import OldAttribute
from promptdsl.foundation.unicode import equal_start

# The tokens of a diff: the totals of both prompts, and the tokens that each change adds.

_TOTAL = re.compile(r"(~?)([\d,]+) \((.+)\)")
_MODEL = re.compile(r"(.*?) ?(?:\((\w+)\))?")
_NOT_SENT = re.compile(r"^(?:──▶ |─▷ |─⚑|─= |─■ (?:image|audio|video|document|text)\b).*\n?", re.M)
"""A line of a file that is not text: a title, a section, a cache mark or an attachment."""
_KIND = re.compile(r"^─■ ?\w*", re.MULTILINE)
"""The kind of a block; the words after it are sent: the name of a tool, the id of a call."""


@attrs.frozen
class TokenShift:
    """The tokens of two prompts, and how those of the second were counted.

    They are exact for rendered prompts. The total of a snapshot is rounded, so ``added`` is the sum
    of the tokens that its changes add. ``None`` means that a total is not known. ``label_before``
    is how the first prompt was counted, if it was counted in another way.

    >>> from promptdsl import System, diff
    >>> print(diff(System("Be brief."), System("Be very brief, and kind.")).tokens)
    8 -> 12 tokens, +4 (o200k_base)
    """

    before: int | None
    after: int | None
    label: str
    is_exact: bool
    added: int
    label_before: str = ""

    def __str__(self) -> str:
        if self.before is None and self.after is None:
            return ""
        sign = "" if self.is_exact else "~"
        totals = ["?" if n is None else f"{sign}{n:,}" for n in (self.before, self.after)]
        if self.label_before:
            return f"{totals[0]} tokens ({self.label_before}) -> {totals[1]} ({self.label})"
        text = f"{' -> '.join(dict.fromkeys(totals))} tokens"
        text += f", {self.added:+,}" if self.added else ""
        return text + (f" ({self.label})" if self.label else "")


def tokens_of(before: PromptFile, after: PromptFile, counted: int) -> TokenShift:
    """Return the totals of two prompts; those of snapshots are rounded.

    ``counted`` are the tokens that the changes add, counted for the model of the second prompt.
    """
    (before_rounded, old), (after_rounded, label) = map(_rounded_total, (before, after))
    other = old if label not in ("", old) else ""
    if before.total is None or after.total is None:
        # A snapshot has no volatile values, so the values of the other prompt do not count either.
        return TokenShift(before_rounded, after_rounded, label, False, counted, other)
    added = counted if other else after.total - before.total
    return TokenShift(before.total, after.total, label, True, added, other)


def total_of(file: PromptFile) -> int | None:
    """Return the tokens of a prompt, rounded for a snapshot; ``None`` if they are not known."""
    return _rounded_total(file)[0] if file.total is None else file.total


def _rounded_total(file: PromptFile) -> tuple[int | None, str]:
    """Return the total in the header, and how it was counted."""
    total = _TOTAL.fullmatch(dict(file.header).get("tokens", ""))
    return (int(total[2].replace(",", "")), total[3]) if total else (None, "")


def target_of(file: PromptFile) -> tuple[str | None, ProviderName | None]:
    """Return the model and the provider that a snapshot names."""
    target = _MODEL.fullmatch(dict(file.header).get("model", ""))
    model, name = target.groups() if target else (None, None)
    provider = None if name is None else ProviderId(name)
    return None if model in ("", "none") else model, provider


def tokens_of_change(change: Change, count: Callable[[str], int]) -> int:
    """Return the tokens of the texts that a change adds; negative if it removes more.

    Attachments and the frame of a request around its messages are not counted.
    """
    if change.location[0] == HEADER or change.kind in ("role", "renamed", "cache"):
        return 0
    before, after = (
        # Lines that are not sent are removed.
        _KIND.sub("", _NOT_SENT.sub("", lines)) if "─" in lines else lines
        for lines in (change.before or "", change.after or "")
    )
    return count(after) - count(before)


def as_json(value: attrs.AttrsInstance) -> dict[str, Any]:  # Any: JSON data
    """Return the fields of a value as JSON data."""
    return attrs.asdict(
        value, value_serializer=lambda _, __, field: [*field] if type(field) is tuple else field
    )


def change_json(change: Change) -> dict[str, Any]:  # Any: JSON data
    """Return a change as JSON data. ``place`` is the old name of ``location``."""
    return {**as_json(change), "place": [*change.location]}


# The shared prefix of two prompts: how long it is, what ends it, and what a cache serves of it.

CACHE = ModelFacts().cache_rule
"""The rule of a cache that is not known."""
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
        return CACHE.cost(self.served, self.shared + self.behind)

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
            text += f"; {CACHE.bill(self.served, self.shared + self.behind)}"
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
    files = before.sent_file, after.sent_file
    if _model_of(files[0]) != _model_of(files[1]):
        return None
    report = prefix_report(before.rendered, after.rendered)
    texts = ComparedTexts.of(*files)
    broken_by, is_unseen = _broken_by(report.first, texts.broken_by)
    if after.rendered.facts.provider is None and not is_unseen:
        return attrs.evolve(texts.estimate(files[1], count), report=report)
    return SharedPrefix(
        report.shared,
        report.behind,
        report.served,
        report.label,
        broken_by,
        texts.lost_marks,
        is_unseen,
        report,
    )


def _broken_by(first: Difference | None, text: str) -> tuple[str, bool]:
    """Return the location of the first difference, named as in snapshots, and whether it is unseen.

    ``text`` is the location of the first text that differs. A snapshot does not show the order of
    keys.
    """
    if first is None:
        return "", False
    broken_by, has_changed = text or first.path or first.what, first.how == CHANGED
    if first.what.startswith("tool '") and (has_changed or not text.startswith("tools > ")):
        broken_by = f"tools > tool {first.path}"
    return broken_by, has_changed and broken_by not in (text, first.path)


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
    if _model_of(before) != _model_of(after):
        return None
    return ComparedTexts.of(before, after).estimate(after, count)


def _model_of(file: PromptFile) -> str | None:
    return dict(file.header).get("model")


@attrs.define(slots=False)
class ComparedTexts:
    """The texts of two snapshots in the order of a cache, and how much of them is equal.

    ``end`` is the offset of the first difference, ``None`` for equal prompts. ``facts`` are those
    of the model of the second prompt.
    """

    before: list[SentText]
    after: list[SentText]
    facts: ModelFacts
    end: Offset | None

    @classmethod
    def of(cls, before: PromptFile, after: PromptFile) -> "ComparedTexts":
        """Compare two snapshots."""
        # In the order of a cache: tools, answer, system, messages.
        texts, new_texts = (
            [text for entry in named(file) for text in _texts_of(entry)] for file in (before, after)
        )
        model, provider = target_of(after)
        facts = ModelFacts()
        # A snapshot may name an unknown provider.
        with suppress(PromptError):
            facts = render(Prompt(), model=model, provider=provider).facts
        return cls(texts, new_texts, facts, _end_of_shared(texts, new_texts))

    @cached_property
    def blocks(self) -> "tuple[Blocks, Blocks]":
        """The blocks of both prompts."""
        return _blocks(self.before), _blocks(self.after)

    @property
    def broken_by(self) -> str:
        """The location of the text that ends the shared prefix; empty if nothing ends it."""
        if self.end is None:
            return ""
        return " > ".join(_breaking_location(self.before, self.after, self.end))

    @property
    def lost_marks(self) -> tuple[str, ...]:
        """The locations of the cache marks of the first prompt that serve nothing any more."""
        olds, news = self.blocks
        equal = self.facts.cache_rule.equal_blocks(olds.blocks, news.blocks)
        return tuple(
            " > ".join(location)
            for number, text in enumerate(self.before)
            for location, offset in text.marks
            if bisect_left(olds.ends, (number, offset)) >= equal
        )

    def estimate(self, after: PromptFile, count: Counting) -> SharedPrefix:
        """Return the shared prefix with its tokens, counted by the texts."""
        counts = [count(text.key) + count(text.text) for text in self.after]
        counted_in_all = sum(counts)
        total = total_of(after)
        if total is None:
            total = counted_in_all

        def tokens(offset: Offset) -> int:
            number, length = offset
            counted = sum(counts[:number])
            if length:
                counted += count(self.after[number].text[:length])
            # Tokens that are not text, such as a preface to tools, are mostly before the texts.
            return max(total - max(counted_in_all - counted, 0), 0) if counted else 0

        shared = total if self.end is None else tokens(self.end)
        rule, cached = self.facts.cache_rule, shared
        if rule.needs_marks:
            olds, news = self.blocks
            number = rule.served_blocks(olds.blocks, news.blocks)
            cached = min(tokens(news.ends[number - 1]), shared) if number else 0
        served = rule.served_tokens(cached)
        label, behind = ESTIMATE, total - shared
        return SharedPrefix(shared, behind, served, label, self.broken_by, self.lost_marks)


class Blocks(NamedTuple):
    """The blocks of texts, as a cache compares them, and the offset at which each ends."""

    blocks: list[Block]
    ends: list[Offset]


def _blocks(texts: Sequence[SentText]) -> Blocks:
    blocks = Blocks([], [])
    for number, text in enumerate(texts):
        content, marks, start = text.text, {offset for _, offset in text.marks}, 0
        for end in (*text.ends, len(content)):
            blocks.blocks.append(((text.key, content[start:end]), end in marks))
            blocks.ends.append((number, end))
            start = end
    return blocks


def _end_of_shared(before: Sequence[SentText], after: Sequence[SentText]) -> Offset | None:
    """Return the offset of the first difference between two prompts; ``None`` if they are equal."""
    olds, news = ([(text.key, text.text) for text in side] for side in (before, after))
    number = equal_start(olds, news)
    if number == len(before) == len(after):
        return None
    if number in (len(before), len(after)) or before[number].key != after[number].key:
        return number, 0
    return number, equal_start(before[number].text, after[number].text)


def _breaking_location(
    before: Sequence[SentText], after: Sequence[SentText], end: Offset
) -> Location:
    """Return the location where the shared prefix ends: of a removed text, or of the new text."""
    number, length = end
    if number == len(before):
        return after[number].location_at(length)
    old = before[number].location_at(length)
    is_removed = not any(old == location for text in after for location, _ in text.pieces)
    if is_removed or number == len(after):
        return old
    return after[number].location_at(length)
