"""``promptdsl tokens``: the tokens of a prompt, part by part."""

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from promptdsl import PromptRecord, Source
from promptdsl.cli.arguments import read_arguments
from promptdsl.cli.commands import TARGET, AddParser, add_command
from promptdsl.cli.options import (
    add_request,
    render_notes,
    rendered_target,
    whole_number,
)
from promptdsl.cli.show import as_json, is_colourful, located, relative
from promptdsl.comparing import terminal_width, visible

DESCRIPTION = """\
Show the tokens of the prompt that TARGET names, part by part, as it is sent, with its cache marks
and the parts that were dropped for the budget. A row is the part with all parts in it."""


ROWS = 20
"""The most parts that are shown."""


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
        help="how many levels of parts are shown: 0 only shows the total; without it all levels",
    )
    group.add_argument(
        "--sort",
        choices=("order", "size"),
        default="order",
        help="the order of sibling parts: as they are sent, or the largest first",
    )
    group.add_argument(
        "--all", action="store_true", help=f"show all parts, not only the {ROWS} largest"
    )
    group.add_argument("--explain", action="store_true", help="show how the tokens are counted")
    group.add_argument("--json", action="store_true", help="print the complete report as JSON")


def run(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the data and the notes of the command."""
    props = read_arguments(arguments.pairs, arguments.props)
    shown = {"depth": arguments.depth, "largest_first": arguments.sort == "size"}
    with rendered_target(arguments.target, props, arguments) as rendered:
        record = rendered.record()
    notes = render_notes(rendered, arguments)
    if arguments.json:
        return _json_text(record, record.token_parts(**shown), rendered.tokens.sources), notes
    # Dropped parts are struck through on a terminal that can do so.
    most = None if arguments.all else ROWS
    text = record.token_tree(**shown, most=most, width=terminal_width(), strike=is_colourful())
    if arguments.explain:
        text += f"\ncounted by: {visible(rendered.tokens.label, one_line=True)}"
    text = relative(text)
    if is_colourful():
        from promptdsl.cli.terminal import coloured_tokens

        text = coloured_tokens(text)
    return text, notes


def _json_text(
    record: PromptRecord,
    parts: Sequence[dict[str, Any]],  # Any: JSON data
    sources: Mapping[Source, int],
) -> str:
    """Return the tokens of a record as JSON, with the file and the line of each source."""
    data = record.to_dict()
    tokens, libraries = data["tokens"], {row["name"]: row for row in data["libraries"]}
    names = ("total", "label", "typical", "messages", "tools", "form", "sections")
    rows = [
        {"path": "", "cache": None, "dropped": None, **part, **located(part.get("source"))}
        | ({"library": libraries[part["library"]]} if "library" in part else {})
        for part in parts
    ]
    return as_json(
        {
            **{name: tokens[name] for name in names},
            "libraries": data["libraries"],
            "sources": [
                {**located(str(source)), "tokens": count} for source, count in sources.items()
            ],
            "parts": [{key: row[key] for key in row if key != "source"} for row in rows],
        }
    )
