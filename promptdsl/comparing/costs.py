"""What a difference costs: the tokens that are added, and the prefix that a cache can serve.

Tokens come first. In the second part read :class:`SharedPrefix` first. Two requests have an exact
prefix; for two snapshots :class:`ComparedTexts` estimates it.
"""

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
from promptdsl.comparing.changes import (
    HEADER,
    TEXT_SIGN,
    Change,
    Location,
    NamedEntry,
    named_entries,
)
from promptdsl.comparing.snapshot_file import (
    NOT_SENT,
    SECTION_SIGN,
    PromptFile,
    ShownTexts,
    with_brackets,
)
from promptdsl.foundation.old_names import OldAttribute
from promptdsl.foundation.unicode import equal_start

# The tokens of a diff: the totals of both prompts, and the tokens that each change adds.

_TOTAL = re.compile(r"(~?)([\d,]+) \((.+)\)")
_MODEL = re.compile(r"(.*?) ?(?:\((\w+)\))?")
_NOT_SENT = re.compile(r"^(?:──▶ |─▷ |─⚑|─= |─■ (?:image|audio|video|document|text)\b).*\n?", re.M)
"""A line of a snapshot that is not sent: a title, or the sign of a section, a cache mark, an
attachment or a text."""
_KIND = re.compile(r"^─■ ?\w*", re.MULTILINE)
"""The beginning of a sign. Its other words are sent: the name of a tool, the id of a call."""


@attrs.frozen
class TokenShift:
    """The tokens of two prompts, and how they were counted.

    The totals of rendered prompts are exact. The total of a snapshot is rounded, so ``added`` is
    the sum of the tokens that the changes add. ``None`` means that a total is not known. ``label``
    is how the second prompt was counted. ``label_before`` is how the first was counted, if that is
    different.

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
    """Return the totals of two prompts, rounded for snapshots.

    ``counted`` are the tokens that the changes add, counted for the model of the second prompt.
    """
    (before_rounded, old_total_label), (after_rounded, label) = map(_rounded_total, (before, after))
    old_label = old_total_label if label not in ("", old_total_label) else ""
    if before.total is None or after.total is None:
        # A snapshot has no volatile values, so the values of the other prompt must not count.
        return TokenShift(before_rounded, after_rounded, label, False, counted, old_label)
    added_tokens = counted if old_label else after.total - before.total
    return TokenShift(before.total, after.total, label, True, added_tokens, old_label)


def total_of(file: PromptFile) -> int | None:
    """Return the tokens of a prompt, rounded for a snapshot; ``None`` if they are not known."""
    return _rounded_total(file)[0] if file.total is None else file.total


def _rounded_total(file: PromptFile) -> tuple[int | None, str]:
    """Return the total in the header, and how it was counted; ``(None, "")`` if it has none."""
    total = _TOTAL.fullmatch(dict(file.header).get("tokens", ""))
    return (int(total[2].replace(",", "")), total[3]) if total else (None, "")


def target_of(file: PromptFile) -> tuple[str | None, ProviderName | None]:
    """Return the model and the provider in the header of a snapshot; ``None`` for a missing one."""
    target = _MODEL.fullmatch(dict(file.header).get("model", ""))
    model, name = target.groups() if target else (None, None)
    provider = None if name is None else ProviderId(name)
    return None if model in ("", "none") else model, provider


def tokens_of_change(change: Change, count: Callable[[str], int]) -> int:
    """Return the tokens of the texts that a change adds; negative if it removes more.

    Attachments are not counted, nor is what a request has around its messages.
    """
    if change.location[0] == HEADER or change.kind in ("role", "renamed", "cache"):
        return 0
    before, after = (
        # Lines that are not sent are left out.
        _KIND.sub("", _NOT_SENT.sub("", lines)) if "─" in lines else lines
        for lines in (change.before or "", change.after or "")
    )
    return count(after) - count(before)


def as_json(instance: attrs.AttrsInstance) -> dict[str, Any]:  # Any: JSON data
    """Return the fields of an instance as JSON data; a tuple becomes a list."""
    return attrs.asdict(
        instance, value_serializer=lambda _, __, field: [*field] if type(field) is tuple else field
    )


def change_json(change: Change) -> dict[str, Any]:  # Any: JSON data
    """Return a change as JSON data. ``place`` is the old name of ``location``."""
    return {**as_json(change), "place": [*change.location]}


# The shared prefix of two prompts: its length, what ends it, and how much a cache can serve.

DEFAULT_CACHE_RULE = ModelFacts().cache_rule
"""The cache rule for an unknown model."""
GAP = "\n\n"
"""The text between two blocks, with or without a cache mark between them."""
HOW_CHANGED = "changed"
"""``Difference.how`` of a part that is in both requests."""
WHY_UNSEEN = "its text is the same, but not its JSON, such as the order of keys"
ESTIMATE_LABEL = "estimate, by the tokens of the texts"

Counting: TypeAlias = Callable[[str], int]
Offset: TypeAlias = tuple[int, int]
"""The index of a text, and of a character in it."""
Block: TypeAlias = tuple[object, bool]
"""What two blocks are compared by, and whether a cache mark ends the block."""


@attrs.frozen
class SharedPrefix:
    """The beginning that two prompts share, and how much of it a prompt cache can serve.

    All counts are tokens of the second prompt. ``shared`` are the tokens of the prefix, ``behind``
    the tokens after it, ``served`` the tokens that come from the cache of the provider.
    ``broken_by`` is the location of the text that ends the prefix; empty if nothing ends it.
    ``lost_marks`` are the locations of cache marks of the first prompt: nothing is read from the
    cache up to them, because a block before them has changed. ``label`` says how exact the tokens
    are. ``report`` is the report on the two requests, ``None`` for snapshots.

    >>> from promptdsl import Section, System, diff
    >>> old, new = (System(Section("role", "You help."), Section("tone", tone)) for tone in "ab")
    >>> print(diff(old, new).prefix)
    the first difference is in `tone`, after 7 of 11 tokens
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
        """The tokens of the second prompt that are not read from the cache."""
        return self.shared + self.behind - self.served

    @property
    def cost(self) -> float:
        """The cost of the second prompt, sent after the first, in tokens at the full price."""
        return DEFAULT_CACHE_RULE.cost(self.served, self.shared + self.behind)

    @property
    def is_complete(self) -> bool:
        """Whether the second prompt is shared completely, and no cache mark is lost."""
        return not self.broken_by and not self.lost_marks

    is_whole = OldAttribute("SharedPrefix.is_whole")

    def __str__(self) -> str:
        text = "the shared prefix is the complete prompt"
        if self.broken_by:
            text = f"the first difference is in `{_last(self.broken_by)}`, "
            text += f"after {self.shared:,} of {self.shared + self.behind:,} tokens"
            text += f" ({WHY_UNSEEN})" if self.is_unseen else ""
        if self.lost_marks:
            text += f"; the cache up to `{_last(self.lost_marks[-1])}` is no longer valid"
        if self.served < self.shared and not self.is_complete:
            text += f"; {DEFAULT_CACHE_RULE.bill(self.served, self.shared + self.behind)}"
        return text

    def to_dict(self) -> dict[str, Any]:  # Any: JSON data
        """Return the fields as JSON data."""
        fields = as_json(attrs.evolve(self, report=None))
        del fields["report"]
        return {**fields, "anew": self.anew, "cost": self.cost}


def _last(location: str) -> str:
    """Return the last name of a location; for text outside of sections, the name of its message."""
    return location.removesuffix(" > (no section)").rpartition(" > ")[2]


class ComparedRender:
    """A render that may be in many diffs; its snapshot is made only once.

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
        """The snapshot with the texts of volatile values, as they are sent."""
        masked = self.rendered.masked(lambda span: with_brackets(span.text))
        if masked is self.rendered:
            return self.file
        return FileWriter(masked, ShownTexts({})).file(masked.tokens.total)


def prefix_of_requests(
    before: ComparedRender, after: ComparedRender, count: Counting
) -> SharedPrefix | None:
    """Return the shared prefix of two requests; ``None`` if their models differ.

    Without a provider it is estimated by the texts.
    """
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
    """Return the location of the first difference, as snapshots name it, and whether it is unseen.

    ``text`` is the location of the first text that differs between the snapshots. A difference is
    unseen if snapshots do not show it, such as the order of keys.
    """
    if first is None:
        return "", False
    broken_by, has_changed = text or first.path or first.what, first.how == HOW_CHANGED
    if first.what.startswith("tool '") and (has_changed or not text.startswith("tools > ")):
        broken_by = f"tools > tool {first.path}"
    return broken_by, has_changed and broken_by not in (text, first.path)


@attrs.define
class SentText:
    """Texts that follow each other, as one text; ``key`` is what is sent before, such as a role."""

    key: str
    pieces: list[tuple[Location, str]] = attrs.field(factory=list[tuple[Location, str]])
    """The texts, each with its location."""
    ends: list[int] = attrs.field(factory=list[int])
    """The offset at which each block but the last one ends, in characters."""
    cache_marks: list[tuple[Location, int]] = attrs.field(factory=list[tuple[Location, int]])
    """For each cache mark, the location of the text before it, and its offset in characters."""
    length: int = 0

    def add(self, location: Location, text: str, gap: str) -> None:
        """Add a text; with a gap before it, it begins a new block."""
        self.ends += [self.length] if gap else []
        self.pieces.append((location, gap + text))
        self.length += len(gap + text)

    @property
    def text(self) -> str:
        """The complete text."""
        return "".join([text for _, text in self.pieces])

    def location_at(self, offset: int) -> Location:
        """Return the location of a character; after the end, the location of the last text."""
        ends = [*accumulate(len(text) for _, text in self.pieces)]
        return self.pieces[min(bisect_right(ends, offset), len(ends) - 1)][0]


def _texts_of(named_entry: NamedEntry) -> Iterator[SentText]:
    """Yield the texts of an entry; each block that is not a text begins a new one."""
    # The key has what is sent: the ids of results, the names of speakers and of the output schema,
    # but no ids of turns.
    title = named_entry.title
    name = (
        title.kind if title.first_word in ("tool", "answer") else title.kind.partition(" named ")[2]
    )
    text = SentText(f"{title.sent_as} {name}")
    by_part = groupby(named_entry.cache_marks, lambda cache_mark: cache_mark.part_index)
    marks_by_part = {part_index: [*cache_marks] for part_index, cache_marks in by_part}
    gap, location = "", named_entry.location(-1)
    for index in range(-1, len(named_entry.parts)):
        if index >= 0:
            part, location = named_entry.parts[index], named_entry.location(index)
            if part.sign == TEXT_SIGN:
                gap = GAP
            elif part.sign and not part.sign.startswith(SECTION_SIGN):
                if index:  # not the first part, which continues the text of the title
                    yield text
                    text, gap = SentText(""), ""
                text.key += part.sign
            text.add(location, part.text, gap)
            gap = ""
        for cache_mark in marks_by_part.get(index, ()):
            if NOT_SENT not in cache_mark.sign:
                text.cache_marks.append((location, text.length))
            # The text below a cache mark is in another block.
            if cache_mark.text:
                text.add(location, cache_mark.text, GAP)
            gap = "" if cache_mark.text else GAP
    text.pieces = text.pieces or [(location, "")]
    yield text


def prefix_of_files(before: PromptFile, after: PromptFile, count: Counting) -> SharedPrefix | None:
    """Return an estimate of the shared prefix of two snapshots; ``None`` if their models differ."""
    if _model_of(before) != _model_of(after):
        return None
    return ComparedTexts.of(before, after).estimate(after, count)


def _model_of(file: PromptFile) -> str | None:
    return dict(file.header).get("model")


@attrs.define(slots=False)
class ComparedTexts:
    """The texts of two snapshots, in the order in which a cache compares them.

    ``end`` is the offset of the first difference, ``None`` for equal prompts. ``facts`` are the
    facts about the model of the second prompt.
    """

    before: list[SentText]
    after: list[SentText]
    facts: ModelFacts
    end: Offset | None

    @classmethod
    def of(cls, before: PromptFile, after: PromptFile) -> "ComparedTexts":
        """Compare two snapshots."""
        # A cache and a snapshot have the same order: tools, answer, system, messages.
        texts, new_texts = (
            [text for named_entry in named_entries(file) for text in _texts_of(named_entry)]
            for file in (before, after)
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
        """The locations of the cache marks of the first prompt after a block that has changed."""
        old_blocks, new_blocks = self.blocks
        equal = self.facts.cache_rule.equal_blocks(old_blocks.blocks, new_blocks.blocks)
        return tuple(
            " > ".join(location)
            for text_index, text in enumerate(self.before)
            for location, offset in text.cache_marks
            # The block that ends at the cache mark is not one of the equal blocks at the beginning.
            if bisect_left(old_blocks.ends, (text_index, offset)) >= equal
        )

    def estimate(self, after: PromptFile, count: Counting) -> SharedPrefix:
        """Return the shared prefix; its tokens are estimated by counting the texts."""
        counts = [count(text.key) + count(text.text) for text in self.after]
        counted_in_all = sum(counts)
        total = total_of(after)
        if total is None:
            total = counted_in_all

        def tokens(offset: Offset) -> int:
            text_index, length = offset
            counted = sum(counts[:text_index])
            if length:
                counted += count(self.after[text_index].text[:length])
            # Tokens that are in no text, such as a preface to tools, are mostly before the texts.
            return max(total - max(counted_in_all - counted, 0), 0) if counted else 0

        shared = total if self.end is None else tokens(self.end)
        rule, cached = self.facts.cache_rule, shared
        if rule.needs_marks:
            old_blocks, new_blocks = self.blocks
            block_count = rule.served_blocks(old_blocks.blocks, new_blocks.blocks)
            cached = min(tokens(new_blocks.ends[block_count - 1]), shared) if block_count else 0
        tokens_from_cache = rule.served_tokens(cached)
        label, tokens_after = ESTIMATE_LABEL, total - shared
        return SharedPrefix(
            shared, tokens_after, tokens_from_cache, label, self.broken_by, self.lost_marks
        )


class Blocks(NamedTuple):
    """The blocks of texts, as a cache compares them, and the offset at which each ends."""

    blocks: list[Block]
    ends: list[Offset]


def _blocks(texts: Sequence[SentText]) -> Blocks:
    """Return the blocks of texts: each cache mark and each gap ends a block."""
    blocks = Blocks([], [])
    for text_index, text in enumerate(texts):
        content, mark_offsets, start = text.text, {offset for _, offset in text.cache_marks}, 0
        for end in (*text.ends, len(content)):
            blocks.blocks.append(((text.key, content[start:end]), end in mark_offsets))
            blocks.ends.append((text_index, end))
            start = end
    return blocks


def _end_of_shared(before: Sequence[SentText], after: Sequence[SentText]) -> Offset | None:
    """Return the offset of the first difference between two prompts; ``None`` if they are equal."""
    old_texts, new_texts = ([(text.key, text.text) for text in texts] for texts in (before, after))
    index = equal_start(old_texts, new_texts)
    if index == len(before) == len(after):
        return None
    if index in (len(before), len(after)) or before[index].key != after[index].key:
        return index, 0
    return index, equal_start(before[index].text, after[index].text)


def _breaking_location(
    before: Sequence[SentText], after: Sequence[SentText], end: Offset
) -> Location:
    """Return the location where the shared prefix ends: of a removed text, else of the new text."""
    index, length = end
    if index == len(before):
        return after[index].location_at(length)
    old = before[index].location_at(length)
    is_removed = not any(old == location for text in after for location, _ in text.pieces)
    if is_removed or index == len(after):
        return old
    return after[index].location_at(length)
