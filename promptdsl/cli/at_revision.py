"""The render of a TARGET at a revision: in a clean checkout, in a separate process."""

import argparse
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs

from promptdsl.batch import is_installed
from promptdsl.cli.arguments import Arguments
from promptdsl.cli.errors import UsageError, error_text
from promptdsl.cli.git import Repository
from promptdsl.cli.options import rendered_target
from promptdsl.comparing import PromptFile, parse, prompt_file, serialise

CHILD = "import sys; sys.path[:] = {paths}; from promptdsl.cli.at_revision import child; child()"


def rendered_at(
    revision: str, target: str, props: Arguments, arguments: argparse.Namespace
) -> PromptFile:
    """Return the snapshot of a TARGET that is rendered at a revision.

    Output of the prompt's code goes to standard error. Raises :class:`UsageError` for an unknown
    revision, and when the prompt fails or takes longer than ``--timeout``.
    """
    repository = Repository()
    with repository.checkout(repository.commit(revision)) as files:
        here = files / repository.inside
        if not here.is_dir():
            raise UsageError(f"{revision} has no folder {repository.inside}")
        answer, tree = files.parent / "answer.json", repository.root.resolve()
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
            "answer": str(answer),
        }
        _run(json.dumps(task), here, arguments.timeout, f"git:{revision}:{target}")
        if not answer.is_file():
            raise UsageError(f"git:{revision}:{target}: its process ended without an answer")
        result: dict[str, Any] = json.loads(answer.read_text("utf-8"))  # Any: JSON data
    if "error" in result:
        raise UsageError(f"git:{revision}:{target}: {result['error']}")
    libraries = tuple((name, version) for name, version in result["libraries"])
    return attrs.evolve(parse(result["snapshot"]), total=result["total"], libraries=libraries)


def _checked_out(target: str, tree: Path, files: Path) -> str:
    """Return a target in which an absolute path into the working tree is one into the checkout."""
    path, colon, name = target.rpartition(":")
    full = Path(path).resolve()
    if os.path.isabs(path) and full.is_relative_to(tree):
        return f"{files / full.relative_to(tree)}{colon}{name}"
    return target


def checked_out_inputs(target: str | None, tree: Path, files: Path) -> str | None:
    """Return the target of ``--inputs`` in the checkout; a file that it has not yet is copied."""
    if target is None:
        return None
    written = Path(target.rpartition(":")[0])
    full = written.resolve()
    if full.is_file() and full.is_relative_to(tree):
        copied = files / full.relative_to(tree)
        if copied.parent.is_dir() and not copied.exists():
            copied.write_bytes(full.read_bytes())
    return _checked_out(target, tree, files)


def _run(task: str, here: Path, seconds: float, name: str) -> None:
    """Run the process; after the time limit, it and the processes of its group are ended."""
    # A folder of the checkout with the name of this package must not be imported instead of it.
    variables = {key: text for key, text in os.environ.items() if not key.startswith("GIT_")}
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", CHILD.format(paths=[*map(os.path.abspath, sys.path)])],
        stdin=subprocess.PIPE,
        stdout=2,
        cwd=here,
        env=variables | {"PWD": str(here)},
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )
    try:
        process.communicate(task, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise UsageError(f"{name}: it was not rendered in {seconds:g} seconds") from None
    finally:
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()


def child() -> None:
    """Render the TARGET of the task on standard input, and write the result to a file."""
    task: dict[str, Any] = json.load(sys.stdin)  # Any: JSON data
    tree, checkout = Path(task["working_tree"]), Path(task["checkout"])
    for number, path in enumerate(sys.path):
        full = Path(path).resolve()
        if full.is_relative_to(tree) and not is_installed(str(full)):
            sys.path[number] = str(checkout / full.relative_to(tree))
    arguments = argparse.Namespace(**task["arguments"])
    try:
        with rendered_target(task["target"], task["props"], arguments) as rendered:
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
    """Raise an error if a module of the project was imported from the working tree."""
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not file or name.partition(".")[0] == "promptdsl":
            continue
        full = Path(file).resolve()
        if full.is_relative_to(tree) and not is_installed(str(full)):
            raise UsageError(
                f"module {name!r} was imported from the working tree, not from the revision: "
                "install the project so that its folder is in sys.path, as PYTHONPATH does"
            )
