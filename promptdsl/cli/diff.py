"""``promptdsl diff``: where two requests differ first, for a provider's prompt cache."""

import argparse
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import promptdsl
from promptdsl.cli.arguments import given
from promptdsl.cli.errors import UsageError
from promptdsl.cli.options import (
    TARGET,
    add_command,
    add_input,
    add_provider,
    add_traceback,
    asked_for,
    check_folders,
    of_model,
)
from promptdsl.cli.show import as_json, visible
from promptdsl.cli.target import found

if TYPE_CHECKING:
    from promptdsl import PrefixReport, Rendered

DESCRIPTION = """\
Compare the requests that two prompts come to, as a provider's prompt cache does: how many tokens
they begin with alike, which part broke that, and what it costs. With one TARGET it is rendered
twice, with other arguments, or to see whether it is the same the next time."""


def add_diff(commands: Any) -> None:
    """Add the command and its options to the commands of a parser."""
    parser = add_command(
        commands,
        "diff",
        takes="--cache TARGET [TARGET]",
        summary="compare two requests as a prompt cache does",
        description=DESCRIPTION,
    )
    parser.add_argument("target", metavar="TARGET", help=TARGET)
    parser.add_argument(
        "other", metavar="TARGET", nargs="?", help="what is sent after it; without it the same"
    )
    parser.add_argument(
        "--cache", action="store_true", help="what is compared: what a prompt cache can reuse"
    )
    group = parser.add_argument_group("what is rendered")
    for name, which in (("before", "first"), ("after", "second")):
        group.add_argument(
            f"--{name}",
            action="append",
            default=[],
            metavar="KEY=VALUE",
            help=f"as -p, for the {which} alone; may be repeated",
        )
    add_provider(group)
    add_input(group, marks=False)
    group = parser.add_argument_group("what is printed")
    group.add_argument("--json", action="store_true", help="JSON: the same, for programs")
    add_traceback(group)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the data and the notes of a command.

    Raises :class:`UsageError` when it is called wrongly, and whatever the prompts raise.
    """
    if not arguments.cache:
        raise UsageError("it compares what a prompt cache can reuse: write promptdsl diff --cache")
    check_folders(arguments.media_roots)
    other = arguments.other or arguments.target
    before = _rendered(arguments.target, "before", arguments)
    # What goes wrong from here on is told of the second prompt.
    arguments.target = other
    after = _rendered(other, "after", arguments)
    report = promptdsl.prefix_report(before, after)
    data = _json(report) if arguments.json else visible(str(report))
    return data, of_model(after, arguments)


def _rendered(target: str, which: str, arguments: argparse.Namespace) -> "Rendered":
    props = given(arguments.pairs, arguments.props)
    props |= given(getattr(arguments, which), None, option=f"--{which}")
    with redirect_stdout(sys.stderr), found(target) as named:
        return asked_for(named, target, props, arguments, marks=False)


def _json(report: "PrefixReport") -> str:
    first = report.first
    source = first.source if first else None
    return as_json(
        {
            "shared": report.shared,
            "before": report.before,
            "after": report.after,
            "behind": report.behind,
            "cost": report.cost,
            "label": report.label,
            "extends": report.extends,
            "first": first
            and {
                "how": first.how,
                "what": first.what,
                "path": first.path,
                "file": source.file if source else None,
                "line": source.line if source else None,
            },
        }
    )
