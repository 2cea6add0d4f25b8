"""The rows of ``promptdsl records list``: what each call sent, with a bar, grouped by day."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import attrs

from promptdsl import LogEntry, PromptError, PromptRecord, Rendered, prefix_report
from promptdsl.cli.log_records import losses_of
from promptdsl.comparing import columns, cut_to, record_rendered, visible

BAR = 20
"""The width of the longest bar, in characters."""
COMPARED = 100
"""The most calls whose cached part is found: to read one of 13,000 tokens takes about 33 ms."""
OPTIONAL = ("messages", "model", "losses", "dropped")
"""The columns that a narrow terminal leaves out, the first one first."""
SIGNS = "█ from the cache  ▄ not cached  · free  ▒ kept for the answer  │ the budget  ░ not known"
"""What the signs of a bar mean."""
INDENT = "  "
FIGURES = ("tokens", "cached", "messages", "losses", "dropped")


@attrs.frozen
class CallRow:
    """A call of a log: its tokens, those of them that a cache serves, and its budget.

    What is not known is ``None``.
    """

    entry: LogEntry
    total: int | None
    cached: int | None
    budget: int | None
    reserve: int

    @property
    def largest(self) -> int:
        """The tokens that its bar needs room for."""
        return max(self.total or 0, self.budget or 0)

    def bar(self, largest: int) -> str:
        """Return its bar; a bar of ``largest`` tokens has the full width."""
        if self.total is None:
            return ""
        scale = BAR / max(largest, 1)
        total = max(round(self.total * scale), min(self.total, 1))
        text = "░" * total
        if self.cached is not None:
            text = ("█" * round(self.cached * scale)).ljust(total, "▄")
        if self.budget is None:
            return text
        free = round((self.budget - self.reserve) * scale)
        text = text.ljust(free, "·")
        return f"{text.ljust(round(self.budget * scale), '▒')}│"

    def cells(self, largest: int) -> dict[str, str]:
        """Return the text of each of its columns."""
        record: Any = self.entry.record  # Any: JSON
        model = record.get("model")
        if not isinstance(model, str | None):
            model = model.get("model") or model.get("provider")
        cells = {
            "time": self.entry.at[11:19],
            "name": self.entry.name or "-",
            "id": self.entry.id or "-",
            "model": model or "-",
            "bar": self.bar(largest),
            "tokens": "-" if self.total is None else f"{self.total:,} tokens",
            "cached": "" if self.cached is None else f"{self.cached:,} cached",
            "messages": f"{len(record.get('messages') or ()):,} messages",
            "losses": f"{len(losses_of(record)):,} losses",
            "dropped": f"{len(record.get('dropped') or ()):,} dropped",
        }
        return {name: visible(text, one_line=True) for name, text in cells.items()}


def call_rows(entries: Sequence[LogEntry], wanted: Sequence[LogEntry]) -> list[CallRow]:
    """Return a row for each wanted entry; the call before it fills the cache.

    That is the last one of the same name, provider and model. The cached part is found for the
    last of them, as many as ``COMPARED`` says.
    """
    compared = {id(entry) for entry in wanted[-COMPARED:]}
    cached: dict[int, int | None] = {}
    last: dict[str, LogEntry] = {}
    rendered_last: dict[str, Rendered | None] = {}
    for entry in entries:
        key = _cache_key(entry)
        if id(entry) in compared:
            rendered = _rendered(entry)
            if key in last and key not in rendered_last:
                rendered_last[key] = _rendered(last[key])
            before = rendered_last.get(key)
            cached[id(entry)] = _served(entry, before, rendered, is_first=key not in last)
            rendered_last[key] = rendered
        else:
            rendered_last.pop(key, None)
        last[key] = entry
    return [_row(entry, cached.get(id(entry))) for entry in wanted]


def notes_on(wanted: Sequence[LogEntry]) -> list[str]:
    """Return a note if there are more calls than those whose cached part is found."""
    if len(wanted) <= COMPARED:
        return []
    which = f"the last {COMPARED} of {len(wanted):,} calls"
    return [f"the cached part is that of {which}: list fewer, such as with --since"]


def _cache_key(entry: LogEntry) -> str:
    """Return the name, provider and model of a call: two calls that differ share no cache."""
    target: Any = entry.record.get("model")  # Any: JSON
    if not isinstance(target, str | None):
        target = target.get("provider"), target.get("model")
    return repr((entry.name, target))


def _rendered(entry: LogEntry) -> Rendered | None:
    """Return the request of an entry; ``None`` if its record has no content or cannot be read."""
    try:
        return record_rendered(PromptRecord.from_dict(entry.record))
    except Exception:  # its target may not be known here, or a key is missing
        return None


def _served(
    entry: LogEntry, before: Rendered | None, rendered: Rendered | None, *, is_first: bool
) -> int | None:
    """Return the tokens that a cache serves of a request; ``None`` if that is not known.

    It is not known for a record that was counted by another method: its total has another unit.
    """
    tokens: Any = entry.record.get("tokens")  # Any: JSON
    if rendered is None or not tokens or tokens.get("method") != rendered.tokens.method:
        return None
    if is_first:
        return 0
    if before is None:
        return None
    try:
        return prefix_report(before, rendered).served
    except PromptError:  # such as a target that this version reads as another one
        return None


def _row(entry: LogEntry, cached: int | None) -> CallRow:
    record: Any = entry.record  # Any: JSON
    tokens: dict[str, int] = record.get("tokens") or {}
    budget: dict[str, int | None] = record.get("budget") or {}
    total = tokens.get("total")
    known = None if total is None or cached is None else min(cached, total)
    return CallRow(entry, total, known, budget.get("limit"), budget.get("reserve") or 0)


def row_lines(rows: Sequence[CallRow], width: int | None) -> Iterator[tuple[CallRow | None, str]]:
    """Yield the lines of a list: for each day its sums, with no row, and then its calls.

    Lines fit the ``width`` of a terminal: some columns are left out, and names are cut. There the
    signs of the bars are explained first. Without it, nothing is cut.
    """
    largest = max((row.largest for row in rows), default=0)
    room = None if width is None else width - len(INDENT)
    waiting = iter(_fitted([row.cells(largest) for row in rows], room))
    if width is not None and largest:
        yield None, cut_to(SIGNS, width)
    for day, calls in groupby(rows, key=lambda row: row.entry.at[:10]):
        group = [*calls]
        line = _day_line(day, group)
        yield None, line if width is None else cut_to(line, width)
        for row in group:
            yield row, INDENT + next(waiting)


def _day_line(day: str, rows: Sequence[CallRow]) -> str:
    """Return the sums of a day: its calls, their tokens, and the share of a cache.

    It is the share of the calls whose cached part is known.
    """
    total = sum(row.total or 0 for row in rows)
    known = [row for row in rows if row.cached is not None]
    cached = sum(row.cached or 0 for row in known)
    noun = "call" if len(rows) == 1 else "calls"
    share = ""
    if cached:
        share = f", {cached / sum(row.total or 0 for row in known):.0%} cached"
    return f"{day or 'without a time'}: {len(rows):,} {noun}, {total:,} tokens{share}"


def _fitted(rows: Sequence[dict[str, str]], width: int | None) -> list[str]:
    """Return each row as a line, its columns below each other, in at most ``width`` columns."""
    if not rows:
        return []
    sizes = {name: max(columns(row[name]) for row in rows) for name in rows[0]}
    widths = {name: size for name, size in sizes.items() if size}
    if width is not None:
        _cut_names(widths, width, least=12)
        for name in OPTIONAL:
            if _size(widths) > width:
                widths.pop(name, None)
        _cut_names(widths, width, least=6)
    lines = [
        "  ".join(_padded(row[name], size, name) for name, size in widths.items()) for row in rows
    ]
    return [line.rstrip() if width is None else cut_to(line.rstrip(), width) for line in lines]


def _cut_names(widths: dict[str, int], width: int, *, least: int) -> None:
    """Make the columns of names and ids narrower until a line fits, but not below a width."""
    for name in ("name", "id"):
        excess = max(_size(widths) - width, 0)
        widths[name] = max(widths[name] - excess, min(widths[name], least))


def _size(widths: dict[str, int]) -> int:
    """Return the columns of a line with two blanks between its cells."""
    return sum(widths.values()) + 2 * (len(widths) - 1)


def _padded(text: str, width: int, name: str) -> str:
    """Return a cell of a column; a figure is at its right."""
    text = cut_to(text, width)
    blanks = " " * (width - columns(text))
    return blanks + text if name in FIGURES else text + blanks
