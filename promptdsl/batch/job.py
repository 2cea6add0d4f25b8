"""Makes a batch, from rows to files: count it before, write it, or resume it after a stop.

Read :func:`write_batch` first, then :func:`count_rows`.
"""

import os
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from glob import escape, glob
from itertools import chain, islice
from platform import python_version
from typing import Any, NamedTuple

from promptdsl import ModelFacts, ProviderId, Rendered, __version__
from promptdsl.batch.engine import Pools, Work, results
from promptdsl.batch.renderer import RowRenderer, RowResult, is_ours_or_installed
from promptdsl.batch.rows import RowReader, TableRow, digest_of
from promptdsl.batch.service import TakenKey
from promptdsl.batch.writer import MANIFEST, BatchWriter, is_unfinished, read_manifest, shown_path
from promptdsl.foundation.errors import DataError, nearest

TRIED_ROWS = 20
"""The number of first rows that are tried: the first that does not fail describes the batch."""
Load = Callable[[], RowRenderer]
"""A function that makes the renderer in a worker process."""


class Job(NamedTuple):
    """The rows of a batch, its renderer and its options.

    ``load`` makes the renderer in a worker process, ``pools`` makes the worker processes. The
    manifest has the ``options`` as they are.
    """

    reader: RowReader
    renderer: RowRenderer
    load: Load
    options: Mapping[str, object]
    pools: Pools | None = None


def write_batch(
    job: Job,
    folder: str,
    *,
    resume: bool = False,
    force: bool = False,
    id: str | None = None,
    dedupe: bool = False,
    stop: bool = False,
    depends_on: Sequence[str] = (),
) -> Generator[BatchWriter]:
    """Write a batch into a folder, and yield its writer at the beginning and after each row.

    With ``resume``, a batch that was stopped continues. ``id`` is the column with the ids. With
    ``dedupe``, equal bodies are sent as one request. With ``stop``, the batch stops at the first
    row that fails. ``depends_on`` are further files that the prompt reads. Raises
    :class:`DataError` for a folder with another batch or other files. Without ``force``, it also
    raises :class:`DataError` if a file or an option of the batch has changed since it was started.
    """
    _, rendered, rows = _first(job, id)
    about = _about(job, rendered, depends_on)
    if resume:
        read_manifest(folder)  # it raises an error if there is none
    os.makedirs(folder, exist_ok=True)
    with _locked(folder):
        state = None
        if resume:
            state = _resumed(about, folder, force=force)
            _skip_written(state, rows, job.renderer, force=force)
        else:
            _refuse_used(folder)
        service = job.renderer.service
        writer = BatchWriter(folder, service, about, state=state, id=id, dedupe=dedupe)
        failed = writer.failed
        finished = False
        try:
            writer.note(job.renderer.used.items())  # of rows that were tried here, or are done
            yield writer
            work, load = job.renderer.result, partial(_work, job.load)
            for result in results(rows, work, load, job.pools):
                writer.add(result)
                yield writer
                if stop and writer.failed > failed:
                    return
            finished = True
        finally:
            writer.close(finished=finished)


def _resumed(
    about: dict[str, Mapping[str, object]], folder: str, *, force: bool
) -> Mapping[str, Any]:
    """Return the state of a batch that continues; add the inputs in its manifest to ``about``.

    Raises :class:`DataError` if the format of the batch has changed. Without ``force``, it also
    raises :class:`DataError` if anything else has changed since the batch was started.
    """
    manifest = read_manifest(folder)
    state: Mapping[str, Any] = manifest["state"]
    changes = _changes(manifest, about)
    changes += [what for what in _used_changes(state) if what not in changes]
    if changes and not force:
        fix = "--force continues with the current files; a new folder starts again"
        raise DataError(f"since the batch began, {'; '.join(changes)}", fix=fix)
    # Another service is also a change, so the code is here only with ``force``. Force cannot allow
    # it: one file would have requests of two formats.
    if manifest["options"]["service"] != about["options"]["service"]:
        raise DataError("the batch was started in another format", fix="name a new folder")
    # ``batch read`` adds the cells of a row to its answer only if the input has the digest that is
    # noted here. The old digests stay, so no cell of a changed row is added to an old answer.
    about["inputs"] = {**about["inputs"], **manifest["inputs"]}
    if force:
        # The changed files are accepted: their digests are noted again.
        return {**state, "used": ()}
    return state


def _refuse_used(folder: str) -> None:
    """Raise :class:`DataError` for a folder with a batch or other files.

    Unfinished files without a manifest are no batch: nothing in them is complete.
    """
    if all(map(is_unfinished, os.listdir(folder))):
        return
    what, fix = "files", "name a new folder"
    if os.path.exists(os.path.join(folder, MANIFEST)):
        what, fix = "a batch", "--resume continues it"
    raise DataError(f"the folder {folder} already has {what}", fix=fix)


@contextmanager
def _locked(folder: str) -> Generator[None]:
    """Keep other processes from writing to a folder."""
    try:
        import fcntl
    except ImportError:  # Windows, where no open file can be moved
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DataError(f"another process is writing to {folder}") from None
        yield
    finally:
        os.close(handle)


def count_rows(job: Job, id: str | None = None) -> Generator[RowResult]:
    """Yield the result of each row with its tokens; nothing is written."""
    first, rendered, rows = _first(job, id)
    work = partial(job.renderer.result, count=True, first=rendered)
    yield from results(rows, work, partial(_count, job.load, first), job.pools)


def _work(load: Load) -> Work:
    """Return the work of a worker process: it renders rows."""
    return load().result


def _count(load: Load, first: TableRow | None) -> Work:
    """Return the work of a worker process: it counts the tokens of rows.

    The tokens that each row shares with the row ``first`` are counted, too.
    """
    renderer = load()
    rendered = None
    if first is not None:
        with suppress(Exception, SystemExit):  # it did not fail in the first process
            rendered = renderer.rendered(first)
    return partial(renderer.result, count=True, first=rendered)


def _first(job: Job, id: str | None) -> tuple[TableRow | None, Rendered | None, Iterator[TableRow]]:
    """Return the first row that does not fail, its render, and an iterator over all rows.

    Only the first ``TRIED_ROWS`` rows are tried; the row and its render are ``None`` if all of them
    fail. Raises :class:`DataError` if there is no row, or none of these has the column ``id``, and
    :class:`TakenKey` if ``extra`` has a key that the prompt writes.
    """
    rows = iter(job.reader)
    tried = [*islice(rows, TRIED_ROWS)]
    names = {name for row in tried for name in row.cells}
    if not tried:
        raise DataError(f"there is no row in {', '.join(job.reader.paths)}")
    # A row that cannot be read has no cells. If no row has cells, each fails with its own reason.
    if id is not None and names and id not in names:
        raise DataError(f"there is no column {id!r} for the ids", fix=nearest(id, names))
    for row in tried:
        try:
            rendered = job.renderer.rendered(row)
            job.renderer.body(rendered)
        except (TakenKey, KeyboardInterrupt):
            raise
        except BaseException:  # a row may fail in any way, by sys.exit() too
            continue
        return row, rendered, chain(tried, rows)
    return None, None, chain(tried, rows)


def _skip_written(
    state: Mapping[str, Any], rows: Iterator[TableRow], renderer: RowRenderer, *, force: bool
) -> None:
    """Skip the rows that the batch already has.

    Raises :class:`DataError`, without ``force``, if the first row of a request file now gives
    another request.
    """
    # A state names the request files "parts".
    parts = {} if force else {part["row"]: part for part in state["parts"]}
    for row in islice(rows, state["rows"]):
        part = parts.get(row.number)
        if part is None:
            continue
        result = renderer.result(row)
        if result.digest != part["digest"]:
            change = "fails now" if result.problem else "gives another request now"
            raise DataError(
                f"row {row.number:,}, the first row of {part['name']}, {change}",
                fix="--force continues anyway; a new folder starts again",
            )


def _about(
    job: Job, rendered: Rendered | None, depends_on: Sequence[str]
) -> dict[str, Mapping[str, object]]:
    """Return the description of a batch for its manifest: inputs, options, versions and files."""
    sections = () if rendered is None else rendered.libraries
    paths = [*job.reader.paths]
    project = _project_files(job.renderer.name)
    named_files: set[str] = set()
    for path in depends_on:
        if not os.path.isfile(path):
            raise DataError(f"no such file: {path}", fix="--depends-on takes the paths of files")
        named_files.add(shown_path(os.path.abspath(path)))
    return {
        "inputs": {path: digest_of(path) for path in paths},
        "options": {
            "service": job.renderer.format,
            # So the program that reads the results does not need to register a server.
            "adapter": ModelFacts(ProviderId(job.renderer.format)).wire.adapter,
            **{"inputs": paths, **job.options},
        },
        "versions": {"format": 1, "promptdsl": __version__, "python": python_version()},
        "files": {path: digest_of(path) for path in sorted(project | named_files)},
        "libraries": {section.name: [section.version, section.digest] for section in sections},
    }


def _project_files(target: str) -> set[str]:
    """Return the files of imported modules that are not installed, and the templates.

    Templates are the ``.j2`` files next to ``target`` and in the current folder, and the files with
    an extension in the folders ``templates`` there.
    """
    paths = [getattr(module, "__file__", None) for module in [*sys.modules.values()]]
    for folder in {os.getcwd(), os.path.dirname(os.path.abspath(target))}:
        paths += glob(os.path.join(escape(folder), "*.j2"))
        paths += glob(os.path.join(escape(folder), "templates", "**", "*.*"), recursive=True)
    files = {os.path.abspath(path) for path in paths if path}
    return {
        shown_path(path)
        for path in files
        if not is_ours_or_installed(path) and os.path.isfile(path)
    }


def _used_changes(state: Mapping[str, Any]) -> Iterator[str]:
    """Yield a text for each file that a row used and that has changed or is missing."""
    for path, digest in state.get("used", {}).items():
        if path.startswith("library "):
            continue  # the library is compared when a row uses it again
        try:
            if digest_of(path) != digest:
                yield f"{path} has changed"
        except OSError:
            yield f"{path} is missing"


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return a text for each difference between two manifests."""
    changes: list[str] = []
    for key, new_entries in after.items():
        old_entries = before.get(key, {})
        for name in sorted({*old_entries, *new_entries}):
            old, new = old_entries.get(name), new_entries.get(name)
            if old == new:
                continue
            if key not in ("inputs", "files"):
                changes.append(f"{key} {name} was {old!r}, and is {new!r}")
            elif old is None:
                changes.append(f"{name} is new")
            elif new is None:
                changes.append(f"{name} is missing")
            else:
                changes.append(f"{name} has changed")
    return changes
