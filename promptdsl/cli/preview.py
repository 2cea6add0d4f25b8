"""``promptdsl preview``: a page of prompts that is updated after each save.

In this order: the files that the targets name, which are found before any code runs; and the
command. ``preview_process.py`` is the program that the command starts to run the code.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from functools import partial

from promptdsl import PromptError
from promptdsl.cli.commands import AddParser, add_command
from promptdsl.cli.logs import is_log
from promptdsl.cli.options import add_page_request, add_price, whole_number
from promptdsl.cli.output import UsageError
from promptdsl.cli.target import split_target
from promptdsl.preview import PreviewJob, can_fork, check_packages, project_folder, tunnel_command

# The files that the targets of a preview name, before any code runs.


def files_of(target: str) -> list[str]:
    """Return the Python files of a folder of prompts as targets; for another target, itself."""
    if not os.path.isdir(target) or is_log(target):
        return [target]
    names = sorted(os.listdir(target))
    files = [os.path.normpath(os.path.join(target, name)) for name in names if _is_code(name)]
    return files or [target]


def _is_code(name: str) -> bool:
    """Return whether a file of a folder may have prompts: private files and tests have none."""
    return name.endswith(".py") and not name.startswith(("_", "test_", "conftest"))


def named_files(targets: Sequence[str]) -> list[str]:
    """Return the absolute paths of the files that targets may mean, also of missing files."""
    return sorted({os.path.abspath(path) for target in targets for path in _paths(target)})


def _paths(target: str) -> Iterator[str]:
    """Yield the paths that a target may mean: of a file, or of the two files of a module."""
    for file in files_of(target):
        location, _ = split_target(file)
        if os.path.exists(location) or location.endswith((".py", ".json")) or "/" in location:
            yield location
        else:
            module = os.path.join(*location.split("."))
            yield from (f"{module}.py", os.path.join(module, "__init__.py"))


# ``promptdsl preview``: a page that is updated after each save.

DESCRIPTION = """\
Show a page of prompts in a browser until Ctrl-C. The page is updated after each save of their code,
templates and texts. A TARGET is a prompt (file.py:name), a file or a folder with prompts, a section
library, a record or a log. Only this machine can open the page. It contains the texts of the
prompts."""
CHILD_COMMAND = (sys.executable, "-P", "-m", "promptdsl.cli.preview_process")
"""The command that starts a process for the code of prompts."""
USUAL_PORT, LARGEST_PORT = 8765, 65535
"""The port in the advice about ``--host``, and the largest port that exists."""
CODE_ARGUMENTS = (
    "targets", "id", "payloads", "pairs", "props", "inputs", "input", "model", "budget",
    "reserve", "media_roots", "cache", "tool_choice", "chat_template", "strict", "price",
    "provider_format", "text_formats",
)  # fmt: skip
"""The arguments of the command line that the process for the code of prompts needs."""


def add_preview(add_parser: AddParser) -> None:
    """Add the command and its options."""
    parser = add_command(
        add_parser,
        "preview",
        run=run_preview,
        takes="TARGET...",
        description=DESCRIPTION,
        codes="0 stopped by Ctrl-C; 2 the command was called wrongly",
    )
    add_page_request(parser)
    group = parser.add_argument_group("page")
    group.add_argument(
        "--port",
        type=partial(whole_number, unit="a port"),
        default=0,
        metavar="PORT",
        help="the port at 127.0.0.1 (default: a free one)",
    )
    group.add_argument("--no-open", action="store_true", help="do not open a browser")
    group.add_argument("--host", help=argparse.SUPPRESS)
    group.add_argument(
        "--timeout",
        type=partial(whole_number, unit="seconds"),
        default=60,
        metavar="SECONDS",
        help="the time limit for importing the code and the first render (default: 60)",
    )
    group.add_argument(
        "--cold",
        action="store_true",
        default=not can_fork(),
        help="start a new process after each save, as always on macOS and Windows",
    )
    add_price(group.add_argument)


def run_preview(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Show the preview until Ctrl-C; print its address; return no data and no notes.

    Raises :class:`UsageError` for a wrong option, a missing package, and a port that is not free.
    """
    _check(arguments)
    from promptdsl.preview import listening_socket, open_browser, serve

    try:
        listening = listening_socket(arguments.port)
    except OSError as error:
        problem = f"port {arguments.port}: {error.strerror}: choose another --port"
        raise UsageError(problem) from None

    def show_address(address: str) -> None:
        print(address, flush=True)
        if not arguments.no_open:
            open_browser(address)

    job = PreviewJob(
        arguments={name: getattr(arguments, name) for name in CODE_ARGUMENTS},
        files=named_files(_all_targets(arguments)),
        roots=_roots(_all_targets(arguments)),
        timeout=arguments.timeout,
        is_cold=arguments.cold,
    )
    serve(job, CHILD_COMMAND, listening, title=", ".join(arguments.targets), started=show_address)
    return "", []


def _all_targets(arguments: argparse.Namespace) -> list[str]:
    """Return all targets of a command line: those of the prompts, and that of ``--inputs``."""
    return [*arguments.targets, *([] if arguments.inputs is None else [arguments.inputs])]


def _check(arguments: argparse.Namespace) -> None:
    """Raise :class:`UsageError` for ``--host``, a wrong port or time, and a missing package."""
    port: int = arguments.port
    if arguments.host is not None:
        port = port or USUAL_PORT
        problem = "only the machine of a preview can open it: there is no --host. On yours, run"
        local_command = f"and here: promptdsl preview --port {port}"
        raise UsageError(f"{problem}\n  {tunnel_command(port)}\n  {local_command}")
    if port > LARGEST_PORT:
        raise UsageError(f"--port {port}: the largest port is {LARGEST_PORT}")
    if arguments.timeout == 0:
        raise UsageError("--timeout 0 leaves no time to render: write --timeout 1 or more")
    try:
        check_packages()
    except PromptError as error:
        raise UsageError(f"{error.what}\n  {error.fix}") from None


def _roots(targets: list[str]) -> list[str]:
    """Return the folder of the project, and the folders of those targets that are outside it."""
    root = project_folder(os.getcwd())
    prefix = os.path.join(root, "")
    other_folders = {
        os.path.dirname(path) for path in named_files(targets) if not path.startswith(prefix)
    }
    return [root, *sorted(other_folders)]
