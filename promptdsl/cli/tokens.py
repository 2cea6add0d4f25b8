"""``promptdsl tokens``: how many tokens a prompt is, part by part."""

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from promptdsl.cli.arguments import read_arguments
from promptdsl.cli.commands import TARGET, AddParser, add_command
from promptdsl.cli.options import (
    add_request,
    render_notes,
    rendered_target,
    whole_number,
)
from promptdsl.cli.show import (
    as_json,
    as_row,
    as_section,
    fields,
    is_colourful,
    located,
    relative,
    visible,
)

if TYPE_CHECKING:
    from promptdsl import LibrarySection, TokenPart, TokenReport

DESCRIPTION = """\
Show the tokens of the prompt that TARGET names, part by part, as it is sent, with its cache marks
and the parts that were dropped for the budget."""

BAR = 10
"""The width of the bar of all tokens, in characters."""
DEEPEST = 40
"""The deepest level with more indentation, so that the output does not grow quadratically."""
WIDEST = 60
"""The widest name that is padded, in characters."""


def add_tokens(add_parser: AddParser) -> None:
    """Add the command and its options."""
    parser = add_command(add_parser, "tokens", run=run, takes="TARGET", description=DESCRIPTION)
    parser.add_argument("target", metavar="TARGET", help=TARGET)
    add_request(parser, marks=True, texts=False)
    group = parser.add_argument_group("output")
    group.add_argument(
        "--depth",
        type=partial(whole_number, unit="levels"),
        metavar="N",
        help="the levels of parts that are shown: 0 for only the total; without it all levels",
    )
    group.add_argument(
        "--sort",
        choices=("order", "size"),
        default="order",
        help="the order of sibling parts: as they are sent, or the largest first",
    )
    group.add_argument("--json", action="store_true", help="print the whole report as JSON")


def run(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the data and the notes of the command."""
    props = read_arguments(arguments.pairs, arguments.props)
    # Dropped parts are struck through on a terminal that can do so.
    strikes = is_colourful()
    with rendered_target(arguments.target, props, arguments) as rendered:
        report, libraries = rendered.tokens, rendered.libraries
    parts = _largest_first(report.parts) if arguments.sort == "size" else report.parts
    depth = arguments.depth
    parts = [part for part in parts if depth is None or part.depth < depth]
    data = _table_text(report, parts, strikes)
    if arguments.json:
        data = _json_text(report, parts, libraries)
    return data, render_notes(rendered, arguments)


def _largest_first(parts: Sequence["TokenPart"]) -> list["TokenPart"]:
    """Return the parts, siblings with the largest first and dropped ones last."""
    children = defaultdict[int, list[int]](list)
    ancestors = [-1]
    for index, part in enumerate(parts):
        del ancestors[part.depth + 1 :]
        children[ancestors[-1]].append(index)
        ancestors.append(index)
    ordered: list[int] = []
    waiting = [-1]
    while waiting:
        index = waiting.pop()
        ordered.append(index)
        # The last one is the next.
        keys = sorted((parts[n].dropped is None, parts[n].tokens, -n) for n in children[index])
        waiting += [-key[2] for key in keys]
    return [parts[index] for index in ordered[1:]]


def _table_text(report: "TokenReport", parts: Sequence["TokenPart"], strikes: bool) -> str:
    names = [*_part_names(parts)]
    number_width = max((len(f"{part.tokens:,}") for part in parts), default=0)
    name_width = min(max(map(len, names), default=0), WIDEST)
    lines: list[str] = []
    for part, name in zip(parts, names, strict=True):
        tokens = f"{part.tokens:>{number_width},}"
        source = visible(relative(str(part.source)), one_line=True) if part.source else ""
        padded = f"{name:<{name_width}}"
        if part.dropped is None:
            share = part.tokens / report.total if report.total else 0
            bar = "█" * max(round(share * BAR), 0)
            line = f"{tokens}  {share:>6.1%}  {bar:<{BAR}}  {padded}  {source}"
        else:
            if strikes:
                padded = padded.replace(name.strip(), f"\x1b[9m{name.strip()}\x1b[29m")
            reason = visible(part.dropped, one_line=True)
            line = f"{tokens}  {'-':>6}  {'':<{BAR}}  {padded}  {source}  dropped: {reason}"
        lines.append(line.rstrip())
    lines += [""] if lines else []
    lines.append(f"{report.total:,} tokens: {visible(report.label, one_line=True)}")
    lines += [report.savings] if report.savings else []
    if report.typical is not None:
        lines.append(f"usually {report.typical:,}")
    dropped = [part.tokens for part in report.parts if part.dropped is not None]
    if dropped:
        count = "1 part" if len(dropped) == 1 else f"{len(dropped):,} parts"
        lines.append(f"{sum(dropped):,} tokens were dropped in {count}")
    return "\n".join(lines)


def _part_names(parts: Sequence["TokenPart"]) -> Iterator[str]:
    """Yield the names of parts, indented, with the address where the name does not contain it."""
    paths: list[str] = []
    for part in parts:
        del paths[part.depth :]
        parent = paths[-1] if paths else ""
        paths.append(part.path)
        is_known = part.path in ("", parent, part.what) or part.what.endswith("'")
        address = "" if is_known or part.what.startswith("system ") else f" {part.path}"
        mark = {None: "", "default": " [cached]"}.get(part.cache, f" [cached for {part.cache}]")
        indent = "  " * min(part.depth, DEEPEST)
        yield indent + visible(f"{part.what}{address}{mark}", one_line=True)


def _json_text(
    report: "TokenReport", parts: Sequence["TokenPart"], libraries: "Sequence[LibrarySection]"
) -> str:
    return as_json(
        {
            **fields(report, "total", "label", "typical", "messages", "tools", "form"),
            "sections": dict(report.sections),
            "libraries": [as_section(section) for section in libraries],
            "sources": [{**located(at), "tokens": n} for at, n in report.sources.items()],
            "parts": [as_row(part) for part in parts],
        }
    )
