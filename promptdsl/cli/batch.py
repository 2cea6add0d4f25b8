"""``promptdsl batch`` and ``promptdsl batch read``: the requests of a table, and their results.

In this order: ``batch read``, which is shorter; ``batch``; and the progress of a batch.
"""

import argparse
import atexit
import os
import sys
import time
from collections.abc import Callable, Generator
from concurrent.futures import BrokenExecutor
from contextlib import ExitStack, closing, contextmanager, redirect_stdout
from functools import partial
from typing import Any

from promptdsl import PromptError
from promptdsl.batch import (
    BatchWriter,
    CountingWriter,
    Job,
    Pools,
    ProcessPool,
    RayPool,
    RowReader,
    RowRenderer,
    count_rows,
    services,
    write_batch,
    write_results,
)
from promptdsl.cli.commands import AddParser, add_command, read_arguments, request_settings
from promptdsl.cli.libraries import one_line
from promptdsl.cli.options import add_price, add_request, model_notes, render_options, whole_number
from promptdsl.cli.output import UsageError
from promptdsl.cli.target import loaded_target

# ``promptdsl batch read``: the results of a batch service, joined to the rows.

BATCH_READ_DESCRIPTION = """\
Read the RESULTS of a batch service for the requests in the folder --batch. For each row of the
table, write a line of JSON with its answer, or with the reason why it has none."""


MAXIMUM_NOTES = 20
"""The maximum number of notes on lines of results that are left out."""


def add_batch_read(add_parser: AddParser) -> None:
    """Add the command and its options."""
    parser = add_command(
        add_parser,
        "batch read",
        run=run_batch_read,
        takes="RESULTS ... --batch DIR --output FILE",
        description=BATCH_READ_DESCRIPTION,
        codes="0 all rows have an answer; 1 some rows have none; 2 the results cannot be read",
    )
    parser.set_defaults(failed=2, target="")
    parser.add_argument("results", metavar="RESULTS", nargs="+", help="a file of results")
    parser.add_argument("--batch", required=True, metavar="DIR", help="the folder of the requests")
    parser.add_argument(
        "--columns",
        default="",
        metavar="A,B",
        help="columns of the table to add to each line, such as a label",
    )
    parser.add_argument(
        "--output", required=True, metavar="FILE", help="the new file for the answers"
    )


def run_batch_read(arguments: argparse.Namespace) -> tuple[str, list[str], int]:
    """Write the answers; return the summary, the notes and the exit code."""
    if os.path.lexists(arguments.output):
        raise UsageError(f"the file {arguments.output} already exists: name a new file")
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
    notes = [*left_out[:MAXIMUM_NOTES]]
    if len(left_out) > MAXIMUM_NOTES:
        notes.append(f"{len(left_out) - MAXIMUM_NOTES:,} more lines are left out")
    if missing:
        notes.append(
            f"no valid answer for {missing:,} of {rows:,} rows: see the 'error' in their lines"
        )
    summary = f"{arguments.output}: {rows:,} rows, {answered:,} with an answer"
    return summary, notes, 1 if missing else 0


# ``promptdsl batch``: a prompt for each row of a table, as files of requests.

BATCH_DESCRIPTION = """\
Render a prompt for each row of the INPUT tables (.jsonl, .csv, .tsv, .parquet), and write the
requests to files for the batch service of a provider. The cells of a row are the arguments of the
function TARGET, by the names of their columns; columns without a parameter are left out. In the
prompt, write a cell as data: Value(cell). promptdsl batch read reads the results of the service."""
BATCH_CODES = (
    "0 all rows became requests; 1 some rows failed; 2 the batch could not run; 130 Ctrl-C"
)


class _BatchInterrupt(UsageError):
    """The error when Ctrl-C stops a batch."""

    code = 130


def add_batch(add_parser: AddParser) -> None:
    """Add the command and its options."""
    takes = "TARGET INPUT ... --output DIR"
    parser = add_command(
        add_parser,
        "batch",
        run=run_batch,
        takes=takes,
        description=BATCH_DESCRIPTION,
        codes=BATCH_CODES,
    )
    parser.set_defaults(failed=2)
    target_help = (
        "a function, file.py:name or module:name, or a section of a library: support:triage"
    )
    parser.add_argument("target", metavar="TARGET", help=target_help)
    parser.add_argument("inputs", metavar="INPUT", nargs="+", help="the file of a table")
    add_request(parser, marks=True, texts=False, formats=tuple(services()))
    group = parser.add_argument_group("batch")
    add = group.add_argument
    add("--output", metavar="DIR", help="a new folder for the files; --dry-run needs none")
    add(
        "--set",
        dest="extra",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="add a key to each request: n=1 is a number, user=Ann is text, KEY:=JSON any value",
    )
    add(
        "--id",
        metavar="COLUMN",
        help="the column with the ids of the requests; by default, ids are generated",
    )
    help_text = "also send a row whose prompt has no text of a user or a history"
    add("--keep-empty", action="store_true", help=help_text)
    add("--hints", action="store_true", help="also write the hints of each row to losses.jsonl")
    add("--dedupe", action="store_true", help="send equal requests once")
    help_text = "how many processes render (default: 1; with Ray: one for each CPU)"
    add("--workers", type=_workers, metavar="N", help=help_text)
    add(
        "--engine",
        choices=("ray",),
        help="render on a Ray cluster; without --address, on a new one on this machine",
    )
    add("--address", help="the Ray cluster: HOST:PORT, or auto for the one on this machine")
    add(
        "--on-error",
        choices=("keep", "stop"),
        default="keep",
        help="after a row that failed: keep (the default) continues, stop ends the batch",
    )
    add(
        "--depends-on",
        action="append",
        default=[],
        metavar="FILE",
        help="a file that the code of the prompt reads; if it changed, --resume is an error",
    )
    add("--resume", action="store_true", help="continue a batch that was stopped")
    add("--force", action="store_true", help="resume although the prompt or an input changed")
    add("--dry-run", action="store_true", help="count tokens, files and bytes; write nothing")
    add_price(add, help_end=", for --dry-run")


def _workers(text: str) -> int:
    """Return the number of processes; ``0`` means 1."""
    return whole_number(text, "processes") or 1


def run_batch(arguments: argparse.Namespace) -> tuple[str, list[str], int]:
    """Write or count the requests; return the summary, the notes and the exit code."""
    if arguments.output is None and not arguments.dry_run:
        raise UsageError("name the folder for the files: --output DIR")
    if arguments.address is not None and arguments.engine is None:
        raise UsageError("--address names a Ray cluster: add --engine ray")
    if arguments.id is not None and arguments.dedupe:
        raise UsageError("write --id or --dedupe, not both: equal rows would get the same id")
    settings = _settings(arguments)
    with redirect_stdout(sys.stderr), _renderer(arguments.target, settings) as renderer:
        job_options = {
            key: getattr(arguments, key) for key in ("target", "id", "dedupe", "depends_on")
        }
        load = partial(_worker_renderer, arguments.target, settings)
        try:
            parameters = renderer.parameters
            columns = None if parameters.takes_all else {*parameters.types, arguments.id}
            reader = RowReader(arguments.inputs, columns)
            job = Job(reader, renderer, load, {**job_options, **settings}, _pools(arguments))
            if arguments.dry_run:
                return _count_requests(job, arguments)
            return _write_requests(job, arguments)
        except PromptError as error:
            raise UsageError(one_line(error)) from None
        except KeyboardInterrupt:
            raise _BatchInterrupt("stopped") from None
        except BrokenExecutor:
            option = "--engine" if arguments.engine else "--workers"
            problem = "a worker process died: --resume continues the batch"
            raise UsageError(f"{problem}; leave out {option} to find the row") from None
        except OSError as error:
            path = error.filename or arguments.output
            raise UsageError(f"cannot write {path}: {error.strerror or error}") from None


def _pools(arguments: argparse.Namespace) -> Pools | None:
    """Return the pools that render rows; ``None`` to render in this process."""
    workers: int | None = arguments.workers
    if arguments.engine is None:
        return partial(ProcessPool, workers=workers) if workers and workers > 1 else None
    left_out = [*arguments.inputs]
    if arguments.output:
        left_out.append(arguments.output)
    return partial(RayPool, workers=workers, address=arguments.address, left_out=left_out)


def _settings(arguments: argparse.Namespace) -> dict[str, Any]:  # Any: keywords of RowRenderer
    """Return the settings of the renderer of rows. Raises :class:`UsageError` for a wrong one."""
    options = render_options(arguments)
    return {
        **{key: value for key, value in options.items() if key != "provider"},
        "format": arguments.provider_format,
        "keep_empty": arguments.keep_empty,
        "hints": arguments.hints,
        "extra": request_settings(arguments.extra),
        "constants": read_arguments(arguments.pairs, arguments.props),
    }


@contextmanager
def _renderer(target: str, settings: dict[str, Any]) -> Generator[RowRenderer]:
    """Yield the renderer of a target. Raises :class:`UsageError` if the target is not a function.

    Also raises :class:`UsageError` for wrong settings.
    """
    with loaded_target(target) as prompt_function:
        if not callable(prompt_function) or isinstance(prompt_function, type):
            problem = f"{target} is not a function"
            raise UsageError(f"{problem}: name one whose parameters are the columns of the table")
        try:
            renderer = RowRenderer(prompt_function, name=target, **settings)
        except PromptError as error:
            raise UsageError(one_line(error)) from None
        yield renderer


_WORKER_RESOURCES = ExitStack()
"""The loaded target and the redirected output of a worker process; they are closed at its end."""


def _worker_renderer(target: str, settings: dict[str, Any]) -> RowRenderer:
    """Return the renderer of a worker process. All its output goes to standard error."""
    atexit.register(_WORKER_RESOURCES.close)
    _WORKER_RESOURCES.enter_context(redirect_stdout(sys.stderr))
    return _WORKER_RESOURCES.enter_context(_renderer(target, settings))


def _write_requests(job: Job, arguments: argparse.Namespace) -> tuple[str, list[str], int]:
    """Write the requests; return the files, the notes and the exit code.

    Raises :class:`_BatchInterrupt` if Ctrl-C stops the batch.
    """
    folder: str = arguments.output
    writer: BatchWriter | None = None
    steps = write_batch(
        job,
        folder,
        resume=arguments.resume,
        force=arguments.force,
        id=arguments.id,
        dedupe=arguments.dedupe,
        stop=arguments.on_error == "stop",
        depends_on=arguments.depends_on,
    )
    try:
        with closing(steps), _progress(job.reader) as show:
            for writer in steps:
                show(writer.rows, writer.failed)
    except KeyboardInterrupt:
        if writer is None:
            raise
        problem = f"stopped after {_rows(writer.rows)}: continue with --resume"
        raise _BatchInterrupt(problem) from None
    assert writer is not None  # write_batch() yields it before the first row
    lines = [_request_counts(writer)]
    lines += [f"  {os.path.join(folder, file.name)}" for file in writer.parts]
    notes = model_notes(job.renderer.trial, arguments)
    notes += [f"{path} has no rows" for path in job.reader.empty]
    columns = sorted(job.reader.names - {arguments.id})
    unused_columns = [name for name in columns if not job.renderer.parameters.takes(name)]
    if unused_columns:
        names = ", ".join(unused_columns)
        notes.append(f"{job.renderer.name} does not take these columns: {names}")
    if writer.failed:
        errors_path = os.path.join(folder, "errors.jsonl")
        notes += [*writer.examples, f"{_rows(writer.failed)} failed: {errors_path}"]
    losses_path = os.path.join(folder, "losses.jsonl")
    if writer.lossy:
        notes.append(f"{_rows(writer.lossy)} lost content: {losses_path}")
    if writer.hinted:
        notes.append(f"{_rows(writer.hinted)} with hints: {losses_path}")
    if writer.sent < job.renderer.service.fewest:
        fewest = f"{job.renderer.service.fewest:,}"
        notes.append(f"the service refuses a batch of fewer than {fewest} requests")
    if not writer.finished:
        notes.append("stopped at the first row that failed: continue with --resume")
    return "\n".join(lines), notes, int(writer.failed > 0)


def _count_requests(job: Job, arguments: argparse.Namespace) -> tuple[str, list[str], int]:
    """Return the size and the cost of a batch; it is counted row by row, and nothing is written."""
    writer = CountingWriter("", job.renderer.service, {}, id=arguments.id, dedupe=arguments.dedupe)
    tokens, labels = 0, dict[str, None]()
    shared_tokens = sys.maxsize  # each request has fewer
    with closing(count_rows(job, arguments.id)) as results, _progress(job.reader) as show:
        for result in results:
            count_before = writer.sent
            writer.add(result)
            # A row that failed, or is the same as another row, adds no request.
            if writer.sent > count_before and result.tokens is not None:
                tokens += result.tokens.total
                labels[result.tokens.label] = None
                shared_tokens = min(shared_tokens, result.tokens.shared)
            show(writer.rows, writer.failed)
    writer.close(finished=False)
    size = sum(file.bytes for file in writer.parts)
    lines = [f"{_request_counts(writer)}, {size:,} bytes"]
    if writer.sent:
        lines.append(f"{tokens:,} tokens: {' or '.join(labels)}")
        share = shared_tokens * writer.sent / tokens
        lines.append(
            f"all requests begin with the same {shared_tokens:,} tokens: {share:.0%} of all tokens"
        )
    if arguments.price and writer.sent:
        price, *cached = arguments.price
        cost = _cost(tokens, price)
        line = f"{cost} for these tokens at {price:g} a million; the answers cost extra"
        # The first request writes the cache, and all others read it.
        cached_tokens = shared_tokens * (writer.sent - 1)
        for cached_price in cached:
            cost = _cost(tokens - cached_tokens, price, cached_tokens, cached_price)
            line += f"\n{cost} if a cache holds the shared tokens, at {cached_price:g} a million"
        lines.append(line)
    notes = model_notes(job.renderer.trial, arguments)
    if writer.failed:
        notes += [*writer.examples, f"{_rows(writer.failed)} would fail"]
    return "\n".join(lines), notes, int(writer.failed > 0)


def _cost(tokens: int, price: float, cached_tokens: int = 0, cached_price: float = 0) -> str:
    """Return the cost of tokens, whose prices are those of a million tokens."""
    cost = (tokens * price + cached_tokens * cached_price) / 1_000_000
    return f"{cost:,.2f}" if cost >= 1 else f"{cost:.6f}"


def _request_counts(writer: BatchWriter) -> str:
    requests, files = (
        _counted_noun(writer.sent, "request"),
        _counted_noun(len(writer.parts), "file"),
    )
    return f"{requests} of {_rows(writer.rows)} in {files}"


def _rows(count: int) -> str:
    return _counted_noun(count, "row")


def _counted_noun(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count:,} {noun}s"


# The progress of a batch.


@contextmanager
def _progress(reader: RowReader) -> Generator[Callable[[int, int], None]]:
    """Yield a function that shows the progress on standard error.

    With ``rich``, a terminal shows a bar; else there is a line every ten seconds. The arguments of
    the function are the numbers of rows so far, and of rows that failed.
    """
    bar: Any = None  # Any: rich may not be installed
    if sys.stderr is not None and sys.stderr.isatty():
        try:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
            bar = Progress(*columns, console=Console(stderr=True), auto_refresh=False)
        except ImportError:
            pass
    task, pause = None, 10.0
    if bar is not None:
        task, pause = bar.add_task("", total=1.0), 0.2
    call_count = first_rows = 0
    start_time = last_time = 0.0

    def show(rows: int, failed: int) -> None:
        nonlocal call_count, first_rows, start_time, last_time
        call_count, now = call_count + 1, time.monotonic()
        if call_count <= 2:  # the first row takes longer than the others
            first_rows, start_time, last_time = rows, now, now
        if now - last_time < pause:
            return
        last_time = now
        rate = (rows - first_rows) / (now - start_time)
        text = f"{_rows(rows)}, {failed:,} failed, {rate:,.0f} a second"
        if bar is not None:
            bar.update(task, completed=reader.share, description=text, refresh=True)
        else:
            seconds_left = (now - start_time) * (1 - reader.share) / max(reader.share, 1e-9)
            print(f"{text}, about {seconds_left:,.0f} s left", file=sys.stderr, flush=True)

    if bar is None:
        yield show
    else:
        with bar:
            yield show
