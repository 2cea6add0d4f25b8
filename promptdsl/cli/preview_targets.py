"""The files that the targets of a preview name, before any code runs."""

import os
from collections.abc import Iterator, Sequence

from promptdsl.cli.log_records import is_log
from promptdsl.cli.target import split_target


def files_of(target: str) -> list[str]:
    """Return the Python files of a folder of prompts as targets; another target alone."""
    if not os.path.isdir(target) or is_log(target):
        return [target]
    names = sorted(os.listdir(target))
    files = [os.path.normpath(os.path.join(target, name)) for name in names if _is_code(name)]
    return files or [target]


def _is_code(name: str) -> bool:
    return name.endswith(".py") and not name.startswith(("_", "test_", "conftest"))


def named_files(targets: Sequence[str]) -> list[str]:
    """Return the absolute paths of the files that targets may mean, also if they are missing."""
    return sorted({os.path.abspath(path) for target in targets for path in _paths(target)})


def _paths(target: str) -> Iterator[str]:
    for file in files_of(target):
        location, _ = split_target(file)
        if os.path.exists(location) or location.endswith((".py", ".json")) or "/" in location:
            yield location
        else:
            module = os.path.join(*location.split("."))
            yield from (f"{module}.py", os.path.join(module, "__init__.py"))
