"""``promptdsl render``: a prompt, as a target takes it or as people read it."""

import argparse
import sys
from contextlib import redirect_stdout
from typing import Any

from promptdsl import Loss, Rendered
from promptdsl.cli.arguments import given
from promptdsl.cli.options import (
    PROVIDERS,
    add_command,
    add_input,
    add_target,
    add_traceback,
    asked_for,
    check_folders,
    noted,
)
from promptdsl.cli.show import as_explanation, as_json, as_messages, as_text, visible
from promptdsl.cli.target import found

FORMS = (*PROVIDERS, "messages", "text")
DESCRIPTION = """\
Render the prompt TARGET names. Data goes to standard output; what the target cannot say, and
whatever the code of the prompt prints, goes to standard error."""


def add_render(commands: Any) -> None:
    """Add the command and its options to the commands of a parser."""
    parser = add_command(
        commands,
        "render",
        takes="TARGET",
        summary="render a prompt",
        description=DESCRIPTION,
    )
    add_target(parser)
    group = parser.add_argument_group("what is rendered")
    _add_form(group)
    add_input(group, marks=True)
    _add_output(parser)
    parser.set_defaults(run=run)


def _add_form(group: Any) -> None:
    group.add_argument(
        "--for",
        dest="form",
        choices=FORMS,
        metavar="FORM",
        help=f"a provider's request arguments ({', '.join(PROVIDERS)}), the neutral messages, or "
        "text; without it the provider of --model, or text",
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what is printed")
    instead = group.add_mutually_exclusive_group()
    instead.add_argument(
        "--json",
        action="store_true",
        help="JSON: the payload; messages and losses; or the text as a JSON string",
    )
    instead.add_argument(
        "--outline", action="store_true", help="instead: the parts, their sizes and their lines"
    )
    instead.add_argument(
        "--explain", action="store_true", help="instead: the configuration, and what set each value"
    )
    add_traceback(group)


def run(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the data and the notes of a command.

    Raises :class:`UsageError` when it is called wrongly, and whatever the prompt raises.
    """
    props = given(arguments.pairs, arguments.props)
    check_folders(arguments.media_roots)
    # What the code of a prompt prints is no data.
    with redirect_stdout(sys.stderr), found(arguments.target) as named:
        rendered = asked_for(named, arguments.target, props, arguments)
        return _data(rendered, arguments), noted(rendered, arguments)


def _form(rendered: Rendered, arguments: argparse.Namespace) -> str:
    return arguments.form or rendered.facts.provider or "text"


def _data(rendered: Rendered, arguments: argparse.Namespace) -> str:
    if arguments.outline:
        return visible(rendered.outline())
    if arguments.explain:
        return visible(as_explanation(rendered.explain()))
    form = _form(rendered, arguments)
    if form in PROVIDERS:
        return as_json(rendered.payload())
    if form == "text":
        text = as_text(rendered.messages)
        return as_json(text) if arguments.json else visible(text)
    if not arguments.json:
        return visible(as_messages(rendered.messages))
    messages = [message.to_dict() for message in rendered.messages]
    said = {"messages": messages, **_offered(rendered)}
    return as_json({**said, "losses": [_loss(loss) for loss in rendered.losses]})


def _offered(rendered: Rendered) -> dict[str, object]:
    """Return the tools, their choice and the form of the answer, where the prompt says them."""
    tools = [
        {"name": t.name, "description": t.description, "input_schema": t.input_schema}
        for t in rendered.tools
    ]
    output = rendered.output
    form = output and {
        "name": output.name,
        "description": output.description,
        "schema": output.schema,
        "strict": output.strict,
    }
    said = {"tools": tools, "tool_choice": rendered.tool_choice, "output": form}
    return {key: value for key, value in said.items() if value}


def _loss(loss: Loss) -> dict[str, object]:
    source = loss.source
    return {
        "kind": loss.kind,
        "what": loss.what,
        "why": loss.why,
        "path": loss.path,
        "file": source.file if source else None,
        "line": source.line if source else None,
    }
