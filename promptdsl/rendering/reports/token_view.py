"""The tokens of a request: the report ``rendered.tokens``, and its text with rows of parts.

First comes :class:`TokenView`, the text; then :class:`TokenReport`, which a user gets; last
``total_of``, which counts the total.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from textwrap import wrap
from types import MappingProxyType
from typing import NamedTuple

import attrs

from promptdsl.budget.dropped import AUTHOR_WORDS, named
from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.errors import counted
from promptdsl.foundation.json import JsonDict
from promptdsl.foundation.old_names import OldAttribute
from promptdsl.foundation.source import Source
from promptdsl.foundation.unicode import (
    columns,
    cut_to,
    file_columns,
    fitted_source,
    on_one_line,
    terminal_width,
)
from promptdsl.rendering.measure import definition_tokens
from promptdsl.rendering.reports.cache_order import Payload
from promptdsl.rendering.reports.cards import BudgetUse, eighths
from promptdsl.rendering.reports.dropped_parts import PlacedPart, nested, placed_parts, with_dropped
from promptdsl.rendering.reports.report_input import ReportInput
from promptdsl.rendering.reports.token_parts import Ledger, TokenPart, span_tokens
from promptdsl.tokens import Count, Tokens
from promptdsl.tokens.count import EXACT
from promptdsl.tokens.payloads import (
    REPLY,
    TARGET_FORMAT,
    entry_tokens,
    has_media,
    label_of,
    message_tokens,
)

# Text, terminals and notebooks show the same rows: ``token_rows`` chooses them.

MAX_ROWS = 20
"""The maximum number of rows of parts that are shown."""
MAX_DROPPED_ROWS = 6
"""The maximum number of rows of dropped parts among them."""
BAR_COLUMNS = 10
"""The width of the bar for a share of 100 %, in characters."""
_GAP = "  "
"""The space between two columns of a row."""
_SHARE_COLUMNS = len("100.0%")
_SHARE_AND_BAR_COLUMNS = _SHARE_COLUMNS + len(_GAP) + BAR_COLUMNS
"""The width of the share and the bar of a row; a dropped part has the word "dropped" there."""
MAX_INDENTED_LEVEL = 40
"""The deepest level that is indented more, so that the output does not grow quadratically."""
MAX_NAME_COLUMNS = 60
"""The maximum width of the column of names, in columns of a terminal."""
MIN_SOURCE_COLUMNS = 18
"""The columns of a terminal that are reserved for the source of a row, if it needs so many."""
MAX_FRAME_TOKENS = 8
"""So few tokens around a part are only its frame or title, not a text of their own."""
ASSUMED_SIZE = "size not known: the largest is assumed"
"""The note on a part with a picture whose size is not known."""


class TokenRow(NamedTuple):
    """A row of a view: a part, or several nested parts that share the row.

    ``note`` is the reason why a part was dropped, or how the size of a picture was counted.
    """

    depth: int
    name: str
    tokens: int
    source: str
    note: str
    is_dropped: bool


@attrs.frozen(eq=False)
class TokenView:
    """What views show of the tokens of a request; ``parts`` are all of its parts."""

    total: int
    label: str
    typical: int | None
    savings: str
    budget: BudgetUse | None
    parts: Sequence[TokenPart]
    notes: Sequence[str] = ()
    """A line for each dropped part with a note: its name, and the note of ``Dropped``."""

    def size(self) -> str:
        """Return the total in words, with "about" for an estimate."""
        if not self.label.startswith("estimate"):
            return f"{self.total:,} tokens: {on_one_line(self.label)}"
        if self.typical is None:
            return f"about {self.total:,} tokens"
        return f"about {self.typical:,} tokens (counted as {self.total:,}, with a margin)"

    def tokens_by_tool(self) -> Mapping[str, int]:
        """Return the tokens of each tool by its name."""
        tools = (part for part in self.parts if part.depth == 1 and part.message is None)
        return {part.path: part.tokens for part in tools if part.path and part.dropped is None}

    def text(
        self,
        parts: Sequence[TokenPart] | None = None,
        *,
        most: int | None = MAX_ROWS,
        width: int | None = None,
        strike: bool = False,
    ) -> str:
        """Return the budget, the total, and the rows of ``parts`` (by default of all parts).

        Rows fit ``width`` columns: paths are first cut at their left, then left out. Without it,
        nothing is cut. With ``strike``, the names of dropped parts are struck through (with the
        codes of a terminal).
        """
        lines = [] if self.budget is None else [self.budget.line(), self.budget.bar()]
        lines.append(self.size())
        rows, rest = token_rows(self.parts if parts is None else parts, most)
        if rows:
            lines += ["", *_row_lines(rows, self.total, width, strike=strike)]
        number_width = max((len(f"{row.tokens:,}") for row in rows), default=0)
        lines += [f"{'…':>{number_width}}  {line}" for line in rest]
        dropped = [part.tokens for part in self.parts if part.dropped is not None]
        count = counted(len(dropped), "part", "parts")
        last_lines = [f"{sum(dropped):,} tokens were dropped in {count}"] if dropped else []
        last_lines += [*map(on_one_line, self.notes), *([self.savings] if self.savings else [])]
        return "\n".join([*lines, *([""] if last_lines and rows else []), *last_lines])


def token_rows(
    parts: Sequence[TokenPart], limit: int | None = MAX_ROWS
) -> tuple[list[TokenRow], list[str]]:
    """Return the rows of the largest parts in document order, and lines about all other parts.

    A part shares its row with the only part in it, if that one has nearly all of its tokens. Parts
    without tokens are left out.
    """
    groups = _grouped(parts)
    chosen = {-1, *_chosen(groups, limit)}
    rows: list[TokenRow] = []
    sizes: list[int] = []
    dropped_sizes: list[int] = []
    depths: dict[int, int] = {-1: 0}
    for index, group in enumerate(groups):
        # The depth of a row is the number of shown rows around it.
        depth = depths[group.parent]
        depths[index] = depth + (index in chosen)
        if index in chosen:
            rows.append(group.row(depth))
        elif group.is_dropped:
            dropped_sizes.append(group.tokens)
        elif group.parent in chosen:
            sizes.append(group.tokens)
    lines = [f"{len(sizes):,} more: {sum(sizes):,}, largest {max(sizes):,}"] if sizes else []
    if dropped_sizes:
        largest = max(dropped_sizes)
        lines.append(
            f"{len(dropped_sizes):,} more dropped: {sum(dropped_sizes):,}, largest {largest:,}"
        )
    return rows, lines


@attrs.define(eq=False)
class _Group:
    """Parts that share a row, the outermost first; ``parent`` is the index of the group around."""

    parts: list[TokenPart]
    names: list[str]
    parent: int

    @property
    def tokens(self) -> int:
        return self.parts[0].tokens

    @property
    def is_dropped(self) -> bool:
        return self.parts[0].dropped is not None

    def row(self, depth: int) -> TokenRow:
        """Return the row of the parts."""
        names, innermost = self.names, self.parts[-1]
        if len(names) > 3:  # the outermost and the innermost part say the most
            names = [names[0], "…", names[-1]]
        if any(part.assumed for part in self.parts):
            note = f"({ASSUMED_SIZE})"
        else:
            note = on_one_line(innermost.dropped or "")
        source = on_one_line(str(innermost.source or ""))
        return TokenRow(depth, " > ".join(names), self.tokens, source, note, self.is_dropped)


def _grouped(parts: Sequence[TokenPart]) -> list[_Group]:
    """Return the parts in groups, one for each row, in document order."""
    is_kept = [part.tokens > 0 or part.dropped is not None for part in parts]
    parents = _kept_parents(parts, is_kept)
    only_children = _only_children(parents, is_kept)
    groups: list[_Group] = []
    group_of = {-1: -1}
    for index, (part, name) in enumerate(zip(parts, _part_names(parts), strict=True)):
        parent = parents[index]
        parent_group = group_of[parent]
        if not is_kept[index]:
            group_of[index] = parent_group
            if part.cache and groups:
                # The cache mark of a breakpoint is shown at the part before it.
                groups[-1].names[-1] += _cached(part)
            continue
        is_only = only_children[parent] == index and part.dropped is None
        if is_only and parent_group >= 0 and _is_nearly_all(part, parts[parent]):
            groups[parent_group].parts.append(part)
            groups[parent_group].names.append(name)
            group_of[index] = parent_group
        else:
            group_of[index] = len(groups)
            groups.append(_Group([part], [name], parent_group))
    return groups


def _kept_parents(parts: Sequence[TokenPart], is_kept: Sequence[bool]) -> list[int]:
    """Return, for each part, the index of the part around it that is not left out, or -1."""
    parents, _ = nested([part.depth for part in parts])
    for index, parent in enumerate(parents):
        # If the part around it is left out, take the part around that one.
        if parent >= 0 and not is_kept[parent]:
            parents[index] = parents[parent]
    return parents


def _only_children(parents: Sequence[int], is_kept: Sequence[bool]) -> dict[int, int]:
    """Return, by parent, the index of its only child that is not left out, or -1 for several."""
    only_children: dict[int, int] = {}
    for index, parent in enumerate(parents):
        if is_kept[index]:
            only_children[parent] = -1 if parent in only_children else index
    return only_children


def _is_nearly_all(part: TokenPart, outer: TokenPart) -> bool:
    """Return whether ``outer`` has no or little text besides the part in it."""
    return outer.dropped is None and outer.tokens - part.tokens <= max(
        MAX_FRAME_TOKENS, outer.tokens / 10
    )


def _chosen(groups: Sequence[_Group], limit: int | None) -> set[int]:
    """Return the indices of at most ``limit`` groups that are shown.

    These are the largest dropped groups, and the largest groups that are sent, with the groups
    around them.
    """
    if limit is None or len(groups) <= limit:
        return {*range(len(groups))}
    dropped = [index for index, group in enumerate(groups) if group.is_dropped]
    dropped_limit = min(MAX_DROPPED_ROWS, limit)
    chosen = {*sorted(dropped, key=lambda index: -groups[index].tokens)[:dropped_limit]}
    sizes: dict[int, int] = {}  # in tokens, by the index of a group
    for index, group in enumerate(groups):
        if not group.is_dropped:
            # No group counts as larger than the group around it: so that one is chosen first.
            sizes[index] = min(group.tokens, sizes.get(group.parent, group.tokens))
    largest = sorted(sizes, key=lambda index: -sizes[index])
    return chosen | {*largest[: limit - len(chosen)]}


def _part_names(parts: Sequence[TokenPart]) -> Iterator[str]:
    """Yield the names of parts, with the address if the name does not contain it."""
    paths: list[str] = []
    for part in parts:
        del paths[part.depth :]
        parent = paths[-1] if paths else ""
        paths.append(part.path)
        # These names say enough without the address: ``system turn``, ``section role``, and those
        # that end with the name of a tool in quotes, such as ``call 'search'``.
        has_name = part.what.startswith(("system ", "section ")) or part.what.endswith("'")
        if has_name or part.path in ("", parent, part.what):
            name = part.what
        elif part.what in AUTHOR_WORDS:
            name = named(part.what, part.path)
        else:
            name = f"{part.what} {part.path}"
        yield on_one_line(name) + _cached(part)


def _cached(part: TokenPart) -> str:
    if part.cache is None:
        return ""
    return " [cached]" if part.cache == "default" else f" [cached for {part.cache}]"


def _cut_name(name: str, width: int) -> str:
    """Return a name of at most ``width`` columns; its cache mark is kept."""
    start, bracket, cache_mark = name.rpartition(" [")
    # At least one character of the name, ``…`` and the bracket must fit before the cache mark.
    if columns(name) <= width or not cache_mark.startswith("cached") or len(cache_mark) + 4 > width:
        return cut_to(name, width)
    return cut_to(start, width - len(bracket + cache_mark)) + bracket + cache_mark


def _row_lines(
    rows: Sequence[TokenRow], total: int, width: int | None, *, strike: bool
) -> Iterator[str]:
    """Yield rows as lines of text: the tokens, the share, a bar, the name, the source, the note."""
    names = ["  " * min(row.depth, MAX_INDENTED_LEVEL) + row.name for row in rows]
    number_width = max(len(f"{row.tokens:,}") for row in rows)
    name_start = number_width + len(_GAP) + _SHARE_AND_BAR_COLUMNS + len(_GAP)
    name_width = min(max(map(columns, names)), MAX_NAME_COLUMNS)
    if width is not None:
        source_width = min(file_columns(row.source for row in rows), MIN_SOURCE_COLUMNS)
        # On a narrow terminal a name still has 12 columns, so that it can be recognised.
        name_width = min(name_width, max(width - name_start - len(_GAP) - source_width, 12))
        # If nothing follows the name, it may be as wide as the rest of the line.
        widths = [name_width if row.source or row.note else width - name_start for row in rows]
        names = [
            _cut_name(name, name_limit) for name, name_limit in zip(names, widths, strict=True)
        ]
    for row, name in zip(rows, names, strict=True):
        padded = name + " " * (name_width - columns(name))
        if row.is_dropped:
            share_and_bar = f"{'dropped':<{_SHARE_AND_BAR_COLUMNS}}"
            if strike:
                padded = padded.replace(name.strip(), f"\x1b[9m{name.strip()}\x1b[29m")
        else:
            share = row.tokens / total if total else 0
            share_and_bar = f"{share:>{_SHARE_COLUMNS}.1%}{_GAP}{eighths(share, BAR_COLUMNS)}"
        begin = _GAP.join((f"{row.tokens:>{number_width},}", share_and_bar, padded))
        if width is None:
            yield _line(begin, row.source, row.note)
        else:
            free_columns = max(width - name_start - name_width - len(_GAP), 0)
            yield from _fitted_lines(
                begin, row, free_columns=free_columns, indent=name_start, width=width
            )


def _fitted_lines(
    begin: str, row: TokenRow, *, free_columns: int, indent: int, width: int
) -> Iterator[str]:
    """Yield the line of a row; its source and its note must fit into ``free_columns``.

    A note that does not fit has lines of its own, below the name.
    """
    source_columns = free_columns - len(_GAP) - columns(row.note)
    if columns(row.source) <= source_columns:
        yield _line(begin, fitted_source(row.source, source_columns), row.note)
        return
    yield _line(begin, fitted_source(row.source, free_columns))
    if row.note:
        margin = " " * min(indent, width // 2)
        note_width = width - len(margin)
        if not row.note.isascii():
            # Characters of other scripts may be two columns wide.
            note_width //= 2
        yield from (f"{margin}{line}" for line in wrap(row.note, note_width))


def _line(*texts: str) -> str:
    """Return the texts of a row as a line; empty texts are left out."""
    return _GAP.join(filter(None, texts)).rstrip()


# A record has its parts as JSON: dictionaries with the fields of ``TokenPart``.


def shown_parts(
    parts: Sequence[JsonDict], *, depth: int | None, largest_first: bool
) -> list[JsonDict]:
    """Return the parts of a record down to ``depth`` levels, in document order.

    With ``largest_first``, siblings are sorted by their tokens, the largest first; dropped parts
    come last.
    """
    if largest_first:
        children: dict[int, list[int]] = {}
        parents, _ = nested([part["depth"] for part in parts])
        for index, parent in enumerate(parents):
            children.setdefault(parent, []).append(index)
        ordered: list[int] = []
        index_stack = [-1]
        while index_stack:
            index = index_stack.pop()
            ordered.append(index)
            # ``pop`` takes the last index first: so dropped and small parts are first in the stack.
            sort_keys = sorted(
                ("dropped" not in parts[n], parts[n]["tokens"], -n) for n in children.get(index, ())
            )
            index_stack += [-negative_index for _, _, negative_index in sort_keys]
        parts = [parts[index] for index in ordered[1:]]
    return [part for part in parts if depth is None or part["depth"] < depth]


class TokenReport:
    """The tokens of a request and its parts; an estimate is rounded up, to be on the safe side.

    ``total`` is counted at once, everything else when it is first read. ``str(report)`` shows
    the budget, the largest parts and the dropped parts; on a terminal, its lines fit the width.

    >>> from promptdsl import Timeline, User, render
    >>> report = render(Timeline(User("One two.")), counter=lambda text: len(text.split())).tokens
    >>> report.total, report.messages
    (9, (6,))
    >>> [(part.what, part.tokens) for part in report.parts]
    [('user turn', 6), ("the target's format", 3)]
    """

    total: int
    """The tokens of the complete request, as it is sent."""

    def __init__(self, report_input: ReportInput) -> None:
        self._report_input = report_input
        self._tokens = report_input.tokens
        self.total = report_input.total()

    @cached_property
    def label(self) -> str:
        """How exact the total is: ``"exact text, estimated frame"``, or how it was estimated."""
        return _total(self._report_input, self._tokens)[1]

    @property
    def method(self) -> str:
        """The tokenizer, and its factor if it has one: ``"o200k_base x 1.35"``."""
        return self._tokens.method

    @cached_property
    def typical(self) -> int | None:
        """The usual count of an estimate if it is less than ``total``, otherwise ``None``."""
        usual = _total(self._report_input, _TypicalTokens(self._tokens))[0]
        return usual if usual < self.total else None

    @cached_property
    def messages(self) -> tuple[int, ...]:
        """The tokens of each message, its frame included."""
        return self._report_input.counts()

    @cached_property
    def tools(self) -> int:
        """The tokens of the tools and the output schema that are sent."""
        return definition_tokens(
            self._report_input.equipped, self._tokens, self._report_input.facts
        )

    @property
    def frame(self) -> int:
        """The tokens of the target's own text, such as the frame of the reply.

        A negative number is what the target saves, for example because it joins messages. Then
        ``parts`` leaves it out.
        """
        return self.total - sum(self.messages) - self.tools

    # The old name of ``frame``.
    form = OldAttribute("TokenReport.form")

    @property
    def savings(self) -> str:
        """The tokens that the target's own text saves, in words; ``""`` if it saves nothing."""
        return f"{TARGET_FORMAT} saves {-self.frame:,} tokens" if self.frame < 0 else ""

    @property
    def sections(self) -> Mapping[str, int]:
        """The tokens of each section by its address, those of all parts in it included."""
        return MappingProxyType(self._ledger.sections)

    @cached_property
    def spans(self) -> tuple[int, ...]:
        """The tokens of each of ``rendered.spans()``, in the same order.

        The tokens of the spans of a text add up to the tokens of the text.
        """
        report_input = self._report_input
        return tuple(
            span_tokens(
                report_input.spans(), report_input.messages, self._tokens, report_input.facts
            )
        )

    @property
    def sources(self) -> Mapping[Source, int]:
        """The tokens of messages and tools, by the line that wrote them."""
        return MappingProxyType(self._ledger.sources)

    @cached_property
    def parts(self) -> tuple[TokenPart, ...]:
        """All parts in the order of the request; dropped parts where their author wrote them."""
        return tuple(with_dropped(self._ledger.parts, self.placed))

    @cached_property
    def placed(self) -> tuple[PlacedPart, ...]:
        """The dropped parts, and where they were among the other parts."""
        ledger, stages = self._ledger, self._report_input.stages
        dropped = self._report_input.dropped()
        written_tree, fitted_tree = stages["read"], stages["fit"]
        return tuple(
            placed_parts(
                dropped,
                ledger.parts,
                ledger.nodes,
                written_tree=written_tree,
                fitted_tree=fitted_tree,
            )
        )

    @cached_property
    def _ledger(self) -> Ledger:
        ledger = Ledger(self._report_input, self.messages)
        ledger.add_tools(self.tools)
        ledger.add_messages()
        if self.frame > 0:
            ledger.parts.append(TokenPart(0, TARGET_FORMAT, "", self.frame))
        return ledger

    @cached_property
    def view(self) -> TokenView:
        """What views show of the tokens."""
        budget = self._report_input.budget_use(self.total)
        noted = (part for part in self._report_input.dropped() if part.note)
        notes = [f"{named(part.what, part.path)}: {part.note}" for part in noted]
        return TokenView(
            self.total, self.label, self.typical, self.savings, budget, self.parts, notes
        )

    def __str__(self) -> str:
        return self.view.text(width=terminal_width())

    def __repr__(self) -> str:
        budget = self._report_input.budget_use(self.total)
        size = f"{self.total:,} tokens" if budget is None else budget.line(" tokens")
        return f"<TokenReport: {size} in {len(self.messages):,} messages>"


def total_of(payload: Payload, tokens: Tokens, facts: ModelFacts) -> tuple[int, str]:
    """Return the tokens of a payload, and a label for how exact the count is."""
    counter = _LabelledTokens(tokens)
    tally = entry_tokens(payload, counter, facts)
    label = label_of(
        counter.label,
        has_media=bool(tally.media),
        has_tools=bool(tally.tools),
        framed=not isinstance(payload.get("prompt"), str),
    )
    return tally.total, label


def _total(report_input: ReportInput, tokens: Tokens) -> tuple[int, str]:
    """Return the tokens that are sent, and a label for how exact the count is."""
    prompt, facts = report_input.sent, report_input.facts
    if report_input.payload is not None:
        return total_of(report_input.payload, tokens, facts)
    counter = _LabelledTokens(tokens)
    total = sum(message_tokens(message, counter, facts) for message in prompt.messages)
    total += definition_tokens(prompt, counter, facts) + REPLY
    attached = any(map(has_media, prompt.messages))
    equipped = bool(prompt.tools or prompt.output)
    return total, label_of(counter.label, has_media=attached, has_tools=equipped)


class _LabelledTokens(Tokens):
    """A counter that counts like another one; its label is that of the least exact count so far."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._label = tokens.label

    @property
    def label(self) -> str:
        return self._label

    def count(self, text: str, /) -> Count:
        return self._tokens.count(text)

    def of(self, text: str, /) -> int:
        if self._label == EXACT:
            self._label = self._tokens.count(text).label
        return self._tokens.of(text)


class _TypicalTokens(_LabelledTokens):
    """A counter of the usual tokens of texts; it does not round up."""

    def of(self, text: str, /) -> int:
        return self._tokens.typical(text)
