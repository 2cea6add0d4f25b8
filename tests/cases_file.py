"""Files of cases: what each case comes to, as data in a JSON file that a person can read."""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

import attrs

from promptdsl import *
from tests.folding import failures, unequal

WIDTH = 130
"""The characters up to which a list or a mapping stands on one line."""

HEAD = "==== "
"""What stands before the name of a text in a file of texts."""


def _known(file: str) -> dict[str, Any]:
    """Return the data beside a module: the file with its name that ends in ``.json``."""
    return dict(json.loads(Path(file).with_suffix(".json").read_text("utf-8")))


def write_cases(file: str, outputs: Mapping[str, Callable[[], object]]) -> None:
    """Write the data beside a module anew. Read each line that changed before you keep it."""
    data = {name: data_shown(output(), file) for name, output in outputs.items()}
    Path(file).with_suffix(".json").write_text(_text(data, "") + "\n", "utf-8")


def unlike_cases(file: str, outputs: Mapping[str, Callable[[], object]], *names: str) -> list[str]:
    """Return the cases, or those of some names, whose output is not what the file says."""
    known = _known(file)

    def wrong(name: str) -> str:
        return unequal(_text(known[name], ""), _text(data_shown(outputs[name](), file), ""))

    return [
        *failures(names or outputs, wrong),
        *(f"{it}: no case" for it in known.keys() - outputs),
    ]


def read_texts(file: Path) -> dict[str, str]:
    """Return the texts in a file, each by its name, which stands behind ``HEAD`` above it."""
    parts = file.read_text("utf-8").split(f"\n{HEAD}")
    named = (part.removeprefix(HEAD).partition("\n") for part in parts)
    return {name: text.rstrip("\n") for name, _, text in named}


def data_shown(value: Any, file: str) -> Any:
    """Return a value as JSON data: a text of several lines as a list, lines of a module as ``@9``.

    The line is that after the first line with ``CASES`` in the module, whatever stands above it.
    """
    if isinstance(value, str):
        first = _line_of_cases(file)
        pattern = rf"{re.escape(file)}:(\d+)"
        text = re.sub(pattern, lambda match: f"@{int(match[1]) - first}", value)
        return text.split("\n") if "\n" in text else text
    if isinstance(value, Source):
        return data_shown(str(value), file)
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value)
        return {
            str(data_shown(str(key), file)): data_shown(item, file) for key, item in pairs.items()
        }
    if isinstance(value, list | tuple):
        return [data_shown(item, file) for item in cast("list[object]", value)]
    if attrs.has(type(value)):
        fields = attrs.asdict(value, recurse=False)
        return data_shown({name: it for name, it in fields.items() if it is not None}, file)
    return value if isinstance(value, int | float | None) else repr(value)


@cache
def _line_of_cases(file: str) -> int:
    lines = Path(file).read_text("utf-8").split("\n")
    return next(number for number, line in enumerate(lines, 1) if "CASES" in line)


def _text(value: Any, margin: str) -> str:
    """Return JSON text with a line for each item that is no short one."""
    short = json.dumps(value, ensure_ascii=False)
    if not value or not isinstance(value, list | dict) or len(margin + short) <= WIDTH:
        return short
    inner = f"{margin} "
    if isinstance(value, dict):
        items = [f"{json.dumps(key, ensure_ascii=False)}: {_text(it, inner)}"
                 for key, it in cast("dict[str, Any]", value).items()]  # fmt: skip
        return "{\n" + ",\n".join(inner + item for item in items) + f"\n{margin}}}"
    items = [_text(it, inner) for it in cast("list[Any]", value)]
    return "[\n" + ",\n".join(inner + item for item in items) + f"\n{margin}]"
