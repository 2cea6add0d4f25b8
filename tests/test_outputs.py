"""The program that compares what prompts come to: ``python -m tests.outputs``."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import promptdsl
from promptdsl import Text
from tests.internals import minimal_body
from tests.outputs import registry
from tests.outputs.__main__ import OutputFile, differences
from tests.outputs.cases import random_prompts

NUMBER = 30


def written() -> dict[str, Any]:
    """Return the outputs of a few random prompts, as a file has them."""
    return OutputFile(random_prompts(NUMBER, seed=0)).data()


@contextmanager
def other_encoder() -> Iterator[None]:
    """Write one more sign behind each value in a fence, wherever the package encodes one."""

    def other(*args: Any, **options: Any) -> str:
        return minimal_body(*args, **options) + "!"

    with pytest.MonkeyPatch.context() as patch:
        for name, module in [*sys.modules.items()]:
            if name.startswith("promptdsl.") and hasattr(module, "minimal_body"):
                patch.setattr(module, "minimal_body", other)
        yield


@pytest.fixture(scope="module")
def before() -> dict[str, Any]:
    """Return the outputs of this package."""
    return written()


def test_the_same_package_writes_the_same(before: dict[str, Any]) -> None:
    """The outputs of the same prompts are equal, and there is one for each prompt."""
    assert (NUMBER, []) == (len(before["cases"]), [*differences(before, written())])


def test_an_encoder_that_changes(before: dict[str, Any]) -> None:
    """An encoder that writes one more sign is noticed: the outputs, and how to see them."""
    with other_encoder():
        first, *told = differences(before, written())
    assert (["prompts", "differ:"], "show") == (first.split()[3:5], told[1].split()[3])


def test_a_component_that_nobody_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """A public name that no prompt is drawn with is named, and what to do."""
    registry.calls()  # what is drawn is known before the name is there
    monkeypatch.setattr(promptdsl, "__all__", [*promptdsl.__all__, "Banner"])
    monkeypatch.setattr(promptdsl, "Banner", Text, raising=False)
    assert ["promptdsl.Banner: draw it in prompts.py, or list it in LEFT_OUT"] == registry.unknown()
