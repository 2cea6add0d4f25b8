"""Prompts with two of a thing."""

from typing import Any

from promptdsl import *


def support(name: str, plan: str = "Pro", *, count: int = 1, tags: list[str] = []) -> Timeline:  # noqa: B006
    """Return a prompt that has each of its arguments."""
    system = System("Name: ", name, "; plan: ", plan)
    return Timeline(system, User("Count: ", count, "; tags: ", " ".join(tags)))


def needs(question: str, *, plan: str, to: str) -> Timeline:
    """Return a prompt of three arguments that have no defaults."""
    return Timeline(User(question, plan, to))


def rich() -> Timeline:
    """Return messages with two of each block."""
    pictures: list[Any] = [
        {"type": "image", "source": {"type": "url", "url": "https://a.example/a.png"}},
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/gif", "data": "R0lGODlhAQABAAAAACw="},
        },
    ]
    calls = [
        {"type": "tool_use", "id": f"c{n}", "name": name, "input": {"at": name, "n": n}}
        for n, name in enumerate(("look", "find"))
    ]
    texts = [{"type": "text", "text": text} for text in ("one\ntwo\n\nthree", "four")]
    results: list[Any] = [
        {"type": "tool_result", "tool_use_id": "c1", "content": [*texts, pictures[0]]},
        {"type": "tool_result", "tool_use_id": "c0", "content": "broken", "is_error": True},
    ]
    asked = [*texts[::-1], *pictures]
    said = [
        Message.from_dict({"role": "user", "content": asked, "id": "u1", "name": "Ann"}),
        Message.from_dict({"role": "assistant", "content": [texts[1], *calls], "name": "Bot"}),
        Message.from_dict({"role": "tool", "content": results, "id": "t1"}),
        Message.from_dict({"role": "assistant", "content": "Done.", "id": "a2"}),
        Message.from_dict({"role": "user", "content": "More.", "name": "Bob"}),
    ]
    return Timeline(
        Tool(name="look", description="Look at it.", input_schema={"type": "object"}),
        Tool(name="find", description="Find it.", input_schema={"type": "object"}),
        System(
            Section("rules", "Be kind.", cache=True), Section("tone", "Be brief.", title="Tone")
        ),
        Developer("Be quick.", cache=True),
        History(said),
        Event(UserAction("clicked", target="help")),
        Event("Second event."),
        User("Hello.", metadata={"a": 1}, cache=True),
    )


def lossy() -> Timeline:
    """Return a prompt of which two parts cannot be sent to each target."""
    thoughts = [
        Assistant(Reasoning(f"Hm {n}.", signature="c2ln", origin="anthropic"), f"Yes {n}.")
        for n in (1, 2)
    ]
    return Timeline(User("One."), thoughts[0], Developer("Be kind."), User("Two."), thoughts[1])


def trimmed() -> Timeline:
    """Return a prompt of which a budget drops two parts and an exchange."""
    said = [{"role": role, "content": f"{role} " * 9} for role in ("user", "assistant") * 3]
    return Timeline(
        System(
            Section("hours", "Nine to five. " * 9, priority=-1),
            Section("role", "Help."),
            Section("news", "Nothing new. " * 5, priority=-2),
            Section("rules", "Be kind. " * 9, Section("tone", "Be brief. " * 3), title="Rules"),
        ),
        History(said),
        Developer("Short."),
        User("Hello."),
    )


def between() -> Timeline:
    """Return a prompt whose error names two lines."""
    return Timeline(
        Assistant(ToolUse("look", {}, id="1")),
        Developer("Be kind."),
        ToolMessage("1", "Yes."),
    )


def failing() -> Any:
    """Fail in a second function."""
    return _deeper({"a": 1})


def _deeper(plans: dict[str, int]) -> int:
    return plans["plan"]


def loud() -> Timeline:
    """Print two lines, and return a prompt."""
    print("One.")
    print("Two.")
    return Timeline(System("Loud."), User("Loud!"))
