"""``promptdsl batch read``: the results of a batch service, joined to the rows."""

import argparse
import os

from promptdsl import PromptError
from promptdsl.batch import write_results
from promptdsl.cli.commands import AddParser, add_command
from promptdsl.cli.errors import UsageError
from promptdsl.cli.libraries import one_line

DESCRIPTION = """\
Read the RESULTS of a batch service for the requests in --batch, and write a line of JSON for each
row: its answer, or why it has none."""


MOST_NOTES = 20
"""The most lines that are named as left out."""


def add_batch_read(add_parser: AddParser) -> None:
    """Add the command and its options."""
    parser = add_command(
        add_parser,
        "batch read",
        run=run,
        takes="RESULTS ... --batch DIR --output FILE",
        description=DESCRIPTION,
        codes="0 all rows have an answer; 1 some have none; 2 the results cannot be read",
    )
    parser.set_defaults(failed=2, target="")
    parser.add_argument("results", metavar="RESULTS", nargs="+", help="a file of results")
    parser.add_argument("--batch", required=True, metavar="DIR", help="the folder of the requests")
    parser.add_argument(
        "--columns",
        default="",
        metavar="A,B",
        help="columns of the tables that are added to each line, such as a label",
    )
    parser.add_argument("--output", required=True, metavar="FILE", help="a new file")


def run(arguments: argparse.Namespace) -> tuple[str, list[str], int]:
    """Return the summary, the notes and the exit code of the command."""
    if os.path.lexists(arguments.output):
        raise UsageError(f"there is a file {arguments.output}: name a new one")
    columns = [name for name in arguments.columns.split(",") if name]
    try:
        rows, answered, left_out = write_results(
            arguments.results, arguments.batch, arguments.output, columns
        )
    except PromptError as error:
        raise UsageError(one_line(error)) from None
    except OSError as error:
        path = error.filename or arguments.output
        raise UsageError(f"{path}: {error.strerror or error}") from None
    missing = rows - answered
    notes = [*left_out[:MOST_NOTES]]
    if len(left_out) > MOST_NOTES:
        notes.append(f"{len(left_out) - MOST_NOTES:,} more lines are left out")
    if missing:
        notes.append(
            f"no valid answer for {missing:,} of {rows:,} rows: see the 'error' in their lines"
        )
    summary = f"{arguments.output}: {rows:,} rows, {answered:,} with an answer"
    return summary, notes, 1 if missing else 0
