"""The rooms of the package that are mutated, each with its files."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import promptdsl

PACKAGE = Path(promptdsl.__file__).parent


class Room(NamedTuple):
    """The files of a room in the package, its tests, and the share of mutants that has to die.

    Files and tests are divided by blanks. What follows ``--deselect=`` is left out: tests
    of time, which are slow to trace.
    """

    files: str
    tests: str
    wanted: float = 0.9


ADAPTERS = "tests/providers tests/wire tests/test_caching.py tests/test_growth.py"
ROOMS: Mapping[str, Room] = {
    "passes": Room(
        "rendering/passes/*.py",
        "tests/passes tests/components tests/views tests/test_rendering.py tests/test_growth.py"
        " tests/test_feeding_back.py tests/test_recordings.py tests/test_binding.py",
    ),
    "budget": Room("budget/*.py", "tests/budget tests/reports tests/components/test_budget.py"),
    "shared": Room("providers/shared/*.py", ADAPTERS),
    "anthropic": Room("providers/anthropic/*.py", ADAPTERS),
    "config": Room(
        "config/*.py",
        "tests/test_config.py tests/test_models.py tests/test_targets.py"
        " tests/test_chat_templates.py tests/test_rendering.py tests/passes",
    ),
    "escaping": Room(
        "foundation/escaping.py foundation/guards.py",
        "tests/test_encoding.py tests/test_minimal_encoding.py tests/test_fenced_values.py"
        " tests/test_tables.py tests/test_wording.py tests/components/test_text.py"
        " --deselect=tests/test_minimal_encoding.py::test_linear_time"
        " --deselect=tests/test_encoding.py::test_linear_time"
        " --deselect=tests/test_encoding.py::test_guard_takes_linear_time"
        " --deselect=tests/test_encoding.py::test_reports_take_linear_time",
        wanted=0.95,
    ),
}


def files_of(room: Room) -> list[Path]:
    """Return the files of a room, in order."""
    return sorted(path for pattern in room.files.split() for path in PACKAGE.glob(pattern))


def module_name(path: Path) -> str:
    """Return the dotted name of the module in a file of the package."""
    inside = path.relative_to(PACKAGE.parent).with_suffix("")
    parts = [part for part in inside.parts if part != "__init__"]
    return ".".join(parts)
