"""The prompts whose outputs are written, by name: random ones, and those that people wrote."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from sybil import Document, Example
from sybil.parsers.markdown import CodeBlockParser

import conftest
from promptdsl import History, Rendered, Timeline, User, read_payload, render
from tests.good_prompts import noted_results
from tests.outputs.prompts import prompt_code, rendered_code
from tests.wire.traffic import PROVIDERS, Row, rows

ROOT = Path(__file__).parents[2]
MODELS = (None, "gpt-5", "o3-pro", "claude-opus-5-5", "gemini-2.5-pro")
TARGETS = ("openai", "openai_responses", "anthropic", "gemini", "bedrock", "chat_template")
NO_PROMPT = ("edit_transcript", "first_bot")


class Case(NamedTuple):
    """A prompt by its name, and the rows of the table that it takes."""

    name: str
    make: Callable[[], Rendered]
    rows: frozenset[str] = frozenset()


def random_prompts(count: int, seed: int) -> Iterator[Case]:
    """Yield random prompts."""
    for number in range(count):
        yield random_prompt(number, seed)


def random_prompt(number: int, seed: int) -> Case:
    """Return a random prompt."""
    code, rows = prompt_code(number, seed)
    return Case(f"prompt {number}", partial(rendered_code, code, f"prompt {number}"), rows)


def demos() -> Iterator[Case]:
    """Yield the prompts of ``examples/``, each for several models."""
    for path in sorted((ROOT / "examples").glob("*.py")):
        if path.stem not in NO_PROMPT:
            for model in MODELS:
                yield Case(f"example {path.stem} {model}", partial(_example, path.stem, model))


def _example(name: str, model: str | None) -> Rendered:
    return render(import_module(f"examples.{name}").demo(), model=model)


def documentation() -> Iterator[Case]:
    """Yield every render in the examples of the documentation, by the number of the example.

    An example is run once for all its renders; one whose SDK is missing is left out. The paths of
    the pages are relative, as some examples show the line of a part in a text.
    """
    pages = (Path("README.md"), *sorted(Path("docs").rglob("*.md")))
    for page in pages:
        blocks = Document.parse(str(page), CodeBlockParser("python", conftest.run))
        for place, example in enumerate(blocks):
            if all(find_spec(package.partition(".")[0]) for package in conftest.needed(example)):
                for number, rendered in enumerate(_results(example)):
                    yield Case(f"{page} {place} {number}", partial(_itself, rendered))


def _itself(rendered: Rendered) -> Rendered:
    return rendered


def _results(example: Example) -> list[Rendered]:
    with noted_results() as results, redirect_stdout(StringIO()):
        conftest.names_after(example, {})
    return results


def recordings() -> Iterator[Case]:
    """Yield recorded conversations and requests; none without the folder ``PROMPTDSL_DATA``."""
    folder = Path(os.environ.get("PROMPTDSL_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        print(f"no recorded conversations in {folder}: set PROMPTDSL_DATA to their folder")
        return
    for file in ("airline-conversations.jsonl", "coding-session.json"):
        lines = (folder / file).read_bytes().decode("utf-8").split("\n")
        for number, line in enumerate(filter(None, lines)):
            entry = json.loads(line)
            for target in (None, TARGETS[number % len(TARGETS)]):
                yield Case(f"recorded {entry['id']} {target}", partial(_recorded, entry, target))
    for provider in PROVIDERS:
        for number, row in enumerate(rows(folder / "traffic", provider)):
            yield Case(f"traffic {provider} {number}", partial(_request, row))


def _recorded(entry: Mapping[str, Any], target: Any) -> Rendered:
    history = History.from_openai(entry["messages"])
    return render(Timeline(history, User("And now?")), provider=target)


def _request(row: Row) -> Rendered:
    target: Any = row.target or row.provider
    return render(read_payload(row.request, target), provider=target, model=row.model)


GROUPS: Mapping[str, Callable[[], Iterator[Case]]] = {
    "examples": demos,
    "documentation": documentation,
    "recordings": recordings,
}


def case(name: str, seed: int) -> Case:
    """Return the prompt of a name. Raises :class:`KeyError` for an unknown one."""
    if name.startswith("prompt "):
        return random_prompt(int(name.removeprefix("prompt ")), seed)
    return {it.name: it for group in GROUPS.values() for it in group()}[name]
