"""A batch from rows to files: begun, counted before, or gone on with after it was stopped."""

import os
import sys
import sysconfig
from collections.abc import Callable, Generator, Iterator, Mapping
from functools import partial
from glob import glob
from importlib.metadata import version
from itertools import chain, islice
from platform import python_version
from typing import Any, NamedTuple

import promptdsl
from promptdsl import Rendered
from promptdsl.batch.engine import Work, results
from promptdsl.batch.renderer import RowRenderer, RowResult
from promptdsl.batch.rows import RowReader, TableRow, digest_of
from promptdsl.batch.service import TakenKey
from promptdsl.batch.writer import MANIFEST, PART, BatchWriter, read_manifest
from promptdsl.foundation.errors import DataError, nearest

TRIED = 20
"""How many rows are tried, to find one that does not fail."""
Load = Callable[[], RowRenderer]
"""What makes the renderer in a worker process."""


class Job(NamedTuple):
    """Rows, what renders them, and how; the manifest has the ``options`` as they were given."""

    reader: RowReader
    renderer: RowRenderer
    load: Load
    workers: int
    options: Mapping[str, object]


def write_batch(
    job: Job,
    folder: str,
    *,
    resume: bool = False,
    force: bool = False,
    id: str | None = None,
    dedupe: bool = False,
    stop: bool = False,
) -> Generator[BatchWriter]:
    """Write a batch into a folder, and yield its writer at the beginning and after each row.

    With ``resume``, a batch that was stopped goes on. ``id`` is the column with the ids; with
    ``dedupe``, equal bodies are one request; with ``stop``, the batch stops at the first row that
    fails. Raises :class:`DataError` for a folder with another batch, and where what the batch is
    made of has changed since, unless ``force`` is given.
    """
    first, rendered, rows = _first(job)
    if id is not None and first is not None and id not in first.cells:
        raise DataError(f"there is no column {id!r} for the ids", fix=nearest(id, first.cells))
    about, state = _about(job, rendered), None
    if resume:
        manifest = read_manifest(folder)
        state, changes = manifest["state"], _changes(manifest, about)
        if changes and not force:
            fix = "--force goes on with what is there now; a new folder begins anew"
            raise DataError(f"since the batch began, {'; '.join(changes)}", fix=fix)
        rows = _rows_after(state, rows, job.renderer, force=force)
    # Without a manifest nothing has begun: then all files are still parts.
    elif os.path.isdir(folder) and not all(it.endswith(PART) for it in os.listdir(folder)):
        begun = os.path.exists(os.path.join(folder, MANIFEST))
        fix = "--resume goes on with it" if begun else "name a new folder"
        raise DataError(f"the folder {folder} has {'a batch' if begun else 'files'}", fix=fix)
    service = job.renderer.service
    writer = BatchWriter(folder, service, about, state=state, id=id, dedupe=dedupe)
    failed, finished = writer.failed, False
    try:
        yield writer
        for result in results(rows, job.renderer.result, partial(_work, job.load), job.workers):
            writer.add(result)
            yield writer
            if stop and writer.failed > failed:
                return
        finished = True
    finally:
        writer.close(finished=finished)


def count_rows(job: Job) -> Generator[RowResult]:
    """Yield the result of each row with its tokens; nothing is written."""
    first, rendered, rows = _first(job)
    work = partial(job.renderer.counted, first=rendered)
    yield from results(rows, work, partial(_count, job.load, first), job.workers)


def _work(load: Load) -> Work:
    return load().result


def _count(load: Load, first: TableRow | None) -> Work:
    renderer = load()
    return partial(renderer.counted, first=first and renderer.rendered(first))


def _first(job: Job) -> tuple[TableRow | None, Rendered | None, Iterator[TableRow]]:
    """Return the first row that does not fail among the first ones, its render, and all rows.

    Raises :class:`DataError` where there is no row, and :class:`TakenKey` for options that no row
    can have.
    """
    rows, tried = iter(job.reader), list[TableRow]()
    for row in islice(rows, TRIED):
        tried.append(row)
        try:
            rendered = job.renderer.rendered(row)
            job.renderer.body(rendered)
        except TakenKey:
            raise
        except (Exception, SystemExit):  # a row may fail in any way
            continue
        return row, rendered, chain(tried, rows)
    if not tried:
        raise DataError(f"there is no row in {', '.join(job.reader.paths)}")
    return None, None, chain(tried, rows)


def _rows_after(
    state: Mapping[str, Any], rows: Iterator[TableRow], renderer: RowRenderer, *, force: bool
) -> Iterator[TableRow]:
    """Yield the rows that are not done; the first row of each file has to give the same request."""
    firsts = {part["row"]: part for part in state["parts"]}
    for row in rows:
        part = firsts.get(row.number)
        if part is not None and not force:
            result = renderer.result(row)
            if result.digest != part["digest"]:
                now = "fails now" if result.problem else "is another one now"
                raise DataError(
                    f"the request of row {row.number:,}, the first in {part['name']}, {now}",
                    fix="--force goes on all the same; a new folder begins anew",
                )
        if row.number > state["rows"]:
            yield row


def _about(job: Job, rendered: Rendered | None) -> dict[str, Mapping[str, object]]:
    """Return what a batch is made of: its inputs, options, versions and code."""
    sections = () if rendered is None else rendered.libraries
    paths = [*job.reader.paths]
    return {
        "inputs": {path: digest_of(path) for path in paths},
        "options": {"service": job.renderer.format, "inputs": paths, **job.options},
        "versions": {"format": 1, "promptdsl": version("promptdsl"), "python": python_version()},
        "files": {path: digest_of(path) for path in sorted(_project_files())},
        "libraries": {it.name: [it.version, it.digest] for it in sections},
    }


def _project_files() -> set[str]:
    """Return the modules and templates below the current folder, but not what is installed."""
    here = os.path.join(os.getcwd(), "")
    loaded = (getattr(module, "__file__", None) for module in [*sys.modules.values()])
    installed = tuple(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
    installed += (os.path.dirname(promptdsl.__file__),)
    templates = glob("**/*.j2", recursive=True)
    files = {os.path.abspath(path) for path in (*loaded, *templates) if path}
    return {
        os.path.relpath(path)
        for path in files
        if path.startswith(here) and not path.startswith(installed) and os.path.isfile(path)
    }


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return what differs between two manifests, in words."""
    changes: list[str] = []
    for key, now in after.items():
        then = before.get(key, {})
        for name in sorted({*then, *now}):
            old, new = then.get(name), now.get(name)
            if old != new and key in ("inputs", "files"):
                what = "is new" if old is None else "is gone" if new is None else "has changed"
                changes.append(f"{name} {what}")
            elif old != new:
                changes.append(f"{key} {name} was {old!r}, and is {new!r}")
    return changes
