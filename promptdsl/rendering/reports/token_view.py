"""The tokens of a prompt: as text with a row for each of the largest parts, and as a report.

The view comes first, then the report that a user gets, and last the count of the total.
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
from promptdsl.tokens.payloads import OWN, REPLY, entry_tokens, has_media, label_of, message_tokens

# Text, terminals and notebooks show the same rows: those of ``token_rows``.

MOST = 20
"""The most rows of parts that are shown."""
MOST_DROPPED = 6
"""How many of them may be dropped parts."""
BAR = 10
"""The width of the bar of all tokens, in characters."""
_GAP = "  "
"""The space between two columns of a row."""
_SHARE = len("100.0%")
_FIGURES = _SHARE + len(_GAP) + BAR
"""The width of the share and the bar of a row; a dropped part has a word there."""
DEEPEST = 40
"""The deepest level with more indentation, so that the output does not grow quadratically."""
WIDEST = 60
"""The widest name that is padded, in characters."""
LEAST_SOURCE = 18
"""The most columns of a terminal that are kept for the source of a row."""
LITTLE = 8
"""The tokens around a part that do not count as a text of their own: a frame, a title."""
ASSUMED = "size not known: the largest is assumed"


class TokenRow(NamedTuple):
    """A row of a view: a part, or several in each other that have no other parts.

    ``note`` is the reason of a dropped part, or how the size of a picture was counted.
    """

    depth: int
    name: str
    tokens: int
    source: str
    note: str
    is_dropped: bool


@attrs.frozen(eq=False)
class TokenView:
    """The tokens of a request: what all views of them show. ``parts`` are all of its parts."""

    total: int
    label: str
    typical: int | None
    savings: str
    budget: BudgetUse | None
    parts: Sequence[TokenPart]
    notes: Sequence[str] = ()
    """A line for each dropped part with a note: the name of the part, and what the step of its cut
    costs, or the tokens that it lacks to come back."""

    def size(self) -> str:
        """Return the total in words, and that it is an estimate if it is one."""
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
        most: int | None = MOST,
        width: int | None = None,
        strike: bool = False,
    ) -> str:
        """Return the budget, the total, and the rows of ``parts``, all by default.

        Rows fit ``width`` columns: paths are cut from their left, then left out. Without it,
        nothing is cut. With ``strike`` the names of dropped parts are struck through, by the codes
        of a terminal.
        """
        lines = [] if self.budget is None else [self.budget.line(), self.budget.bar()]
        lines.append(self.size())
        rows, rest = token_rows(self.parts if parts is None else parts, most)
        if rows:
            lines += ["", *_row_lines(rows, self.total, width, strike=strike)]
        numbers = max((len(f"{row.tokens:,}") for row in rows), default=0)
        lines += [f"{'…':>{numbers}}  {line}" for line in rest]
        dropped = [part.tokens for part in self.parts if part.dropped is not None]
        count = counted(len(dropped), "part", "parts")
        last = [f"{sum(dropped):,} tokens were dropped in {count}"] if dropped else []
        last += [*map(on_one_line, self.notes), *([self.savings] if self.savings else [])]
        return "\n".join([*lines, *([""] if last and rows else []), *last])


def token_rows(
    parts: Sequence[TokenPart], most: int | None = MOST
) -> tuple[list[TokenRow], list[str]]:
    """Return the rows of the largest parts in written order, and lines about all others.

    A part shares its row with the only part in it, if that is nearly all of it. Parts of no tokens
    are left out.
    """
    groups = _grouped(parts)
    chosen = {-1, *_chosen(groups, most)}
    rows: list[TokenRow] = []
    sent: list[int] = []
    dropped: list[int] = []
    depths: dict[int, int] = {-1: 0}
    for index, group in enumerate(groups):
        # The depth is the number of the rows around it that are shown.
        depth = depths[group.around]
        depths[index] = depth + (index in chosen)
        if index in chosen:
            rows.append(group.row(depth))
        elif group.is_dropped:
            dropped.append(group.tokens)
        elif group.around in chosen:
            sent.append(group.tokens)
    lines = [f"{len(sent):,} more: {sum(sent):,}, largest {max(sent):,}"] if sent else []
    if dropped:
        lines.append(f"{len(dropped):,} more dropped: {sum(dropped):,}, largest {max(dropped):,}")
    return rows, lines


@attrs.define(eq=False)
class _Group:
    """Parts that share a row, the outermost first; ``around`` is the index of the group around."""

    parts: list[TokenPart]
    names: list[str]
    around: int

    @property
    def tokens(self) -> int:
        return self.parts[0].tokens

    @property
    def is_dropped(self) -> bool:
        return self.parts[0].dropped is not None

    def row(self, depth: int) -> TokenRow:
        """Return the row of the parts."""
        names, innermost = self.names, self.parts[-1]
        if len(names) > 3:
            names = [names[0], "…", names[-1]]
        if any(part.assumed for part in self.parts):
            note = f"({ASSUMED})"
        else:
            note = on_one_line(innermost.dropped or "")
        source = on_one_line(str(innermost.source or ""))
        return TokenRow(depth, " > ".join(names), self.tokens, source, note, self.is_dropped)


def _grouped(parts: Sequence[TokenPart]) -> list[_Group]:
    """Return the parts by their rows, in their order."""
    is_kept = [part.tokens > 0 or part.dropped is not None for part in parts]
    parents = _kept_parents(parts, is_kept)
    only_children = _only_children(parents, is_kept)
    groups: list[_Group] = []
    group_of = {-1: -1}
    for index, (part, name) in enumerate(zip(parts, _part_names(parts), strict=True)):
        parent = parents[index]
        around = group_of[parent]
        if not is_kept[index]:
            group_of[index] = around
            if part.cache and groups:
                # The mark of a breakpoint stands after the part before it.
                groups[-1].names[-1] += _cached(part)
            continue
        is_only = only_children[parent] == index and part.dropped is None
        if is_only and around >= 0 and _is_nearly_all(part, parts[parent]):
            groups[around].parts.append(part)
            groups[around].names.append(name)
            group_of[index] = around
        else:
            group_of[index] = len(groups)
            groups.append(_Group([part], [name], around))
    return groups


def _kept_parents(parts: Sequence[TokenPart], is_kept: Sequence[bool]) -> list[int]:
    """Return for each part the index of the kept part around it, -1 for none."""
    parents, _ = nested([part.depth for part in parts])
    for index, parent in enumerate(parents):
        # The parts in one that is left out stand in the part around that.
        if parent >= 0 and not is_kept[parent]:
            parents[index] = parents[parent]
    return parents


def _only_children(parents: Sequence[int], is_kept: Sequence[bool]) -> dict[int, int]:
    """Return by parent the index of the only kept part in it, -1 if there are several."""
    only_children: dict[int, int] = {}
    for index, parent in enumerate(parents):
        if is_kept[index]:
            only_children[parent] = -1 if parent in only_children else index
    return only_children


def _is_nearly_all(part: TokenPart, outer: TokenPart) -> bool:
    """Return whether the part around another has no text of its own, or little."""
    return outer.dropped is None and outer.tokens - part.tokens <= max(LITTLE, outer.tokens / 10)


def _chosen(groups: Sequence[_Group], most: int | None) -> set[int]:
    """Return the indices of at most ``most`` groups that are shown.

    These are the largest dropped ones, and the largest of those that are sent, with those around
    them.
    """
    if most is None or len(groups) <= most:
        return {*range(len(groups))}
    dropped = [index for index, group in enumerate(groups) if group.is_dropped]
    most_dropped = min(MOST_DROPPED, most)
    chosen = {*sorted(dropped, key=lambda index: -groups[index].tokens)[:most_dropped]}
    sizes: dict[int, int] = {}
    for index, group in enumerate(groups):
        if not group.is_dropped:
            # A group counts as no larger than the one around it, so the outer one is chosen first.
            sizes[index] = min(group.tokens, sizes.get(group.around, group.tokens))
    largest = sorted(sizes, key=lambda index: -sizes[index])
    return chosen | {*largest[: most - len(chosen)]}


def _part_names(parts: Sequence[TokenPart]) -> Iterator[str]:
    """Yield the names of parts, with the address where the name does not contain it."""
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
    start, bracket, mark = name.rpartition(" [")
    if columns(name) <= width or not mark.startswith("cached") or len(mark) + 4 > width:
        return cut_to(name, width)
    return cut_to(start, width - len(bracket + mark)) + bracket + mark


def _row_lines(
    rows: Sequence[TokenRow], total: int, width: int | None, *, strike: bool
) -> Iterator[str]:
    """Yield rows as lines of text: the tokens, the share, a bar, the name, the source, the note."""
    names = ["  " * min(row.depth, DEEPEST) + row.name for row in rows]
    number_width = max(len(f"{row.tokens:,}") for row in rows)
    name_start = number_width + len(_GAP) + _FIGURES + len(_GAP)
    name_width = min(max(map(columns, names)), WIDEST)
    if width is not None:
        source_width = min(file_columns(row.source for row in rows), LEAST_SOURCE)
        name_width = min(name_width, max(width - name_start - len(_GAP) - source_width, 12))
        # The name of a row with nothing after it may be as wide as the line.
        widths = [name_width if row.source or row.note else width - name_start for row in rows]
        names = [_cut_name(name, most) for name, most in zip(names, widths, strict=True)]
    for row, name in zip(rows, names, strict=True):
        padded = name + " " * (name_width - columns(name))
        if row.is_dropped:
            figures = f"{'dropped':<{_FIGURES}}"
            if strike:
                padded = padded.replace(name.strip(), f"\x1b[9m{name.strip()}\x1b[29m")
        else:
            share = row.tokens / total if total else 0
            figures = f"{share:>{_SHARE}.1%}{_GAP}{eighths(share, BAR)}"
        begin = _GAP.join((f"{row.tokens:>{number_width},}", figures, padded))
        if width is None:
            yield _line(begin, row.source, row.note)
        else:
            room = max(width - name_start - name_width - len(_GAP), 0)
            yield from _fitted_lines(begin, row, room=room, indent=name_start, width=width)


def _fitted_lines(
    begin: str, row: TokenRow, *, room: int, indent: int, width: int
) -> Iterator[str]:
    """Yield the line of a row that ends with its source and its note, in ``room`` columns.

    A note for which there is no room has lines of its own, below the name.
    """
    source_room = room - len(_GAP) - columns(row.note)
    if columns(row.source) <= source_room:
        yield _line(begin, fitted_source(row.source, source_room), row.note)
        return
    yield _line(begin, fitted_source(row.source, room))
    if row.note:
        margin = " " * min(indent, width // 2)
        note_width = width - len(margin)
        if not row.note.isascii():
            # The characters of another script may have two columns each.
            note_width //= 2
        yield from (f"{margin}{line}" for line in wrap(row.note, note_width))


def _line(*texts: str) -> str:
    """Return the texts of a row that are not empty as a line."""
    return _GAP.join(filter(None, texts)).rstrip()


# A record has its parts as JSON: dictionaries with the fields of ``TokenPart``.


def shown_parts(
    parts: Sequence[JsonDict], *, depth: int | None, largest_first: bool
) -> list[JsonDict]:
    """Return the parts of ``depth`` levels of a record, in its order.

    With ``largest_first`` the largest of siblings is the first, and dropped ones are the last.
    """
    if largest_first:
        children: dict[int, list[int]] = {}
        parents, _ = nested([part["depth"] for part in parts])
        for index, parent in enumerate(parents):
            children.setdefault(parent, []).append(index)
        ordered: list[int] = []
        waiting = [-1]
        while waiting:
            index = waiting.pop()
            ordered.append(index)
            # The last index in the list is the next one that is taken.
            keys = sorted(
                ("dropped" not in parts[n], parts[n]["tokens"], -n) for n in children.get(index, ())
            )
            waiting += [-key[2] for key in keys]
        parts = [parts[index] for index in ordered[1:]]
    return [part for part in parts if depth is None or part["depth"] < depth]


class TokenReport:
    """The tokens of a request and its parts; an estimate is rounded up, so that it is enough.

    ``total`` is counted at once, everything else when it is first read. ``str(report)`` shows
    the budget, the largest parts and the dropped parts; on a terminal its lines fit the width.

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
        """How exact the total is: ``"exact text, assumed frame"``, or the method of an estimate."""
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
        """The tokens of the tools and of the output schema that are sent."""
        return definition_tokens(
            self._report_input.equipped, self._tokens, self._report_input.facts
        )

    @property
    def frame(self) -> int:
        """The tokens of the target's own text, such as the frame of the reply.

        Below 0, it is what the target saves, as one that joins messages; then ``parts`` leaves it
        out.
        """
        return self.total - sum(self.messages) - self.tools

    # The old name of ``frame``.
    form = OldAttribute("TokenReport.form")

    @property
    def savings(self) -> str:
        """The tokens that the target's own text saves, in words; empty where it saves nothing."""
        return f"{OWN} saves {-self.frame:,} tokens" if self.frame < 0 else ""

    @property
    def sections(self) -> Mapping[str, int]:
        """The tokens of each section by its address, those of all parts in it included."""
        return MappingProxyType(self._ledger.sections)

    @cached_property
    def spans(self) -> tuple[int, ...]:
        """The tokens of each of ``rendered.spans()``, in the same order.

        Those of the spans of one text add up to the tokens of the text.
        """
        report_input = self._report_input
        return tuple(
            span_tokens(
                report_input.spans(), report_input.messages, self._tokens, report_input.facts
            )
        )

    @property
    def sources(self) -> Mapping[Source, int]:
        """The tokens by the line that wrote them: messages and tools."""
        return MappingProxyType(self._ledger.sources)

    @cached_property
    def parts(self) -> tuple[TokenPart, ...]:
        """All parts in the order of the request; dropped ones where their author wrote them."""
        return tuple(with_dropped(self._ledger.parts, self.placed))

    @cached_property
    def placed(self) -> tuple[PlacedPart, ...]:
        """Where the dropped parts stood among the other parts."""
        ledger, stages = self._ledger, self._report_input.stages
        dropped = self._report_input.dropped()
        written, fitted = stages["read"], stages["fit"]
        return tuple(
            placed_parts(dropped, ledger.parts, ledger.nodes, written=written, fitted=fitted)
        )

    @cached_property
    def _ledger(self) -> Ledger:
        ledger = Ledger(self._report_input, self.messages)
        ledger.add_tools(self.tools)
        ledger.add_messages()
        if self.frame > 0:
            ledger.parts.append(TokenPart(0, OWN, "", self.frame))
        return ledger

    @cached_property
    def view(self) -> TokenView:
        """What views of the tokens show."""
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
    sent, facts = report_input.sent, report_input.facts
    if report_input.payload is not None:
        return total_of(report_input.payload, tokens, facts)
    counter = _LabelledTokens(tokens)
    total = sum(message_tokens(message, counter, facts) for message in sent.messages)
    total += definition_tokens(sent, counter, facts) + REPLY
    attached = any(map(has_media, sent.messages))
    equipped = bool(sent.tools or sent.output)
    return total, label_of(counter.label, has_media=attached, has_tools=equipped)


class _LabelledTokens(Tokens):
    """A counter with the counts of another counter, and the label of its least exact count."""

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
    """A counter of the usual tokens of texts, without rounding up."""

    def of(self, text: str, /) -> int:
        return self._tokens.typical(text)
