"""``promptdsl tokens``: how many tokens a prompt is, part by part."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any, TextIO

import attrs

from promptdsl.cli.arguments import given
from promptdsl.cli.options import (
    add_command,
    add_input,
    add_provider,
    add_target,
    add_traceback,
    asked_for,
    check_folders,
    noted,
    whole_number,
)
from promptdsl.cli.show import as_json, on_one_line
from promptdsl.cli.target import found

if TYPE_CHECKING:
    from promptdsl import Source, TokenPart, TokenReport

DESCRIPTION = """\
Show how many tokens the prompt TARGET names is, part by part, as it is sent: what it is made of,
where cache marks stand, and what was dropped for the budget."""

BAR = 10
"""How many characters wide the bar of all tokens is."""
DEEPEST = 40
"""Deeper than this nothing is indented: it would grow with the square of the depth."""
WIDEST = 60
"""Behind what is wider a line number follows at once."""


def add_tokens(commands: Any) -> None:
    """Add the command and its options to the commands of a parser."""
    parser = add_command(
        commands,
        "tokens",
        takes="TARGET",
        summary="count the tokens of a prompt, part by part",
        description=DESCRIPTION,
    )
    add_target(parser)
    group = parser.add_argument_group("what is rendered")
    add_provider(group)
    add_input(group, marks=True)
    _add_output(parser.add_argument_group("what is printed"))
    parser.set_defaults(run=run)


def _add_output(group: Any) -> None:
    group.add_argument(
        "--depth",
        type=_depth,
        metavar="N",
        help="how many levels of parts: 0 is the total alone; without it all of them",
    )
    group.add_argument(
        "--sort",
        choices=("order", "size"),
        default="order",
        help="what stands beside each other: as it is sent, or the largest first",
    )
    group.add_argument("--json", action="store_true", help="JSON: everything, by part and line")
    add_traceback(group)


def _depth(text: str) -> int:
    return whole_number(text, "levels")


def run(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the data and the notes of a command.

    Raises :class:`UsageError` when it is called wrongly, and whatever the prompt raises.
    """
    props = given(arguments.pairs, arguments.props)
    check_folders(arguments.media_roots)
    strikes = _strikes()
    with redirect_stdout(sys.stderr), found(arguments.target) as named:
        rendered = asked_for(named, arguments.target, props, arguments)
        report = rendered.tokens
    parts = _sorted(report.parts) if arguments.sort == "size" else report.parts
    depth = arguments.depth
    shown = [part for part in parts if depth is None or part.depth < depth]
    data = _json(report, shown) if arguments.json else _table(report, shown, strikes=strikes)
    return data, noted(rendered, arguments)


def _strikes() -> bool:
    """Whether standard output is a terminal that can strike text through."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb"
    # There is none where it was closed.
    out: TextIO | None = sys.stdout
    return not plain and out is not None and out.isatty()


def _sorted(parts: Sequence["TokenPart"]) -> list["TokenPart"]:
    """Return the parts with the largest of those beside each other first, what was dropped last."""
    inside: list[list[int]] = [[] for _ in parts]
    tops: list[int] = []
    around: list[int] = []
    for place, part in enumerate(parts):
        del around[part.depth :]
        (inside[around[-1]] if around else tops).append(place)
        around.append(place)

    def largest_last(places: list[int]) -> list[int]:
        keys = [(parts[n].dropped is None, parts[n].tokens, -n) for n in places]
        return [-key[2] for key in sorted(keys)]

    found: list[TokenPart] = []
    waiting = largest_last(tops)
    while waiting:
        place = waiting.pop()
        found.append(parts[place])
        waiting += largest_last(inside[place])
    return found


# For people.


def _table(report: "TokenReport", parts: Sequence["TokenPart"], *, strikes: bool) -> str:
    width = max((len(f"{part.tokens:,}") for part in parts), default=0)
    named = [*_named(parts)]
    widest = min(max(map(len, named), default=0), WIDEST)
    rows = zip(parts, named, strict=True)
    lines = [_line(report, part, name, (width, widest), strikes=strikes) for part, name in rows]
    return "\n".join([*lines, *([""] if lines else []), *_totals(report)])


def _line(
    report: "TokenReport", part: "TokenPart", name: str, widths: tuple[int, int], *, strikes: bool
) -> str:
    width, widest = widths
    tokens = f"{part.tokens:>{width},}"
    where = on_one_line(str(part.source)) if part.source else ""
    if part.dropped is not None:
        said = f"{name:<{widest}}"
        struck = said.replace(name.strip(), f"\x1b[9m{name.strip()}\x1b[29m") if strikes else said
        why = on_one_line(part.dropped)
        return f"{tokens}  {'-':>6}  {'':<{BAR}}  {struck}  {where}  dropped: {why}".rstrip()
    share = part.tokens / report.total if report.total else 0
    bar = "█" * max(round(share * BAR), 0)
    return f"{tokens}  {share:>6.1%}  {bar:<{BAR}}  {name:<{widest}}  {where}".rstrip()


def _named(parts: Sequence["TokenPart"]) -> Iterator[str]:
    """Yield what parts are called, indented: with their address where it says more."""
    paths: list[str] = []
    for part in parts:
        del paths[part.depth :]
        around = paths[-1] if paths else ""
        paths.append(part.path)
        is_told = part.path in ("", around) or "[" not in part.path.rpartition("/")[2]
        address = "" if is_told or part.what.startswith("system ") else f" {part.path}"
        mark = {None: "", "default": " [cached]"}.get(part.cache, f" [cached for {part.cache}]")
        indent = "  " * min(part.depth, DEEPEST)
        yield indent + on_one_line(f"{part.what}{address}{mark}")


def _totals(report: "TokenReport") -> Iterator[str]:
    yield f"{report.total:,} tokens: {on_one_line(report.label)}"
    if report.typical is not None:
        yield f"usually {report.typical:,}"
    gone = [part.tokens for part in report.parts if part.dropped is not None]
    if gone:
        parts = "1 part" if len(gone) == 1 else f"{len(gone):,} parts"
        yield f"{sum(gone):,} tokens were dropped in {parts}"


# For programs.


def _json(report: "TokenReport", parts: Sequence["TokenPart"]) -> str:
    return as_json(
        {
            "total": report.total,
            "label": report.label,
            "typical": report.typical,
            "messages": report.messages,
            "tools": report.tools,
            "form": report.form,
            "sections": dict(report.sections),
            "sources": [{**located(at), "tokens": n} for at, n in report.sources.items()],
            "parts": [_part(part) for part in parts],
        }
    )


def _part(part: "TokenPart") -> dict[str, object]:
    said = attrs.asdict(part, recurse=False)
    del said["source"]
    return {**said, **located(part.source)}


def located(source: "Source | None") -> dict[str, object]:
    """Return a file and a line as data."""
    return {
        "file": source.file if source else None,
        "line": source.line if source else None,
    }
