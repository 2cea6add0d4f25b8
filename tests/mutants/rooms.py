"""The rooms of the package that are mutated, each with its files."""

from collections.abc import Mapping
from pathlib import Path

import promptdsl

PACKAGE = Path(promptdsl.__file__).parent

ROOMS: Mapping[str, tuple[str, ...]] = {
    "passes": ("passes/*.py",),
    "fitting": ("fitting/*.py",),
    "wire": ("wire/*.py",),
    "anthropic": ("adapters/anthropic/*.py",),
    "config": ("config.py",),
    "encoding": ("encoding.py",),
}
"""By room, its files in the package."""


def files_of(room: str) -> list[Path]:
    """Return the files of a room, in order."""
    return [path for pattern in ROOMS[room] for path in sorted(PACKAGE.glob(pattern))]


def module_name(path: Path) -> str:
    """Return the dotted name of the module in a file of the package."""
    inside = path.relative_to(PACKAGE.parent).with_suffix("")
    parts = [part for part in inside.parts if part != "__init__"]
    return ".".join(parts)
