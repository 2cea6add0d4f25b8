"""The options of the commands that render a prompt.

In this order: the options; the functions that render the TARGET of a command with them; and the
notes on a render.
"""

import argparse
import os
import re
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal, get_args

from promptdsl import (
    AdapterName,
    Prompt,
    ProviderId,
    ProviderName,
    Rendered,
    TargetError,
    provider_names,
    render,
)
from promptdsl.batch import rendered_prompt
from promptdsl.cli.commands import Arguments, add_arguments
from promptdsl.cli.output import UsageError
from promptdsl.cli.target import TargetCall, add_inputs, target_call

PROVIDERS: tuple[str, ...] = get_args(AdapterName)
"""The providers that have an adapter; ``provider_names()`` also has the servers."""
PROVIDERS_HELP = f"{', '.join(PROVIDERS)}, or a server such as deepseek"
"""The list of providers, for the help of an option."""
TEXT_FORMATS = ("messages", "text")
"""The values of ``--for`` that are not providers."""

_BRIEF_HELP = {
    "--for": "the provider, if it does not follow from --model",
    "--model": "the model, such as claude-opus-5-5",
    "-p": "an argument of the function; promptdsl render --help lists more options",
}
"""The options that a brief help shows, each with its help."""


def add_request(
    parser: argparse.ArgumentParser,
    *,
    marks: bool,
    texts: bool,
    brief: bool = False,
    formats: Sequence[str] = (),
    payloads: bool = False,
) -> None:
    """Add the options of a render.

    With ``marks``, there is an option for cache marks. With ``texts``, ``--for`` also takes
    ``messages`` and ``text``. A ``brief`` help shows only the most important options. With
    ``formats``, which are formats of files, ``--format`` replaces ``--for``. With ``payloads``,
    ``--for`` may be repeated, and takes the models and providers whose payloads are shown.
    """
    group = parser.add_argument_group("prompt")
    parser.set_defaults(text_formats=TEXT_FORMATS if texts else ())

    def add(name: str, **options: Any) -> None:  # Any: keywords of add_argument()
        if brief:
            options["help"] = _BRIEF_HELP.get(name, argparse.SUPPRESS)
        group.add_argument(name, **options)

    if payloads:
        help_text = "a model or provider whose payload is shown; may be repeated"
        add("--for", dest="payloads", action="append", default=[], metavar="MODEL", help=help_text)
    else:
        name, metavar, help_text = _format_option(formats, texts=texts)
        add(name, dest="provider_format", metavar=metavar, help=help_text)
    add("--model", metavar="NAME", help="the model, such as claude-opus-5-5")
    add_arguments(add, what="an argument of the function")
    if not formats:
        add_inputs(add)
    add(
        "--budget",
        type=_token_budget,
        metavar="TOKENS",
        help="the most tokens that the prompt and its reserve may have; 'window' is the context "
        "window of the model",
    )
    add(
        "--reserve",
        type=partial(whole_number, unit="tokens"),
        default=0,
        metavar="TOKENS",
        help="how many tokens of the budget stay free for the answer",
    )
    add(
        "--media-root",
        dest="media_roots",
        action="append",
        default=[],
        metavar="DIR",
        help="a folder: paths in data may name files in it; may be repeated",
    )
    if marks:
        add(
            "--cache",
            choices=("auto",),
            help="place cache marks where a cache can reuse the most tokens",
        )
    add(
        "--tool-choice",
        metavar="CHOICE",
        help="auto, none, required, or the name of the tool that the model must call",
    )
    add(
        "--chat-template",
        metavar="FILE",
        help="the Jinja chat template of an open model, for the provider chat_template",
    )
    add("--strict", action="store_true", help="fail if content is lost, or sent in another role")


def _format_option(formats: Sequence[str], *, texts: bool) -> tuple[str, str, str]:
    """Return the name, the placeholder and the help of ``--for`` or ``--format``."""
    if formats:
        help_text = f"the service that takes the files ({', '.join(formats)}, or a server such as "
        help_text += "groq); by default the provider of --model, or messages"
        return "--format", "FORMAT", help_text
    if texts:
        help_text = (
            f"what to print: the request of a provider ({PROVIDERS_HELP}), messages, or text; "
        )
        help_text += "by default the request of the provider of --model, or text"
        return "--for", "FORMAT", help_text
    help_text = f"the provider ({PROVIDERS_HELP}); by default that of --model, or none"
    return "--for", "PROVIDER", help_text


def checked_provider(name: str | None) -> ProviderName | None:
    """Return the name of a provider. Raises :class:`UsageError` for an unknown provider.

    A module that a command loads may register servers. So call this after the module is loaded.
    """
    provider = None if name is None else ProviderId(name)
    if provider in (None, *provider_names()):
        return provider
    try:
        # This raises an error with similar names.
        render(Prompt(), provider=provider)
    except TargetError as error:
        raise UsageError(f"{error.what}\n  {error.fix}") from None
    return provider


def whole_number(text: str, unit: str) -> int:
    """Return a whole number, written as in Python, such as ``100_000``; it is not negative.

    Raises ``ArgumentTypeError`` for any other text; the error has the ``unit`` of the number.
    """
    if _WHOLE_NUMBER.fullmatch(text) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number ({unit})")
    return int(text)


# At most 100 digits: int() refuses a text of more than 4,300.
_WHOLE_NUMBER = re.compile(r"[0-9](?:_?[0-9]){0,99}")


def _token_budget(text: str) -> int | Literal["window"]:
    return "window" if text == "window" else whole_number(text, "tokens or 'window'")


def add_page_request(parser: argparse.ArgumentParser) -> None:
    """Add the targets that a page shows, and the options of the requests on it."""
    parser.add_argument("targets", nargs="+", metavar="TARGET", help="what the page shows")
    parser.add_argument("--id", help="show only the requests of a log with this id")
    add_request(parser, marks=True, texts=False, payloads=True)
    parser.set_defaults(target="", provider_format=None)


def add_price(add_argument: Callable[..., object], *, help_end: str = "") -> None:
    """Add the option of the price of tokens; its help ends with ``help_end``."""
    help_text = f"the price of a million tokens, and of a million cached tokens{help_end}"
    add_argument("--price", type=prices, metavar="P[,CACHED]", help=help_text)


def prices(text: str) -> list[float]:
    """Return one or two prices. Raises ``ArgumentTypeError`` for any other text."""
    try:
        numbers = [float(price) for price in text.split(",")]
    except ValueError:
        numbers = []  # refused below
    if len(numbers) not in (1, 2) or not all(0 <= price < float("inf") for price in numbers):
        problem = f"{text!r} is not a price, or two prices: write 2.5 or 2.5,0.25"
        raise argparse.ArgumentTypeError(problem)
    return numbers


# Rendering the prompt that TARGET names.


@contextmanager
def rendered_target(
    target: str, props: Arguments, arguments: argparse.Namespace
) -> Generator[Rendered]:
    """Yield the rendered prompt that TARGET names; output of its code goes to standard error."""
    with target_call(target, props, arguments) as call:
        yield rendered_call(call, arguments)


def rendered_call(call: TargetCall, arguments: argparse.Namespace) -> Rendered:
    """Return the rendered prompt of a call.

    The name of the provider is checked only now, because the module of the target may register it.
    """
    if arguments.provider_format not in arguments.text_formats:
        checked_provider(arguments.provider_format)
    return rendered_prompt(call.prompt(), render_options(arguments))


def render_options(arguments: argparse.Namespace) -> dict[str, Any]:  # Any: keywords of render()
    """Return the options of ``render()`` that a command line has.

    Raises :class:`UsageError` for a missing folder, and for a chat template that cannot be read.
    """
    for root in arguments.media_roots:
        if not os.path.isdir(root):
            raise UsageError(f"no such folder: {root}")
    chat_template = None
    if arguments.chat_template is not None:
        try:
            with open(arguments.chat_template, encoding="utf-8") as file:
                chat_template = file.read()
        except (OSError, ValueError) as error:
            raise UsageError(
                f"cannot read the chat template {arguments.chat_template}: {error}"
            ) from None
    return {
        "model": arguments.model,
        "provider": None
        if arguments.provider_format in TEXT_FORMATS
        else arguments.provider_format,
        "budget": arguments.budget,
        "reserve": arguments.reserve,
        "strict": arguments.strict,
        "cache": arguments.cache,
        "tool_choice": arguments.tool_choice,
        "chat_template": chat_template,
        "media_roots": arguments.media_roots,
    }


# Notes on a render.


def render_notes(rendered: Rendered, arguments: argparse.Namespace) -> list[str]:
    """Return the notes on a render: a note if the model is unknown, its losses and its hints."""
    # The note on an unknown model replaces the hint about this model.
    subject = f"model {arguments.model!r}"
    hints = [str(hint) for hint in rendered.hints if hint.what != subject]
    return [*model_notes(rendered, arguments), *map(str, rendered.losses), *hints]


def model_notes(rendered: Rendered, arguments: argparse.Namespace) -> list[str]:
    """Return a note if the model is unknown, with similar names; else an empty list."""
    facts, subject = rendered.facts, f"model {arguments.model!r}"
    if not arguments.model or facts.known:
        return []
    note = facts.label
    if facts.provider is None:
        advice = "name its provider with --for; open models and most servers are openai_compatible"
        note = f"{subject} is not known: {advice}"
    # A hint about the model ends with similar names.
    advice_of_hints = [
        hint.why.rpartition(": ")[2] for hint in rendered.hints if hint.what == subject
    ]
    return ["; ".join([f"warning: {note}", *advice_of_hints])]
