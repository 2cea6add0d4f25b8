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
CONFLICT = b"\n<<<<<<< "
EMPTY = PromptFile((), ())
Files: TypeAlias = Mapping[str, bytes]
"""The content of snapshots by their paths from the root of the project."""


def checkout_report(revision: str, paths: list[str]) -> DiffReport:
    """Return what changed in the snapshots of a project since it left a revision.

    Only files that differ are read as snapshots. Those that cannot be read are in the report.
    """
    repository = Repository()
    folders = {path: repository.path(path) for path in paths}
    blobs = repository.blobs(repository.merge_base(revision))
    new = repository.files()
    for path, folder in folders.items():
        if not os.path.exists(path) and not any(_is_in(name, folder) for name in blobs):
            raise UsageError(f"no such file or folder: {path}")
    blobs = {name: blob for name, blob in blobs.items() if _is_snapshot(name)}
    before = dict(zip(blobs, repository.contents([*blobs.values()]), strict=True))
    contents = {name: _content(repository.root / name) for name in new if _is_snapshot(name)}
    after = {name: content for name, content in contents.items() if content is not None}
    conflicts = {it for it in repository.conflicts() if CONFLICT in b"\n" + after.get(it, b"")}
    found = [
        it
        for it in _comparisons(before, after, conflicts)
        if not paths or any(_is_in(it.name, folder) for folder in folders.values())
    ]
    return DiffReport(tuple(sorted(found, key=lambda it: it.name)))


def _is_snapshot(path: str) -> bool:
    return path.endswith(SNAPSHOT) and FOLDER in path.split("/")


def _is_in(path: str, folder: str) -> bool:
    """Return whether a path is a folder, or in it."""
    return not folder or f"{path}/".startswith(f"{folder}/")


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _comparisons(before: Files, after: Files, conflicts: set[str]) -> Iterator[PromptComparison]:
    gone: dict[bytes, list[str]] = {}
    for path, content in before.items():
        if path not in after:
            gone.setdefault(content, []).append(path)
    for path, content in after.items():
        if path in conflicts:
            problem = f"{path}: it has merge conflicts"
            yield PromptComparison(path, "unreadable", problem=problem)
        elif path not in before and gone.get(content):
            yield PromptComparison(path, "renamed", was=gone[content].pop(0))
        else:
            yield _comparison(path, before, after)
    for paths in gone.values():
        yield from (_comparison(path, before, after) for path in paths)


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
