"""The diff of all snapshots of a project, from those of a revision to those of the working tree."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from promptdsl.cli.errors import UsageError
from promptdsl.cli.git import Repository
from promptdsl.cli.sides import SNAPSHOT, base_of, is_of_model, payload_side, snapshot_side
from promptdsl.comparing import DiffReport, PromptComparison, PromptFile, diff

FOLDER, PAYLOAD = "__snapshots__", ".payload.json"
BEGINNING = b"---\npromptdsl-snapshot:"
CONFLICT = b"\n<<<<<<< "
EMPTY = PromptFile((), ())
Files: TypeAlias = Mapping[str, bytes]
"""The content of snapshots by their paths from the root of the project."""


def checkout_report(revision: str, paths: list[str]) -> tuple[DiffReport, list[str]]:
    """Return what changed in the snapshots of a project since it left a revision, and notes.

    Only files that differ are read as snapshots. Unreadable files are in the report.
    """
    repository = Repository()
    folders = [repository.path(path) for path in paths]
    commit = repository.commit(revision)
    base = repository.merge_base(commit)
    blobs, names = repository.blobs(base or commit), repository.files()
    for path, folder in zip(paths, folders, strict=True):
        if not os.path.exists(path) and not any(_is_in(name, folder) for name in blobs):
            problem = f"no such file or folder: {path}"
            if ":" in path:
                fix = f"promptdsl diff git:{revision}:{path} {path} compares a prompt in code"
                problem = f"{problem}\n  {fix}"
            raise UsageError(problem)
    left_out = repository.left_out()

    def is_meant(name: str) -> bool:
        return name.endswith((SNAPSHOT, PAYLOAD)) and name not in left_out

    blobs = {name: blob for name, blob in blobs.items() if is_meant(name)}
    # The working tree may have other line ends than the repository.
    contents = repository.contents([*blobs.values()])
    normalised = (content.replace(b"\r\n", b"\n") for content in contents)
    before = dict(zip(blobs, normalised, strict=True))
    after, problems = _contents(repository.root, filter(is_meant, names))
    snapshot_folders = _folders(before) | _folders(after)
    before, after = _inside(snapshot_folders, before), _inside(snapshot_folders, after)
    conflicting = [after[name] for name in repository.conflicts() if name in after]
    conflicts = {content for content in conflicting if CONFLICT in b"\n" + content}
    readable = {name: before[name] for name in before if name not in problems}
    prompts = [
        *(PromptComparison(name, "unreadable", problem=why) for name, why in problems.items()),
        *_comparisons(readable, after, conflicts),
    ]
    if paths:
        prompts = [p for p in prompts if any(_is_in(p.name, folder) for folder in folders)]
    if not prompts and not left_out:
        problem = "no snapshots there" if paths else f"no snapshots here, and none at {revision}"
        fix = f"promptdsl diff git:{revision}:FILE.py:NAME FILE.py:NAME compares a prompt in code"
        raise UsageError(f"{problem}: they are {FOLDER}/*/*{SNAPSHOT}\n  {fix}")
    notes: list[str] = []
    if base is None:
        notes = [f"{revision} has no merge base with HEAD here: compared with the revision itself"]
    return DiffReport(tuple(sorted(prompts, key=lambda prompt: prompt.name))), notes


def _folders(files: Files) -> set[str]:
    """Return the names of the folders of snapshots: the usual one, and others set in pytest."""
    paths = [name.split("/") for name, content in files.items() if content.startswith(BEGINNING)]
    return {FOLDER, *(path[-3] for path in paths if FOLDER not in path and path[2:])}


def _inside(folders: set[str], files: Files) -> dict[str, bytes]:
    """Return the files in a folder with one of these names, at any depth."""
    return {
        name: content
        for name, content in files.items()
        if not folders.isdisjoint(name.split("/")[:-1])
    }


def _is_in(path: str, folder: str) -> bool:
    return not folder or f"{path}/".startswith(f"{folder}/")


def _contents(root: Path, names: Iterable[str]) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return the content of the files that exist, and why some cannot be read."""
    contents, problems = dict[str, bytes](), dict[str, str]()
    for name in names:
        path = root / name
        try:
            if path.is_file() and not path.is_symlink():
                contents[name] = path.read_bytes().replace(b"\r\n", b"\n")
        except OSError as error:
            problems[name] = f"{name}: it cannot be read: {error.strerror}"
    return contents, problems


def _comparisons(before: Files, after: Files, conflicts: set[bytes]) -> Iterator[PromptComparison]:
    removed: dict[object, list[str]] = {}
    for path in before:
        if path not in after:
            removed.setdefault(_texts(path, before), []).append(path)
    for path in after:
        texts = _texts(path, after)
        if any(text in conflicts for text in texts):
            yield PromptComparison(path, "unreadable", problem=f"{path}: it has merge conflicts")
        elif path not in before and removed.get(texts):
            yield PromptComparison(path, "renamed", was=removed[texts].pop(0))
        else:
            yield _comparison(path, before, after)
    for paths in removed.values():
        yield from (_comparison(path, before, after) for path in paths)


def _comparison(path: str, before: Files, after: Files) -> PromptComparison:
    if _texts(path, before) == _texts(path, after):
        return PromptComparison(path, "same")
    if path.endswith(PAYLOAD):
        return _payload_comparison(path, before.get(path), after.get(path))
    try:
        old, new = _snapshot(path, before), _snapshot(path, after)
    except UsageError as error:
        return PromptComparison(path, "unreadable", problem=str(error))
    model = dict((new or old or EMPTY).header).get("model", "")
    if old is None:
        return PromptComparison(path, "added", model=model)
    if new is None:
        return PromptComparison(path, "removed", model=model)
    difference = diff(old, new)
    if not difference:
        return PromptComparison(path, "same", difference, model=model)
    return PromptComparison(path, "changed", difference, model=model)


def _snapshot(path: str, files: Files) -> PromptFile | None:
    return snapshot_side(path, files[path], files.get) if path in files else None


def _payload_comparison(path: str, before: bytes | None, after: bytes | None) -> PromptComparison:
    """Return the comparison of a payload; its JSON differs, but perhaps not its prompt."""
    if before is None:
        return PromptComparison(path, "added")
    if after is None:
        return PromptComparison(path, "removed")
    provider = path.removesuffix(PAYLOAD).rpartition(".")[2]
    try:
        old, new = payload_side(path, before, provider), payload_side(path, after, provider)
        difference = diff(old, new)
    except UsageError as error:
        return PromptComparison(path, "changed", problem=str(error))
    problem = "" if difference else "its JSON changed, but not the prompt in it"
    return PromptComparison(path, "changed", difference or None, problem=problem)


def _texts(path: str, files: Files) -> tuple[bytes | None, ...]:
    """Return the content of a snapshot; for a snapshot of a model, also the content of its base."""
    content = files.get(path)
    if content is None or not is_of_model(content):
        return (content,)
    return content, base_of(path, files.get)
