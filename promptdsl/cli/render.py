"""``promptdsl render``: a prompt, as a payload for a provider or as text for people."""

import argparse

from promptdsl.cli.arguments import read_arguments
from promptdsl.cli.commands import TARGET, AddParser, add_command
from promptdsl.cli.inputs import target_call
from promptdsl.cli.messages import as_messages
from promptdsl.cli.options import (
    FOR_PEOPLE,
    add_request,
    render_notes,
    rendered_call,
)
from promptdsl.cli.show import (
    as_explanation,
    as_json,
    as_row,
    as_section,
    fields,
    is_colourful,
    relative,
)
from promptdsl.cli.sides import is_record_text
from promptdsl.cli.write_files import write_report
from promptdsl.comparing import terminal_width, visible

DESCRIPTION = """\
Render the prompt that TARGET names. Data goes to standard output. Losses, and the output of the
prompt's code, go to standard error."""


def add_render(add_parser: AddParser) -> None:
    """Add the command and its options."""
    parser = add_command(add_parser, "render", run=run, takes="TARGET", description=DESCRIPTION)
    parser.add_argument("target", metavar="TARGET", help=TARGET)
    add_request(parser, marks=True, texts=True)
    group = parser.add_argument_group("output")
    instead = group.add_mutually_exclusive_group()
    instead.add_argument(
        "--json",
        action="store_true",
        help="JSON: the payload; messages, losses and hints; or the text as a JSON string",
    )
    instead.add_argument(
        "--outline", action="store_true", help="print the parts instead, with their sizes and lines"
    )
    instead.add_argument(
        "--explain", action="store_true", help="print the settings instead, with their layers"
    )
    group.add_argument(
        "--record", metavar="FILE", help="write what is sent, and why: see promptdsl records show"
    )


def run(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the data and the notes of the command."""
    props = read_arguments(arguments.pairs, arguments.props)
    with target_call(arguments.target, props, arguments) as call:
        rendered = rendered_call(call, arguments)
        notes = render_notes(rendered, arguments)
        if arguments.record is not None:
            text = rendered.record(inputs=call.arguments).to_json()
            write_report(arguments.record, f"{text}\n", is_record_text)
        if arguments.outline:
            return visible(relative(rendered.outline(width=terminal_width()))), notes
        if arguments.explain:
            return visible(as_explanation(rendered.explain())), notes
        provider_format = arguments.provider_format or rendered.facts.provider or "text"
        if provider_format not in FOR_PEOPLE:
            return as_json(rendered._payload()), notes
        if provider_format == "text":
            if arguments.json:
                return as_json(str(rendered)), notes
            if is_colourful():
                from promptdsl.cli.terminal import paint

                return rendered._text(paint), notes
            return str(rendered), notes
        if not arguments.json:
            return visible(as_messages(rendered.messages)), notes
        # Empty values are left out.
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
