"""``promptdsl diff``: where two requests differ first, for a provider's prompt cache."""

import argparse

import promptdsl
from promptdsl import Rendered
from promptdsl.cli.arguments import read_arguments
from promptdsl.cli.errors import UsageError
from promptdsl.cli.options import (
    AddParser,
    add_command,
    add_request,
    model_notes,
    rendered_target,
)
from promptdsl.cli.show import as_json, as_row, visible

DESCRIPTION = """\
Compare the requests that two prompts come to, as a provider's prompt cache does: how many tokens
they begin with alike, which part broke that, and what it costs. With one TARGET it is rendered
twice, with other arguments, or to see whether it is the same the next time."""


def add_diff(add_parser: AddParser) -> None:
    """Add the command and its options."""
    parser = add_command(
        add_parser,
        "diff",
        takes="--cache TARGET [TARGET]",
        summary="compare two requests as a prompt cache does",
        description=DESCRIPTION,
    )
    parser.add_argument(
        "other", metavar="TARGET", nargs="?", help="what is sent after it; without it the same"
    )
    parser.add_argument(
        "--cache",
        dest="is_cache_diff",
        action="store_true",
        help="what is compared: what a prompt cache can reuse",
    )
    add_request(parser, marks=False, texts=False)
    group = parser.add_argument_group("what differs")
    for name, which in (("before", "first"), ("after", "second")):
        group.add_argument(
            f"--{name}",
            action="append",
            default=[],
            metavar="KEY=VALUE",
            help=f"as -p, for the {which} alone; may be repeated",
        )
    group = parser.add_argument_group("what is printed")
    group.add_argument("--json", action="store_true", help="JSON: the same, for programs")
    group.add_argument(
        "--traceback", action="store_true", help="show how the failing line was reached"
    )
    parser.set_defaults(run=run, cache=None)


def run(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the data and the notes of the command.

    Raises :class:`UsageError` when it is called wrongly, and whatever the prompts raise.
    """
    if not arguments.is_cache_diff:
        raise UsageError("it compares what a prompt cache can reuse: write promptdsl diff --cache")
    other = arguments.other or arguments.target
    before = _rendered(arguments.target, arguments, "--before", arguments.before)
    # An error from here on names the second prompt.
    arguments.target = other
    after = _rendered(other, arguments, "--after", arguments.after)
    report = promptdsl.prefix_report(before, after)
    notes = model_notes(after, arguments)
    if not arguments.json:
        return visible(str(report)), notes
    data = {
        "shared": report.shared,
        "before": report.before,
        "after": report.after,
        "behind": report.behind,
        "cost": report.cost,
        "label": report.label,
        "extends": report.extends,
        "first": report.first and as_row(report.first),
    }
    return as_json(data), notes


def _rendered(
    target: str, arguments: argparse.Namespace, option: str, pairs: list[str]
) -> Rendered:
    props = read_arguments(arguments.pairs, arguments.props)
    props |= read_arguments(pairs, None, option=option)
    with rendered_target(target, props, arguments) as rendered:
        return rendered
