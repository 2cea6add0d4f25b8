"""How far a prompt walks through the package: each module and border is something to read."""

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

import pytest

from promptdsl import *

MODEL = "claude-opus-4-5"


class Walk(NamedTuple):
    """The modules that were entered, and the borders that were crossed.

    A border is crossed by a call into another module of the package, and by the return from it;
    ``between_rooms`` counts those whose modules are in different rooms.
    """

    modules: int
    borders: int
    between_rooms: int


def small() -> Timeline:
    """Return the smallest prompt there is."""
    return Timeline(System(Section("role", "You help.")), User("Hi."))


def support() -> Timeline:
    """Return a prompt with a history, an event and a grounding."""
    with Timeline() as prompt:
        with System():
            Section("role", "You are a support agent.")
            with Section("rules", title="Rules"):
                Text("Never promise refunds.")
        History([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}])
        with Event():
            UserAction("opened", target="invoice 1881")
        with Grounding("account", title="Account"):
            Text("Plan: ", "pro")
        User("why?")
    return prompt


def walk(run: Callable[[], object]) -> Walk:
    """Return how far a call walks."""
    stack: list[str] = [""]
    seen: set[str] = set()
    borders = between_rooms = 0

    def cross(name: str, other: str) -> None:
        nonlocal borders, between_rooms
        if name and name != other:
            borders += 1
            between_rooms += name.split(".")[1:2] != other.split(".")[1:2]

    def profile(frame: FrameType, event: str, _: Any) -> None:
        name: str = frame.f_globals.get("__name__", "")
        if event not in ("call", "return") or not name.startswith("promptdsl"):
            return
        if event == "call":
            seen.add(name)
            cross(stack[-1], name)
            stack.append(name)
        else:
            if len(stack) > 1:
                stack.pop()
            cross(stack[-1], name)

    # What other tests left behind is not collected in the walk: that calls code of the package.
    gc.collect()
    gc.disable()
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
        gc.enable()
    return Walk(len(seen), borders, between_rooms)


def test_the_smallest_prompt() -> None:
    """Rendering the smallest prompt enters 20 modules and crosses 45 borders at most."""
    render(small(), model=MODEL)
    prompt = small()
    found = walk(lambda: render(prompt, model=MODEL))
    assert [True] * 3 == [n <= most for n, most in zip(found, (20, 45, 20), strict=True)], found


@pytest.mark.slow
def test_a_prompt_that_fits_its_budget() -> None:
    """Building, rendering and writing a prompt whose budget is large enough does no planning."""
    for _ in range(2):
        render(support(), model=MODEL, budget=8000).to_anthropic()
    found = walk(lambda: render(support(), model=MODEL, budget=8000).to_anthropic())
    assert [True] * 3 == [n <= most for n, most in zip(found, (55, 500, 250), strict=True)], found
