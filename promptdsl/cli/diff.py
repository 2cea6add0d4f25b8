"""``promptdsl diff``: where two requests differ first, for a provider's prompt cache."""

import argparse

import promptdsl
from promptdsl import Rendered
from promptdsl.cli.arguments import read_arguments
from promptdsl.cli.commands import AddParser, add_command, add_target
from promptdsl.cli.errors import UsageError
from promptdsl.cli.options import (
    add_request,
    model_notes,
    rendered_target,
)
from promptdsl.cli.show import as_json, as_row, relative, visible

DESCRIPTION = """\
Compare the requests of two prompts as a provider's prompt cache does: the tokens that they share at
their beginning, the first part that differs, and the cost of the second request. A single TARGET is
rendered twice: with other arguments, or to see whether both requests are the same."""


def add_diff(add_parser: AddParser) -> None:
    """Add the command and its options."""
    parser = add_command(
        add_parser,
        "diff",
        takes="--cache TARGET [TARGET]",
        description=DESCRIPTION,
    )
    add_target(parser)
    parser.add_argument(
        "other",
        metavar="TARGET",
        nargs="?",
        help="the second prompt; without it the first again",
    )
    parser.add_argument(
        "--cache",
        dest="is_cache_diff",
        action="store_true",
        help="compare the tokens that a prompt cache can reuse; required",
    )
    add_request(parser, marks=False, texts=False)
    group = parser.add_argument_group("differences")
    for name, which in (("before", "first"), ("after", "second")):
        group.add_argument(
            f"--{name}",
            action="append",
            default=[],
            metavar="KEY=VALUE",
            help=f"as -p, for the {which} prompt only; may be repeated",
        )
    group = parser.add_argument_group("output")
    group.add_argument("--json", action="store_true", help="print the same as JSON")
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
        return visible(relative(str(report))), notes
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
