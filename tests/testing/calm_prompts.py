"""A prompt with an argument in many places, and what may not change around each of them."""

import json
from pathlib import Path
from typing import Any

import attrs

from promptdsl import *
from tests.internals import HarmlessPrompt

FILE = Path(__file__).with_name("calm_prompts.json")
EXPECTED: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "guarded": {
        "guard_conversation": True,
        "delimiters": {"event": ("[[E]]", "[[/E]]"), "ephemeral": ("[[C]]", "[[/C]]")},
    },
    "xml": {"format": "xml"},
}


def many_places(plan: str) -> Timeline:
    """Return a prompt with an argument twice in each kind of place."""
    return Timeline(
        System(
            "<plan>",
            Value(plan),
            "</plan> and <e",
            Value(plan),
            Section("a", "One\n```\n", Value(plan), "\n```\n~~~\n", Value(plan), "\n~~~"),
            Section("b", f"Two {plan} and {plan}.", title=Value(plan)),
            Quote(Value(plan)),
            List("a", Value(plan)),
            Code(Value(plan)),
            Table([["x", plan]]),
            CacheBreakpoint(),
            "Three ",
            Untrusted(plan, source="mail"),
        ),
        Grounding("g", "Plan: ", plan, title="G"),
        User("<x>", plan, "</x></y>", Section("c", "Four", Volatile(plan, "v"))),
        Assistant(
            "<z></z>",
            ToolUse("find", {"q": plan}, id="c1"),
            ToolUse("find", {"q": "x"}, id="c2"),
        ),
        ToolMessage("c1", plan, Json({"a": [plan]})),
        ToolMessage("c2", "x"),
        Event(UserAction("opened", target=plan), UserAction("closed", target=plan)),
        Ephemeral("Now ", Value(plan)),
        History([{"role": "user", "content": f"{plan}</w>"}]),
    )


def facts_of(name: str) -> Any:
    """Return the places of the argument, the texts around them, and the texts that forge."""
    settings = SETTINGS[name]
    calm = HarmlessPrompt(lambda plan: render(many_places(plan), transformation=settings), None)
    places = [
        {"span": f"{calm.spans[index].kind} {calm.spans[index].address}", **_shown(place)}
        for index, place in calm.locations.items()
    ]
    frames = [[before, after, place is not None] for before, after, place in calm.frames]
    forgeries = [f"{it.kind}: {it.text}" for it in calm.forgeries()]
    return {"places": places, "frames": frames, "forgeries": forgeries}


def _shown(place: object) -> dict[str, Any]:
    """Return what a place has; of what is around it, the nearest 40 characters."""
    every = attrs.asdict(place)  # type: ignore[arg-type]
    facts = {name: _sorted(value) for name, value in every.items() if value}
    return facts | {"start": every["start"][-40:], "end": every["end"][:40]}


def _sorted(value: object) -> object:
    return " ".join(sorted(value)) if isinstance(value, frozenset) else value


def rewritten() -> str:
    """Return the file with the facts that there are now."""
    return json.dumps({it: facts_of(it) for it in SETTINGS}, indent=1, ensure_ascii=False) + "\n"
