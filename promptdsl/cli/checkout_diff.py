"""All snapshots of a project against those of a revision."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from promptdsl.cli.errors import UsageError
from promptdsl.cli.git import Repository
from promptdsl.cli.sides import SNAPSHOT, base_of, snapshot_side
from promptdsl.comparing import DiffReport, PromptComparison, PromptFile, diff

FOLDER = "__snapshots__"
EMPTY = PromptFile((), ())
Files: TypeAlias = Mapping[str, bytes]
"""The content of snapshots by their paths from the root of the project."""


def checkout_report(revision: str, paths: list[str]) -> DiffReport:
    """Return what changed in the snapshots of a project since it left a revision.

    Only files that differ are read as snapshots. Those that cannot be read are in the report.
    """
    repository = Repository()
    for path in paths:
        if not os.path.exists(path):
            raise UsageError(f"no such file or folder: {path}")
    folders = [(repository.inside / path).as_posix() for path in paths]
    blobs = {
        path: blob
        for path, blob in repository.blobs(repository.merge_base(revision), folders).items()
        if _is_snapshot(path)
    }
    before = dict(zip(blobs, repository.contents([*blobs.values()]), strict=True))
    listed = repository.run(
        "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--full-name", "--",
        *(paths or [str(repository.root)]),
    )  # fmt: skip
    names = {os.fsdecode(row) for row in listed.split(b"\0") if row}
    after = {
        name: content
        for name in sorted(filter(_is_snapshot, names))
        if (content := _content(repository.root / name)) is not None
    }
    found = sorted(_comparisons(before, after), key=lambda it: it.name)
    return DiffReport(tuple(found))


def _is_snapshot(path: str) -> bool:
    return path.endswith(SNAPSHOT) and FOLDER in path.split("/")


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _comparisons(before: Files, after: Files) -> Iterator[PromptComparison]:
    gone = {content: path for path, content in before.items() if path not in after}
    renamed: set[str] = set()
    for path, content in after.items():
        was = gone.get(content, "")
        if path in before or not was or was in renamed:
            yield _comparison(path, before, after)
        else:
            renamed.add(was)
            yield PromptComparison(path, "renamed", was=was)
    yield from (_comparison(it, before, after) for it in before if it not in {*after, *renamed})


def _comparison(path: str, before: Files, after: Files) -> PromptComparison:
    if _texts(path, before) == _texts(path, after):
        return PromptComparison(path, "same")
    try:
        old, new = (
            snapshot_side(path, files[path], files.get) if path in files else None
            for files in (before, after)
        )
    except UsageError as error:
        return PromptComparison(path, "unreadable", problem=str(error))
    model = dict((new or old or EMPTY).header).get("model", "")
    if old is None or new is None:
        return PromptComparison(path, "added" if new else "removed", model=model)
    found = diff(old, new)
    return PromptComparison(path, "changed" if found else "same", found, model=model)


def _texts(path: str, files: Files) -> tuple[bytes | None, ...]:
    """Return the content of a snapshot, and where it is that of a model, of its base."""
    content = files.get(path)
    is_of_model = content is not None and b"\nbase: " in content[:200]
    return (content, base_of(path, files.get)) if is_of_model else (content,)
