"""Snapshots of prompts with two of each thing, for two models, and of their payloads and records.

``python -m tests.comparing.snapshot_cases`` writes the JSON file beside this one anew.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from promptdsl import *
from promptdsl.comparing import payload_file, prompt_file, serialise
from tests.cases_file import write_cases
from tests.internals import difference
from tests.providers.conversations import PDF, PNG, WAV
from tests.reports.prompts import words
from tests.reports.request_cases import long, results, strange, system, talk, unpaired

# CASES: the lines of the file next to this one are counted from here.
TICKETS = "T-1 and T-12, then T-1 again, and Ann"
SCRUBBERS: dict[str, Any] = {
    "ticket": r"T-[0-9]+",
    "name": lambda text: [it for it in ("Ann", "An", "Bob", "") if it in text or not it],
    "page": r"page [0-9]|",
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "one": {"type": "string", "description": "The T-1.\nOr T-2."},
        "two": {"type": ["integer", "null"], "minimum": 0},
        "three words": {"enum": ["T-1", 1]},
        "four": True,
        "five": {"type": ["string"], "description": 5},
    },
    "required": ["one", "four"],
    "additionalProperties": False,
}
OTHER: dict[str, Any] = {**SCHEMA, "required": ["four", "one"], "title": "T-9"}


def values() -> Timeline:
    """Return a prompt with values that change, by two labels, two scrubbers and in two places."""
    with Timeline() as prompt:
        with System(Section("a", TICKETS, Volatile("T-7", label="ticket"), " and T-8")):
            Section("b", Volatile("T-12", label="ticket"), Volatile("x", label="date"), " T-12 T-2")
            Text("Bob, ", Volatile("y", label="date"), " ⟦date⟧ ends  \n \t\nwith\u200b blanks ")
        User("Of T-12.", Document.from_base64(PDF, media_type="application/pdf", title="T-1"))
        Assistant(
            ToolUse("look", {"T-1": "T-2", "n": 1}, id="T-1"), ToolUse("look", {"T-1": 1}, id="two")
        )
        ToolMessage("T-1", "It is T-3.", is_error=True)
        ToolMessage("two", "T-1", "T-4")
        Event(UserAction("opened", target="page 1"), id="T-5")
        User("And page 1, page 2?", name="T-1")
    return prompt


def schemas() -> Timeline:
    """Return a prompt with two tools with schemas, and a form of the answer."""
    with Timeline() as prompt:
        Tool(name="first", description="Do T-1.", input_schema=SCHEMA)
        CacheBreakpoint("5m")
        Tool(name="second", input_schema=OTHER)
        Tool(name="third", description="Do.", input_schema={"type": "object", "properties": {}})
        Output(OTHER, name="form", description="The T-1.", strict=False)
        User("Hi.")
    return prompt


def media() -> Timeline:
    """Return a prompt with two attachments of each kind, and reasoning of two origins."""
    picture = Image.from_base64(PNG, detail="high")
    with Timeline() as prompt:
        User(picture, "Between.", Image.from_url("https://e.org/T-1.png"))
        Assistant(
            Reasoning("One.", signature="c2ln", origin="anthropic"),
            Reasoning("Two.", encrypted="ZW5j", origin="openai"),
            "Well.",
            "So.",
        )
        User(Audio.from_base64(WAV, media_type="audio/wav"), Document.from_file_id("T-1"))
    return prompt


def sections() -> Timeline:
    """Return texts that begin, end and go on in sections of two depths, and two marks after one."""
    with Timeline() as prompt:
        with System(Section("a", "One.", Section("b", "Two.", cache=True), "Three.")):
            Section("c", Section("d", "Four."), Section("d2", Section("e", "Five.", cache=True)))
            Text("Six.")
            CacheBreakpoint("1h")
            CacheBreakpoint("5m")
            Section("a2", "Seven.\n\n", Section("b", "\nEight."))
        Event(Section("a", "Nine.", Section("b", "Ten.")), id="seen")
        User(Section("a", "One."), "Between.", Section("b", "Two.", cache=True))
        User(Section("a", "One."), id="later")
        User("", cache=True)
        Grounding("doc", "Here.", Section("b", "There."))
        Grounding("doc", "And here.")
        User("So?", cache=True)
    return prompt


def moved() -> Timeline:
    """Return two results with two pictures each, and events and calls between them."""
    one, two = Image.from_base64(PNG), Image.from_url("https://e.org/b.png")
    with Timeline() as prompt:
        User("Look.")
        Assistant(ToolUse("f", {}, id="a"), ToolUse("f", {}, id="b"))
        ToolMessage("a", one, "First.", two, is_error=True)
        ToolMessage("b", "Second.", one)
        Event(UserAction("left", target="it"))
        Assistant("Again.", ToolUse("g", {}, id="c"), id="again")
        ToolMessage("c", two, two)
        Ephemeral("Be brief.", position="end")
        Ephemeral("Be kind.", id="kind", position="end")
        User("So?", one, "And?", name="ann")
        User("", name="bob")
    return prompt


def strict() -> Timeline:
    """Return a form of an answer that is text for some, and two developers in the middle."""
    with Timeline() as prompt:
        Tool(name="first", description="Do.", input_schema=SCHEMA)
        Output({**SCHEMA, "required": [*SCHEMA["properties"]]}, name="form", strict=False)
        System("One.")
        User("Hi.", name="ann")
        Developer("Two.", cache=True)
        Developer("Three.")
        Assistant("So.")
        Developer("Four.")
    return prompt


PROMPTS: Mapping[str, Callable[[], Timeline]] = {
    "values": values,
    "schemas": schemas,
    "sections": sections,
    "system": system,
    "talk": talk,
    "results": results,
}
MODELS = ("gpt-5", "claude-sonnet-4-5", "gemini-2.5-pro", "o1-mini")
SNAPSHOTS: Mapping[str, tuple[Callable[[], Timeline], dict[str, Any]]] = {
    **{f"{name}, no model": (prompt, {}) for name, prompt in PROMPTS.items()},
    "media, no model": (media, {}),
    "media, gemini": (media, {"model": "gemini-2.5-pro"}),
    "values, o1-mini": (values, {"model": "o1-mini"}),
    "schemas, responses": (schemas, {"provider": "openai_responses", "tool_choice": "first"}),
    "talk, chat_template": (talk, {"provider": "chat_template"}),
    "talk, compatible": (talk, {"provider": "openai_compatible"}),
    "sections, anthropic, auto": (sections, {"provider": "anthropic", "cache": "auto"}),
    **{
        f"{it.__name__}, {provider}": (it, {"provider": provider})
        for it in (moved, strict)
        for provider in (
            *("openai", "openai_responses", "openai_compatible", "anthropic", "gemini"),
            *("bedrock", "chat_template"),
        )
    },
    **{
        f"{it.__name__}, {provider}": (it, {"provider": provider, "cache": "auto"})
        for it in (sections, media)
        for provider in ("bedrock", "openai_responses")
    },
    "moved, o1-mini": (moved, {"model": "o1-mini"}),
    "strange": (strange, {}),
    "strange, responses": (strange, {"provider": "openai_responses"}),
    "long, 30": (long, {"budget": 30, "counter": words}),
    "long, 50": (long, {"budget": 50, "counter": words, "provider": "anthropic"}),
    "unpaired": (unpaired, {"transformation": {"tool_pairing": "prune"}}),
    "waiting": (lambda: Timeline(*talk().content[:8]), {"provider": "anthropic"}),
}


def snapshot(name: str) -> str:
    """Return the snapshot of a prompt, with its values scrubbed."""
    prompt, options = SNAPSHOTS[name]
    return serialise(prompt_file(render(prompt(), **options), scrubbers=SCRUBBERS))


def of_models(name: str) -> dict[str, str]:
    """Return for each model what differs from the snapshot of a prompt without a model."""
    prompt = PROMPTS[name]()
    base = prompt_file(render(prompt), scrubbers=SCRUBBERS)
    files = {it: prompt_file(render(prompt, model=it), scrubbers=SCRUBBERS) for it in MODELS}
    return {model: serialise(difference(base, file)) for model, file in files.items()}


def of_payloads(name: str) -> dict[str, str]:
    """Return the snapshots of the payload of a prompt for providers that are recognised by it."""
    rendered = {it: render(PROMPTS[name](), provider=it) for it in ("openai", "gemini", "bedrock")}
    return {it: serialise(payload_file(side.payload())) for it, side in rendered.items()}


FILES: Mapping[str, Callable[[], object]] = {
    **{name: partial(snapshot, name) for name in SNAPSHOTS},
    **{f"{name}, models": partial(of_models, name) for name in PROMPTS},
    **{f"{name}, payloads": partial(of_payloads, name) for name in ("talk", "sections")},
}


if __name__ == "__main__":
    write_cases(__file__, FILES)
