"""``promptdsl render``: a prompt, as a target takes it or as people read it."""

import argparse
import os
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from inspect import iscoroutinefunction
from typing import Any

from promptdsl import Loss, Node, Rendered, arender, render
from promptdsl.cli.faults import UsageError
from promptdsl.cli.parameters import Given, call, given
from promptdsl.cli.readable import as_explanation, as_json, as_messages, as_text, visible
from promptdsl.cli.target import found

PROVIDERS = (
    "openai",
    "openai_responses",
    "openai_compatible",
    "anthropic",
    "gemini",
    "bedrock",
    "chat_template",
)
FORMS = (*PROVIDERS, "messages", "text")
DESCRIPTION = """\
Render the prompt TARGET names. Data goes to standard output; what the target cannot say, and
whatever the code of the prompt prints, goes to standard error."""
EPILOG = """\
Exit codes: 0 done; 1 the prompt is wrong, or its code failed; 2 the command was called wrongly."""


def add_render(commands: Any) -> None:
    """Add the command and its options to the commands of a parser."""
    parser = commands.add_parser(
        "render",
        usage="promptdsl render TARGET [options]",
        help="render a prompt",
        description=DESCRIPTION,
        epilog=EPILOG,
        allow_abbrev=False,
    )
    parser.add_argument(
        "target",
        metavar="TARGET",
        help="file.py:name or module:name; the name of a prompt, or of a function that returns one",
    )
    _add_input(parser.add_argument_group("what is rendered"))
    _add_output(parser)


def _add_input(group: Any) -> None:
    group.add_argument(
        "--for",
        dest="form",
        choices=FORMS,
        metavar="FORM",
        help=f"a provider's request arguments ({', '.join(PROVIDERS)}), the neutral messages, or "
        "text; without it the provider of --model, or text",
    )
    group.add_argument("--model", metavar="NAME", help="the model, such as claude-opus-5-5")
    group.add_argument(
        "-p",
        dest="pairs",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an argument of the function, read as int, float or bool where it is annotated so; "
        "KEY:=JSON gives any JSON value; may be repeated",
    )
    group.add_argument(
        "--props", metavar="FILE", help="a JSON object of arguments; -p wins over it"
    )
    group.add_argument(
        "--media-root",
        dest="media_roots",
        action="append",
        default=[],
        metavar="DIR",
        help="a folder that paths in data may point into; may be repeated",
    )
    group.add_argument(
        "--cache", choices=("auto",), help="place cache marks where most can be reused"
    )
    group.add_argument(
        "--tool-choice",
        metavar="CHOICE",
        help="auto, none, required, or the name of the tool that has to be called",
    )
    group.add_argument(
        "--chat-template",
        metavar="FILE",
        help="the Jinja chat template of an open model, for chat_template",
    )
    group.add_argument(
        "--strict", action="store_true", help="fail for text or media the target cannot say"
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
    group.add_argument(
        "--traceback", action="store_true", help="show how the failing line was reached"
    )


def run(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the data and the notes of a command.

    Raises :class:`UsageError` when it is called wrongly, and whatever the prompt raises.
    """
    props = given(arguments.pairs, arguments.props)
    for root in arguments.media_roots:
        if not os.path.isdir(root):
            raise UsageError(f"no such folder: {root}")
    # What the code of a prompt prints is no data.
    with redirect_stdout(sys.stderr), found(arguments.target) as named:
        rendered = _rendered(_prompt(named, props, arguments.target), arguments)
        return _data(rendered, arguments), _notes(rendered, arguments)


def _prompt(named: object, props: Mapping[str, Given], target: str) -> object:
    if isinstance(named, type):
        raise UsageError(f"{target} is a class: name a prompt, or a function that returns one")
    if callable(named):
        return call(named, props, target)
    if props:
        raise UsageError(f"{target} is no function: it takes no parameters")
    return named


def _rendered(prompt: Any, arguments: argparse.Namespace) -> Rendered:
    request: dict[str, Any] = {
        "model": arguments.model,
        "provider": arguments.form if arguments.form in PROVIDERS else None,
        "strict": arguments.strict,
        "cache": arguments.cache,
        "tool_choice": arguments.tool_choice,
        "chat_template": _template(arguments.chat_template),
        "media_roots": arguments.media_roots,
    }
    if not _waits(prompt):
        return render(prompt, **request)
    import asyncio

    return asyncio.run(arender(prompt, **request))


def _template(name: str | None) -> str | None:
    """Return the text of a chat template; :class:`UsageError` for a file that cannot be read."""
    if name is None:
        return None
    try:
        with open(name, encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError) as error:
        raise UsageError(f"the chat template {name} cannot be read: {error}") from None


def _waits(prompt: Any) -> bool:
    """Return whether a part of the prompt has to be awaited."""
    waiting = [prompt]
    while waiting:
        part = waiting.pop()
        if iscoroutinefunction(getattr(part, "function", None)):
            return True
        waiting += getattr(part, "content", ()) if isinstance(part, Node) else ()
    return False


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


def _notes(rendered: Rendered, arguments: argparse.Namespace) -> list[str]:
    notes = [str(loss) for loss in rendered.losses]
    facts = rendered.facts
    if arguments.model and facts.provider is None:
        notes.append(f"model {arguments.model!r} is not known: name its provider with --for")
    elif arguments.model and not facts.known:
        notes.append(facts.label)
    return notes
