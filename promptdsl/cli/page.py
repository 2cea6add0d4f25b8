"""``promptdsl page``: prompts, records and logs as one file to look at."""

import argparse
from collections.abc import Sequence
from contextlib import ExitStack

from promptdsl.cli.arguments import Arguments, read_arguments
from promptdsl.cli.commands import AddParser, add_command
from promptdsl.cli.errors import UsageError
from promptdsl.cli.inputs import TargetCall, target_calls
from promptdsl.cli.options import add_page_request, add_price, render_options
from promptdsl.cli.page_files import file_prompts
from promptdsl.cli.write_files import write_report
from promptdsl.page import PagePrompt, Shown, is_page, made_page, page_html

DESCRIPTION = """\
Write one file to look at: what is sent, what was left out, what a cache serves, and the payload for
each --for MODEL. A TARGET is a prompt (file.py:name), a record or a payload (*.json), a folder of
records, or a log. The page loads nothing and works from disk. It holds the texts of the prompts."""
OK, FAILED = 0, 1


def add_page(add_parser: AddParser) -> None:
    """Add the command and its options."""
    parser = add_command(
        add_parser,
        "page",
        run=run,
        takes="TARGET... -o FILE.html",
        description=DESCRIPTION,
        failed="a target failed: the page shows its error",
    )
    add_page_request(parser)
    group = parser.add_argument_group("output")
    group.add_argument(
        "-o",
        dest="output",
        required=True,
        metavar="FILE",
        help="the file; an older page is replaced",
    )
    add_price(group.add_argument)
    group.add_argument(
        "--without-content",
        action="store_true",
        help="leave out texts, names, ids, files, payloads and errors",
    )


def run(arguments: argparse.Namespace) -> tuple[str, list[str], int]:
    """Return no data, the targets that failed and the file as notes, and the exit code."""
    if arguments.payloads and arguments.without_content:
        raise UsageError("--for writes payloads, and --without-content leaves them out")
    props = read_arguments(arguments.pairs, arguments.props)
    options = render_options(arguments)
    with ExitStack() as stack:
        prompts: list[PagePrompt] = []
        notes: list[str] = []
        for target in arguments.targets:
            target_prompts, target_notes = _prompts(target, props, arguments, stack)
            prompts += target_prompts
            notes += target_notes
        data, errors = made_page(
            *prompts,
            models=arguments.payloads,
            price=arguments.price,
            content=not arguments.without_content,
            **options,
        )
    write_report(arguments.output, page_html(data), is_page)
    notes += [*errors, f"the page is in {arguments.output}"]
    return "", notes, FAILED if errors else OK


def _prompts(
    target: str, props: Arguments, arguments: argparse.Namespace, stack: ExitStack
) -> tuple[Sequence[PagePrompt], list[str]]:
    """Return the prompts that a target names, and notes; of one whose code fails, its error."""
    of_files = file_prompts(target, arguments)
    if of_files is not None:
        return of_files
    try:
        calls = stack.enter_context(target_calls(target, props, arguments))
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        return [PagePrompt(target, (error,), props)], []
    return [prompt_of_call(call) for call in calls], []


def prompt_of_call(call: TargetCall) -> PagePrompt:
    """Return the prompt of a call; of one whose code fails, its error."""
    name = None if call.inputs is None else call.inputs.name
    try:
        request: Shown = call.prompt()
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        request = error
    return PagePrompt(call.target, (request,), call.arguments, name)
