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
PROVIDERS = ("anthropic", "bedrock", "gemini", "openai_chat", "openai_responses")
ROOMS: Mapping[str, Room] = {
    "passes": Room(
        "rendering/passes/*.py",
        "tests/passes tests/components tests/views tests/test_rendering.py tests/test_growth.py"
        " tests/test_feeding_back.py tests/test_recordings.py tests/test_binding.py",
    ),
    "budget": Room("budget/*.py", "tests/budget tests/reports tests/components/test_budget.py"),
    "shared": Room("providers/*.py providers/shared/*.py", ADAPTERS),
    **{name: Room(f"providers/{name}/*.py", ADAPTERS) for name in PROVIDERS},
    "chat_template": Room(
        "providers/chat_template/*.py", f"{ADAPTERS} tests/test_chat_templates.py"
    ),
    "foundation": Room(
        "foundation/*.py __init__.py",
        "tests/test_json_text.py tests/test_files.py tests/test_indentation.py tests/test_tables.py"
        " tests/test_plain_data.py tests/test_hostile_objects.py tests/test_errors.py"
        " tests/test_signatures.py tests/test_tracebacks.py tests/test_wrong_calls.py"
        " tests/test_every_call.py"
        " tests/test_encoding.py tests/test_fenced_values.py tests/components tests/messages",
    ),
    "messages": Room(
        "messages/*.py",
        "tests/messages tests/media tests/test_messages.py tests/test_payloads.py"
        " tests/test_losses.py tests/test_schemas.py tests/test_recordings.py tests/components",
    ),
    "templates": Room("templates/*.py", "tests/templates tests/libraries tests/components"),
    "tree": Room(
        "tree/*.py",
        "tests/test_tree.py tests/test_ids.py tests/test_dissolving.py tests/views tests/components"
        " tests/passes",
    ),
    "components": Room(
        "components/*.py",
        "tests/components tests/mistakes tests/libraries tests/test_scope.py tests/test_calls.py"
        " tests/test_elsewhere.py tests/test_schemas.py tests/test_signatures.py"
        " tests/test_wrong_calls.py tests/test_writing_machine.py",
    ),
    "rendering": Room(
        "rendering/*.py",
        "tests/test_rendering.py tests/test_hints.py tests/test_losses.py tests/test_spans.py"
        " tests/test_targets.py tests/test_caching.py tests/test_prefix.py tests/test_growth.py"
        " tests/media tests/reports tests/budget tests/mistakes",
    ),
    "text": Room(
        "rendering/text/*.py",
        "tests/formats tests/test_lower.py tests/test_page.py tests/test_places.py"
        " tests/test_encoding.py tests/test_fenced_values.py tests/test_author_text.py"
        " tests/test_wording.py tests/test_spans.py tests/components/test_text.py"
        " tests/test_every_part.py tests/test_losses.py tests/test_tables.py tests/test_hints.py"
        " tests/mistakes tests/views tests/passes tests/reports tests/libraries"
        " tests/components/test_lists.py tests/components/test_sections.py"
        " tests/test_separator.py tests/test_readable.py",
    ),
    "reports": Room(
        "rendering/reports/*.py",
        "tests/reports tests/views tests/records tests/cli/test_tokens.py tests/test_caching.py",
    ),
    "running": Room("running/*.py", "tests/running"),
    "tokens": Room("tokens/*.py", "tests/tokens tests/reports tests/budget"),
    "libraries": Room("libraries/*.py", "tests/libraries tests/cli/test_libraries.py"),
    "checking": Room(
        "checking/*.py checking/rules/*.py", "tests/checking tests/testing/test_checked.py"
    ),
    "comparing": Room("comparing/*.py", "tests/comparing tests/testing tests/cli/test_diff.py"),
    "page": Room("page/*.py", "tests/page tests/cli/test_page.py"),
    "preview": Room("preview/*.py", "tests/preview"),
    "batch": Room("batch/*.py cli/batch*.py", "tests/batch"),
    "cli": Room("cli/*.py", "tests/cli tests/records"),
    "testing": Room("testing/*.py", "tests/testing tests/comparing"),
    "integrations": Room(
        "integrations/*.py integrations/*/*.py",
        "tests/integrations",
    ),
    "transcript": Room("transcript/*.py", "tests/transcript tests/mistakes"),
    "config": Room(
        "config/*.py",
        "tests/test_config.py tests/test_models.py tests/test_targets.py"
        " tests/test_chat_templates.py tests/test_rendering.py tests/passes",
    ),
    "escaping": Room(
        "foundation/escaping.py foundation/guards.py foundation/readable.py"
        " rendering/text/encode.py",
        "tests/test_encoding.py tests/test_minimal_encoding.py tests/test_fenced_values.py"
        " tests/test_readable.py tests/test_separator.py tests/test_author_text.py"
        " tests/test_tables.py tests/test_wording.py tests/components/test_text.py"
        " tests/test_spans.py tests/test_lower.py tests/test_losses.py"
        " --deselect=tests/test_minimal_encoding.py::test_linear_time"
        " --deselect=tests/test_encoding.py::test_linear_time"
        " --deselect=tests/test_encoding.py::test_guard_takes_linear_time"
        " --deselect=tests/test_encoding.py::test_reports_take_linear_time",
        wanted=0.96,
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
