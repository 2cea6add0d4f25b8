"""What importing promptdsl costs: nothing heavy is loaded before it is used."""

import subprocess
import sys
from pathlib import Path

import pytest

import promptdsl

ROOT = Path(__file__).resolve().parents[1]

HEAVY = ("asyncio", "jinja2", "pydantic", "pytest", "rich", "ssl", "tiktoken", "urllib.request")
README_NAMES = (
    "Event, Grounding, History, Section, System, Text, Timeline, User, UserAction, render"
)
RENDERED = """
from promptdsl import System, Timeline, User, render

with Timeline() as timeline:
    System("Be brief.")
    User("Hello.")
render(timeline).messages
"""


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("import promptdsl", id="package", marks=pytest.mark.slow),
        pytest.param(
            f"from promptdsl import {README_NAMES}",
            id="names of the first example",
            marks=pytest.mark.slow,
        ),
        pytest.param("from promptdsl import *", id="every public name"),
        pytest.param(RENDERED, id="a render without templates"),
    ],
)
def test_nothing_heavy_is_loaded(code: str) -> None:
    """Neither the import, nor any public name, nor a plain render loads what is heavy."""
    code += f"\nimport sys\nprint([name for name in {HEAVY} if name in sys.modules])"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "[]\n" == done.stdout


def test_the_front_door_is_complete() -> None:
    """Every name of ``__all__`` is there, once, constants first, in order."""
    found = sorted({*promptdsl.__all__} & {*dir(promptdsl)}, key=lambda n: (not n.isupper(), n))
    assert found == list(promptdsl.__all__)
