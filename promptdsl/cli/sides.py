"""The sides of a diff: a target, a snapshot, a payload or a record, now or at a revision.

In this order: reading from git; the render of a target at a revision; and the sides. Read ``side``
first. Other commands read records and payloads with functions of this file, too.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias, cast

import attrs

from promptdsl import PromptError, PromptRecord, Rendered
from promptdsl.batch import is_installed
from promptdsl.cli.commands import Arguments
from promptdsl.cli.logs import entry_of, listed_entries, log_entries, refuse_log_file
from promptdsl.cli.options import TEXT_FORMATS, checked_provider, rendered_target
from promptdsl.cli.output import UsageError, error_text, suggestion
from promptdsl.comparing import (
    PromptFile,
    SnapshotFormatError,
    applied,
    parse,
    payload_file,
    prompt_file,
    serialise,
)

# Reading from git: the files at a revision, and a clean checkout of a revision in a new folder.

GIT_COMMAND = (
    "git", "--literal-pathspecs", "-c", "core.fsmonitor=false",
    "-c", f"core.hooksPath={os.devnull}", "-c", "core.sparseCheckout=false",
)  # fmt: skip
"""The beginning of each git command. Git runs no hook and no file monitor of the repository, but it
runs filters of files. A path is never a pattern."""

LINK_MODE = "120000"
"""The mode of a symbolic link."""


class Repository:
    """The git repository that contains the current folder; it is only read.

    Raises :class:`UsageError` outside of a repository, and if git is not installed.
    """

    def __init__(self) -> None:
        self.folder = Path.cwd()
        self.root = Path(os.fsdecode(self.run("rev-parse", "--show-toplevel").rstrip(b"\n")))
        """The folder of the working tree."""

    @property
    def folder_from_root(self) -> Path:
        """The current folder, as a path from the root."""
        return self.folder.resolve().relative_to(self.root.resolve())

    def run(
        self, *arguments: str, stdin: bytes = b"", environment: dict[str, str] | None = None
    ) -> bytes:
        """Return the output of a git command. Raises :class:`UsageError` with git's error."""
        try:
            process = subprocess.run(
                [*GIT_COMMAND, *arguments],
                input=stdin,
                capture_output=True,
                check=True,
                cwd=self.folder,
                env={**os.environ, "LC_ALL": "C", **(environment or {})},
            )
        except FileNotFoundError:
            raise UsageError("git is not installed") from None
        except subprocess.CalledProcessError as error:
            problem = error.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
            raise UsageError(f"git: {problem.splitlines()[0] if problem else 'failed'}") from None
        return process.stdout

    def commit(self, revision: str) -> str:
        """Return the id of a commit. Raises :class:`UsageError`, with similar names, if unknown."""
        name = f"{revision}^{{commit}}"
        try:
            commit = self.run("rev-parse", "--verify", "--quiet", "--end-of-options", name)
        except UsageError:
            refs = self.run("for-each-ref", "--format=%(refname:short)").decode("utf-8", "replace")
            advice = suggestion(revision, refs.split())
            if self.run("rev-parse", "--is-shallow-repository") == b"true\n":
                advice += "\n  this clone is shallow: fetch the rest with git fetch --unshallow"
            raise UsageError(f"no such revision: {revision}{advice}") from None
        return commit.decode().strip()

    def merge_base(self, commit: str) -> str | None:
        """Return the merge base of HEAD and a commit; ``None`` without a common commit."""
        try:
            return self.run("merge-base", commit, "HEAD").decode().split()[0]
        except (UsageError, IndexError):
            return None

    def path(self, path: str) -> str:
        """Return a path as one from the root, with ``/``; ``""`` for the root itself.

        Raises :class:`UsageError` for a path outside of the repository.
        """
        full = os.path.normpath(self.folder.resolve() / path)
        if os.path.isabs(path):
            full = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        path_from_root = Path(os.path.relpath(full, self.root.resolve())).as_posix()
        if path_from_root.split("/")[0] == "..":
            raise UsageError(f"{path} is outside of the repository {self.root}")
        return "" if path_from_root == "." else path_from_root

    def blobs(self, commit: str) -> dict[str, str]:
        """Return the ids of the files of a commit by their paths from the root, without links."""
        blobs: dict[str, str] = {}
        for row in _rows(self.run("ls-tree", "-r", "-z", "--full-tree", commit)):
            attributes, _, path = row.partition("\t")
            mode, kind, blob = attributes.split(" ")
            if kind == "blob" and mode != LINK_MODE:
                blobs[path] = blob
        return blobs

    def files(self) -> list[str]:
        """Return the paths of the files in the working tree from the root: tracked and new ones."""
        listed = self._listed("--cached", "--others", "--exclude-standard")
        return sorted({*_rows(listed)})

    def left_out(self) -> set[str]:
        """Return the paths of files that a sparse checkout leaves out of the working tree."""
        rows = _rows(self._listed("-t", "--cached"))
        return {row.removeprefix("S ") for row in rows if row.startswith("S ")}

    def conflicts(self) -> set[str]:
        """Return the paths of files that a merge left with conflicts."""
        return {row.partition("\t")[2] for row in _rows(self._listed("--unmerged"))}

    def _listed(self, *options: str) -> bytes:
        return self.run("-C", str(self.root), "ls-files", "-z", *options)

    def contents(self, blobs: Sequence[str]) -> list[bytes]:
        """Return the content of blobs by their ids; one process reads all of them.

        Raises :class:`UsageError` if a partial clone does not have a blob.
        """
        if not blobs:
            return []
        answer = self.run("cat-file", "--batch", stdin="".join(f"{id}\n" for id in blobs).encode())
        contents: list[bytes] = []
        start = 0
        for _ in blobs:
            end = answer.index(b"\n", start)
            if answer.endswith(b" missing", start, end):
                raise UsageError(
                    "this clone does not have some files of the revision: fetch them first"
                )
            # The line before a content ends with its size; a line end follows the content.
            size = int(answer[start:end].rpartition(b" ")[2])
            contents.append(answer[end + 1 : end + 1 + size])
            start = end + size + 2
        return contents

    @contextmanager
    def checkout(self, commit: str) -> Generator[Path]:
        """Yield a new folder with the files of a commit; the folder is removed at the end.

        A separate index keeps the working tree and the repository unchanged.
        """
        with tempfile.TemporaryDirectory(prefix="promptdsl-") as folder:
            files = Path(folder).resolve() / "files"
            index = {"GIT_INDEX_FILE": os.path.join(folder, "index")}
            self.run("read-tree", commit, environment=index)
            prefix = f"--prefix={files}{os.sep}"
            self.run("-C", str(self.root), "checkout-index", "-a", "-q", prefix, environment=index)
            files.mkdir(exist_ok=True)
            yield files


def _rows(listed: bytes) -> list[str]:
    """Return the rows of a list of git. Rows end with a zero byte: names may have line ends."""
    return [os.fsdecode(row) for row in listed.split(b"\0")[:-1]]


# Rendering a TARGET at a revision: in a clean checkout, in a separate process.

CHILD_CODE = "import sys; sys.path[:] = {paths}; from promptdsl.cli.sides import child; child()"
"""The Python code of the process that renders a target at a revision."""


def rendered_at(
    revision: str, target: str, props: Arguments, arguments: argparse.Namespace
) -> PromptFile:
    """Return the snapshot of a TARGET, rendered at a revision.

    Output of the prompt's code goes to standard error. Raises :class:`UsageError` for an unknown
    revision, and if the prompt fails or takes longer than ``--timeout``.
    """
    repository = Repository()
    with repository.checkout(repository.commit(revision)) as files:
        folder = files / repository.folder_from_root
        if not folder.is_dir():
            raise UsageError(f"{revision} has no folder {repository.folder_from_root}")
        answer_file, tree = files.parent / "answer.json", repository.root.resolve()
        options = vars(arguments).items()
        task = {
            "target": _checked_out(target, tree, files),
            "props": props,
            "arguments": {
                **{key: value for key, value in options if key not in ("run", "defaults")},
                "inputs": checked_out_inputs(arguments.inputs, tree, files),
            },
            "working_tree": str(tree),
            "checkout": str(files),
            "answer": str(answer_file),
        }
        _run_child(json.dumps(task), folder, arguments.timeout, f"git:{revision}:{target}")
        if not answer_file.is_file():
            raise UsageError(f"git:{revision}:{target}: its process ended without a result")
        answer: dict[str, Any] = json.loads(answer_file.read_text("utf-8"))  # Any: JSON data
    if "error" in answer:
        raise UsageError(f"git:{revision}:{target}: {answer['error']}")
    libraries = tuple((name, version) for name, version in answer["libraries"])
    return attrs.evolve(parse(answer["snapshot"]), total=answer["total"], libraries=libraries)


def _checked_out(target: str, tree: Path, files: Path) -> str:
    """Return a target; an absolute path in the working tree becomes one in the checkout."""
    path, colon, name = target.rpartition(":")
    full = Path(path).resolve()
    if os.path.isabs(path) and full.is_relative_to(tree):
        return f"{files / full.relative_to(tree)}{colon}{name}"
    return target


def checked_out_inputs(target: str | None, tree: Path, files: Path) -> str | None:
    """Return the target of ``--inputs`` in the checkout; copy its file if the revision has none."""
    if target is None:
        return None
    path = Path(target.rpartition(":")[0])
    full = path.resolve()
    if full.is_file() and full.is_relative_to(tree):
        copy = files / full.relative_to(tree)
        if copy.parent.is_dir() and not copy.exists():
            copy.write_bytes(full.read_bytes())
    return _checked_out(target, tree, files)


def _run_child(task: str, folder: Path, seconds: float, name: str) -> None:
    """Run ``child`` in a process with its own process group; finally, end all processes of it.

    Raises :class:`UsageError` after ``seconds``. ``name`` is the target, for this error.
    """
    # Without -P, Python would import a folder promptdsl of the checkout instead of this package.
    variables = {key: text for key, text in os.environ.items() if not key.startswith("GIT_")}
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", CHILD_CODE.format(paths=[*map(os.path.abspath, sys.path)])],
        stdin=subprocess.PIPE,
        stdout=2,
        cwd=folder,
        env=variables | {"PWD": str(folder)},
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )
    try:
        process.communicate(task, timeout=seconds)
    except subprocess.TimeoutExpired:
        problem = f"{name} was not rendered in {seconds:g} seconds: --timeout gives it more time"
        raise UsageError(problem) from None
    finally:
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()


def child() -> None:
    """Render the TARGET of the task on standard input, and write the result to the answer file."""
    task: dict[str, Any] = json.load(sys.stdin)  # Any: JSON data
    tree, checkout = Path(task["working_tree"]), Path(task["checkout"])
    for index, path in enumerate(sys.path):
        full = Path(path).resolve()
        if full.is_relative_to(tree) and not is_installed(str(full)):
            sys.path[index] = str(checkout / full.relative_to(tree))
    arguments = argparse.Namespace(**task["arguments"])
    try:
        with rendered_target(task["target"], task["props"], arguments) as rendered:
            # Only now all modules are loaded that the prompt needs.
            _refuse_modules_of(tree)
            file = prompt_file(rendered)
        answer = {"snapshot": serialise(file), "total": file.total, "libraries": file.libraries}
    except UsageError as error:
        answer = {"error": str(error)}
    except (Exception, SystemExit) as error:
        text = error_text(error, target=task["target"], frames=arguments.traceback)
        answer = {"error": text.replace(f"{checkout}{os.sep}", "")}
    Path(task["answer"]).write_text(json.dumps(answer), "utf-8")


def _refuse_modules_of(tree: Path) -> None:
    """Raise :class:`UsageError` if a module of the project came from the working tree."""
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not file or name.partition(".")[0] == "promptdsl":
            continue
        full = Path(file).resolve()
        if full.is_relative_to(tree) and not is_installed(str(full)):
            raise UsageError(
                f"module {name!r} was imported from the working tree, not from the revision: "
                "let PYTHONPATH, or the installation of the project, add its folder to sys.path"
            )


# The sides of a diff: a target, a snapshot, a payload or a record, or one of these at a revision.

SNAPSHOT_ENDING = ".prompt.txt"
"""The end of the names of snapshots."""
GIT_PREFIX = "git:"
"""The beginning of a side at a revision."""
Read = Callable[[str], bytes | None]
"""A function that returns the content of a file by its path; ``None`` if there is no such file."""


Side: TypeAlias = Rendered | PromptFile | PromptRecord
"""A prompt that ``diff`` can compare."""


def record_side(name: str, id: str | None) -> PromptRecord:
    """Return the record with an id in a log or in a list of records.

    Raises :class:`UsageError` if there is no such record, or it cannot be read.
    """
    data, _ = json_of(name, id, command="diff")
    try:
        return PromptRecord.from_dict(data)
    except PromptError as error:
        raise UsageError(f"{name}: {error.what}\n  {error.fix}".rstrip()) from None


def has_records(name: str) -> bool:
    """Return whether a side is a folder, or a JSON file with a list of records.

    Raises :class:`UsageError` for a JSON file that cannot be read, or is not JSON.
    """
    if os.path.isdir(name):
        return True
    content = _read(name) if name.endswith(".json") else None
    return content is not None and listed_entries(read_json(name, content)) is not None


def side(name: str, props: Arguments, arguments: argparse.Namespace) -> Side:
    """Return the prompt that an argument of ``promptdsl diff`` names.

    Raises :class:`UsageError` for a file or revision that cannot be read, and whatever the code of
    the prompt raises.
    """
    if name.startswith(GIT_PREFIX):
        revision, colon, path = name.removeprefix(GIT_PREFIX).partition(":")
        if not revision or not colon or not path:
            raise UsageError(f"{name} is not complete: write git:REVISION:TARGET")
        if not _is_file(path):
            return rendered_at(revision, path, props, arguments)
        repository = Repository()
        blobs = repository.blobs(repository.commit(revision))

        def read(path: str) -> bytes | None:
            full = repository.path(path)
            return repository.contents([blobs[full]])[0] if full in blobs else None

        return file_side(path, read, arguments)
    if _is_file(name):
        return file_side(name, _read, arguments)
    refuse_log_file(name, command="diff", options=" --id A --id B")
    with rendered_target(name, props, arguments) as rendered:
        return rendered


def _is_file(name: str) -> bool:
    """Return whether a side is a snapshot or a JSON file, by the end of its name."""
    return name.endswith((SNAPSHOT_ENDING, ".json"))


def is_target(name: str) -> bool:
    """Return whether an argument names a prompt in the code of the working tree."""
    return not name.startswith(GIT_PREFIX) and not _is_file(name) and not os.path.isdir(name)


def file_side(path: str, read: Read, arguments: argparse.Namespace) -> Side:
    """Return the prompt of a snapshot, a payload or a record that ``read`` returns.

    Raises :class:`UsageError` if there is no such file, or it cannot be read.
    """
    content = read(path)
    if content is None:
        raise UsageError(f"no such file: {path}")
    if path.endswith(SNAPSHOT_ENDING):
        return snapshot_side(path, content, read)
    return payload_side(path, content, arguments.provider_format)


def payload_side(path: str, content: bytes, provider: str | None) -> PromptFile | PromptRecord:
    """Return the prompt of a record, or of a payload; ``provider`` is the provider of a payload.

    Raises :class:`UsageError` for other data, and for an unknown provider.
    """
    data = read_json(path, content)
    try:
        if is_record(data):
            return PromptRecord.from_dict(data)
        return payload_file(data, None if provider in TEXT_FORMATS else checked_provider(provider))
    except PromptError as error:
        raise UsageError(f"{path}: {error.what}\n  {error.fix}".rstrip()) from None


def read_json(path: str, content: bytes) -> object:
    """Return the data of a JSON file. Raises :class:`UsageError` if it is not JSON."""
    try:
        data: object = json.loads(content)
        return data
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}") from None


def json_of(target: str, id: str | None, *, command: str) -> tuple[object, list[str]]:
    """Return the data of a JSON file, or the record with an id in a log or in a list of records.

    A note says if several records have the id. ``command`` is the name of the command, for errors.
    Raises :class:`UsageError` for a file that cannot be read, an unknown id, and a missing id.
    """
    if os.path.isdir(target):
        entries, notes = log_entries(target)
        entry, further_notes = entry_of(entries, id, target)
        return entry.record, [*notes, *further_notes]
    refuse_log_file(target, command=command, options=" --id ID")
    content = _read(target)
    if content is None:
        raise UsageError(f"cannot read {target}: No such file or directory")
    data = read_json(target, content)
    listed = listed_entries(data)
    if listed is not None:
        entry, notes = entry_of(listed, id, target)
        return entry.record, notes
    if id is not None:
        problem = f"{target} is not a log and not a list of records"
        raise UsageError(f"{problem}: leave out --id")
    return data, []


def is_record(data: object) -> bool:
    """Return whether data is a record, not a payload: a record has a version as its ``format``."""
    if not isinstance(data, dict):
        return False
    return str(cast("dict[str, object]", data).get("format"))[:1].isdecimal()


def is_record_text(text: str) -> bool:
    """Return whether a text is the JSON of a record."""
    try:
        return is_record(json.loads(text))
    except (ValueError, RecursionError):
        return False


def snapshot_side(path: str, content: bytes, read: Read) -> PromptFile:
    """Return the prompt of a snapshot; a snapshot of a model is read together with its base.

    Raises :class:`UsageError` if the snapshot is damaged, or its base is missing.
    """
    try:
        file = parse(content.decode())
        if not is_of_model(content):
            return file
        base = base_of(path, read)
        if base is None:
            raise UsageError(
                f"{path} needs the snapshot without a model, which is missing next to it"
            )
        return applied(parse(base.decode()), file)
    except SnapshotFormatError as error:
        raise UsageError(f"{path}: {error.what}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8 text") from None


def base_of(path: str, read: Read) -> bytes | None:
    """Return the base of a snapshot of a model: its path is the same without the model's name.

    Returns ``None`` if there is no base.
    """
    stem = path.removesuffix(SNAPSHOT_ENDING)
    for match in reversed([*re.finditer(r"\.", stem)]):
        base = read(f"{stem[: match.start()]}{SNAPSHOT_ENDING}")
        # The name of a model may contain a dot, and begin with the name of another model.
        if base is not None and not is_of_model(base):
            return base
    return None


def is_of_model(content: bytes) -> bool:
    """Return whether a snapshot is that of a model: its header names its base."""
    return b"\nbase: " in content[3:].partition(b"\n---")[0]


def _read(path: str) -> bytes | None:
    """Return the content of a file of the working tree; ``None`` if there is no such file.

    Raises :class:`UsageError` for a file that cannot be read.
    """
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
