"""``promptdsl render`` and ``promptdsl tokens``: a prompt as a payload or text, and its tokens.

In this order: ``tokens`` and ``render``.
"""

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from promptdsl import PromptRecord, Source
from promptdsl.cli.commands import TARGET_HELP, AddParser, add_command, read_arguments
from promptdsl.cli.options import (
    TEXT_FORMATS,
    add_request,
    render_notes,
    rendered_call,
    rendered_target,
    whole_number,
)
from promptdsl.cli.output import (
    as_explanation,
    as_json,
    as_messages,
    as_row,
    as_section,
    coloured_tokens,
    fields,
    is_colourful,
    location_fields,
    paint,
    relative_paths,
    write_report,
)
from promptdsl.cli.sides import is_record_text
from promptdsl.cli.target import target_call
from promptdsl.comparing import terminal_width, visible

# ``promptdsl tokens``: the tokens of a prompt, part by part.

TOKENS_DESCRIPTION = """\
Count the tokens of the prompt that TARGET names, for each part of the request. The count of a part
includes the parts inside it. Also show cache marks, and the parts that the budget dropped."""


MAXIMUM_ROWS = 20
"""The maximum number of parts that are shown without ``--all``."""


def add_tokens(add_parser: AddParser) -> None:
    """Add the command and its options."""
    parser = add_command(
        add_parser, "tokens", run=run_tokens, takes="TARGET", description=TOKENS_DESCRIPTION
    )
    parser.add_argument("target", metavar="TARGET", help=TARGET_HELP)
    add_request(parser, marks=True, texts=False)
    group = parser.add_argument_group("output")
    group.add_argument(
        "--depth",
        type=partial(whole_number, unit="levels"),
        metavar="N",
        help="how many levels of parts to show: 0 shows only the total; by default all levels",
    )
    group.add_argument(
        "--sort",
        choices=("order", "size"),
        default="order",
        help="the order of parts on one level: as they are sent, or the largest first",
    )
    group.add_argument(
        "--all", action="store_true", help=f"show all parts, not only the {MAXIMUM_ROWS} largest"
    )
    group.add_argument("--explain", action="store_true", help="show how the tokens are counted")
    group.add_argument("--json", action="store_true", help="print the complete report as JSON")


def run_tokens(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the tokens, as text or as JSON, and the notes."""
    props = read_arguments(arguments.pairs, arguments.props)
    view_options = {"depth": arguments.depth, "largest_first": arguments.sort == "size"}
    with rendered_target(arguments.target, props, arguments) as rendered:
        record = rendered.record()
    notes = render_notes(rendered, arguments)
    if arguments.json:
        return _json_text(
            record, record.token_parts(**view_options), rendered.tokens.sources
        ), notes
    # A terminal with colours can also strike through the dropped parts.
    limit = None if arguments.all else MAXIMUM_ROWS
    text = record.token_tree(
        **view_options, most=limit, width=terminal_width(), strike=is_colourful()
    )
    if arguments.explain:
        text += f"\ncounted by: {visible(rendered.tokens.label, one_line=True)}"
    text = relative_paths(text)
    if is_colourful():
        text = coloured_tokens(text)
    return text, notes


def _json_text(
    record: PromptRecord,
    parts: Sequence[dict[str, Any]],  # Any: JSON data
    sources: Mapping[Source, int],
) -> str:
    """Return the tokens of a record as JSON text, with the file and the line of each source."""
    data = record.to_dict()
    tokens, libraries = data["tokens"], {row["name"]: row for row in data["libraries"]}
    token_keys = ("total", "label", "typical", "messages", "tools", "form", "sections")
    rows = [
        {"path": "", "cache": None, "dropped": None, **part, **location_fields(part.get("source"))}
        | ({"library": libraries[part["library"]]} if "library" in part else {})
        for part in parts
    ]
    return as_json(
        {
            **{key: tokens[key] for key in token_keys},
            "libraries": data["libraries"],
            "sources": [
                {**location_fields(str(source)), "tokens": count}
                for source, count in sources.items()
            ],
            "parts": [{key: row[key] for key in row if key != "source"} for row in rows],
        }
    )


# ``promptdsl render``: a prompt, as a payload for a provider or as text for people.

RENDER_DESCRIPTION = """\
Render the prompt that TARGET names, and print it as text or as the request of a provider. Losses,
and the output of the prompt's code, go to standard error."""


def add_render(add_parser: AddParser) -> None:
    """Add the command and its options."""
    parser = add_command(
        add_parser, "render", run=run_render, takes="TARGET", description=RENDER_DESCRIPTION
    )
    parser.add_argument("target", metavar="TARGET", help=TARGET_HELP)
    add_request(parser, marks=True, texts=True)
    group = parser.add_argument_group("output")
    exclusive = group.add_mutually_exclusive_group()
    exclusive.add_argument(
        "--json",
        action="store_true",
        help="print JSON: the payload; the messages, losses and hints; or the text as a string",
    )
    exclusive.add_argument(
        "--outline", action="store_true", help="print only the parts, each with its size and line"
    )
    exclusive.add_argument(
        "--explain",
        action="store_true",
        help="print only the settings, each with the layer that set it",
    )
    group.add_argument(
        "--record",
        metavar="FILE",
        help="also write a record of the render, for promptdsl records show",
    )


def run_render(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the rendered prompt in the format of ``--for``, and the notes; write ``--record``."""
    props = read_arguments(arguments.pairs, arguments.props)
    with target_call(arguments.target, props, arguments) as call:
        rendered = rendered_call(call, arguments)
        notes = render_notes(rendered, arguments)
        if arguments.record is not None:
            text = rendered.record(inputs=call.arguments).to_json()
            write_report(arguments.record, f"{text}\n", is_record_text)
        if arguments.outline:
            return visible(relative_paths(rendered.outline(width=terminal_width()))), notes
        if arguments.explain:
            return visible(as_explanation(rendered.explain())), notes
        provider_format = arguments.provider_format or rendered.facts.provider or "text"
        if provider_format not in TEXT_FORMATS:
            return as_json(rendered._payload()), notes
        if provider_format == "text":
            if arguments.json:
                return as_json(str(rendered)), notes
            if is_colourful():
                return rendered._text(paint), notes
            return str(rendered), notes
        if not arguments.json:
            return visible(as_messages(rendered.messages)), notes
        # Optional keys without a value are left out.
        output = rendered.output
        optional = {
            "tools": [
                fields(tool, "name", "description", "input_schema") for tool in rendered.tools
            ],
            "tool_choice": rendered.tool_choice,
            "libraries": [as_section(section) for section in rendered.libraries],
            "output": output and fields(output, "name", "description", "schema", "strict"),
        }
        data = {
            "messages": [message.to_dict() for message in rendered.messages],
            **{key: value for key, value in optional.items() if value},
            "losses": [as_row(loss) for loss in rendered.losses],
            "hints": [as_row(hint) for hint in rendered.hints],
        }
        return as_json(data), notes
