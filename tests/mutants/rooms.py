"""The rooms of the package that are mutated, each with its files."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import promptdsl

PACKAGE = Path(promptdsl.__file__).parent


class Room(NamedTuple):
    """The files of a room in the package, and the share of its mutants that has to die."""

    files: str
    wanted: float = 0.9


ROOMS: Mapping[str, Room] = {
    "passes": Room("passes/*.py"),
    "fitting": Room("fitting/*.py"),
    "wire": Room("wire/*.py"),
    "anthropic": Room("adapters/anthropic/*.py"),
    "config": Room("config.py"),
    "encoding": Room("encoding.py", wanted=0.95),
}


def files_of(room: Room) -> list[Path]:
    """Return the files of a room, in order."""
    return sorted(PACKAGE.glob(room.files))


def module_name(path: Path) -> str:
    """Return the dotted name of the module in a file of the package."""
    inside = path.relative_to(PACKAGE.parent).with_suffix("")
    parts = [part for part in inside.parts if part != "__init__"]
    return ".".join(parts)
