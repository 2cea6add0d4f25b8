"""An audit of the test suite: what the interpreter is asked for while prompts are rendered or read.

A hook of the interpreter sees every socket, process and file. It looks at the stack, so nothing is
wrapped and no line of an author changes: what is asked for below a function of ``GUARDED`` has to
be one of the few files that rendering may open.
"""

import os
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import cache
from inspect import unwrap
from pathlib import Path
from types import FrameType
from typing import Any

from _pytest.assertion import rewrite

import promptdsl
from promptdsl import Message, Node, Rendered, block_from_dict, render
from tests.internals import Registration, templates_root, walk

STARTS = (render, block_from_dict, Message.from_dict.__func__)  # type: ignore[attr-defined]
GUARDED = {unwrap(start).__code__.co_filename for start in STARTS}
"""The files that rendering and reading start in, with the methods of what is rendered."""

PROCESSES = {
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.spawn",
    "os.startfile",
    "pty.spawn",
}
FILES = {
    "open",
    "os.listdir",
    "os.scandir",
    "os.mkdir",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "os.truncate",
    "os.chmod",
}
PACKAGE = Path(promptdsl.__file__).parent
OWN = (
    *(PACKAGE / "config/models.toml", PACKAGE / "config/servers.toml"),
    PACKAGE / "config/schema_rules.toml",
    *(PACKAGE / "tokens", templates_root()),
)
"""What comes with promptdsl and is read when it is needed."""
IMPORTS = ("<frozen importlib.", "<frozen zipimport>", rewrite.__file__)
"""How the names of the files start that imports run in; pytest imports a plug-in's package."""

OPENERS = ("os", "pathlib", "glob")
"""The modules and packages of the standard library that open a file for their caller."""

_reached: list[str] | None = None


@contextmanager
def auditing() -> Generator[list[str]]:
    """Give the list of what is reached for in the block that no render may reach for."""
    global _reached  # noqa: PLW0603
    _add_hook()
    around, _reached = _reached, []
    try:
        yield _reached
    finally:
        _reached = around


def _hook(event: str, args: tuple[Any, ...]) -> None:
    # Asked first: a component that is written raises an event of its own, to know its line.
    if event == "sys._getframe" or _reached is None:
        return
    if event in FILES or event in PROCESSES or event.startswith("socket."):
        caller = sys._getframe(1)
        guarded = _guarded(caller)
        if guarded and not (event in FILES and _is_declared(args, guarded)):
            what = repr(args[0]) if args else ""
            where = f"{caller.f_code.co_filename}:{caller.f_lineno}"
            _reached.append(f"{event} {what} at {where}")


@cache
def _add_hook() -> None:
    """Add the hook once; it stays. The interpreter calls it for each frame that is asked for."""
    sys.addaudithook(_hook)


def _guarded(frame: FrameType | None) -> list[FrameType]:
    """Return the frames of a stack up to where rendering or reading started, none if neither did.

    The innermost comes first.
    """
    stack: list[FrameType] = []
    started = 0
    while frame is not None:
        stack.append(frame)
        if frame.f_code.co_filename in GUARDED and frame.f_code.co_name != "<module>":
            started = len(stack)
        frame = frame.f_back
    return stack[:started]


def _is_declared(args: tuple[Any, ...], guarded: list[FrameType]) -> bool:
    """Return whether a file may be touched: ours, declared, or one an import looks at."""
    given = args[0]
    opener = next(frame for frame in guarded if _package(frame) not in OPENERS)
    if isinstance(given, int) or opener.f_code.co_filename.startswith(IMPORTS):
        return True
    name = os.fsdecode("." if given is None else given)
    if _is_inside(name, args):
        return True
    path = Path(name).resolve()
    if any(path.is_relative_to(own) for own in (*OWN, *(it.folder for it in Registration.active))):
        return True
    return any(path.is_relative_to(root) for frame in guarded for root in _declared(frame))


def _package(frame: FrameType) -> str:
    """Return the name of the outermost package, or of the module, whose code runs in a frame."""
    module: str = frame.f_globals.get("__name__", "")
    return module.partition(".")[0]


def _is_inside(name: str, args: tuple[Any, ...]) -> bool:
    """Return whether a file is opened in a folder that is open already, so was audited itself.

    The event does not tell the folder. What has no such name in the working folder is in another.
    """
    flags = args[2] if len(args) > 2 and isinstance(args[2], int) else os.O_CREAT
    plain = os.path.basename(name) == name and name not in ("", ".", "..")
    return plain and not flags & os.O_CREAT and not os.path.lexists(name)


def _declared(frame: FrameType) -> Iterator[Path]:
    """Yield what is declared by what a function works on: media roots, files named in code."""
    for value in list(frame.f_locals.values()):
        if isinstance(value, Rendered):
            yield from _roots(value._request)
            yield from _named(value.stages()[0].tree)
        elif isinstance(value, Node):
            yield from _named(value)
        else:
            yield from _roots(value)


def _roots(request: object) -> Iterator[Path]:
    if type(request).__name__ == "RenderRequest":
        for root in getattr(request, "media_roots", ()):
            yield Path(root).resolve()


def _named(tree: Node) -> Iterator[Path]:
    """Yield the files that an author named in a tree, and the folders of its templates."""
    for node, _ in walk(tree):
        template = getattr(node, "template", None)
        if template is not None and template.kind == "path":
            yield Path(template.value).resolve().parent
        if template is not None and template.folder is not None:
            yield Path(template.folder.folder)
        for source in _sources(node):
            if source.kind == "path" and not source.from_data:
                yield Path(source.value).resolve()


def _sources(node: Node) -> Iterator[Any]:
    """Yield where the attachments of a node are, those of recorded messages, too."""
    held = [getattr(node, "block", None)]
    for item in getattr(node, "items", ()):
        held += item.content if isinstance(item, Message) else ()
    for block in held:
        inner = [block, *(getattr(block, "content", None) or ())]
        yield from (each.source for each in inner if hasattr(each, "source"))
