"""What ``dir()`` and a completion show of an object: what a user may call, and nothing else."""

from typing import Any

import pytest

from promptdsl import *

PART = ["content", "options", "source"]
FROM = ["from_base64", "from_bytes", "from_file_id", "from_path", "from_url"]
TARGETS = ["to_anthropic", "to_bedrock", "to_chat_template", "to_gemini", "to_openai"]


@component
def card(text: str) -> None:
    """Write a text."""
    Text(text)


NAMES: dict[str, tuple[Any, list[str]]] = {
    "a text": (Text("a"), PART),
    "a turn": (User("a"), [*PART, "kind", "role"]),
    "a frozen turn": (Timeline(User("a")).content[0], [*PART, "kind", "role"]),
    "a section": (Section("s", "a"), [*PART, "title"]),
    "a prompt": (Timeline(User("a")), [*PART, "transformation"]),
    "a grounding": (
        Grounding("g", "a"),
        [*PART, "grounding", "order", "position", "title", "type"],
    ),
    "a history": (
        History([]),
        [
            *(*PART, "clear_results", "cut_line", "from_anthropic", "from_bedrock"),
            *("from_chat_template", "from_gemini", "from_openai", "from_openai_responses"),
            *("keep", "keep_compacted", "max_result_tokens", "pin", "priority", "step"),
        ],
    ),
    "a call": (ToolUse("t", {}, id="1"), [*PART, "block"]),
    "a template": (Template.from_string("a"), [*PART, "from_format", "from_string", "variables"]),
    "an image": (Image.from_file_id("f"), [*PART, "block", *FROM]),
    "what a component of one's own wrote": (card("a"), [*PART, "name"]),
    "a tool": (
        Tool(name="t", description="d", input_schema={"type": "object"}),
        [*PART, "definition"],
    ),
    "a result": (
        render(Timeline(User("a"))),
        [
            *("config", "dropped", "explain", "facts", "for_target", "hints", "libraries"),
            *("located", "locations", "losses", "masked", "messages", "outline", "output"),
            *("output_mode", "payload", "places", "prefix", "record", "spans", "stages", *TARGETS),
            "to_openai_responses",
            *("to_otel", "tokens", "tool_choice", "tools"),
        ],
    ),
    "a message": (
        Message("user", "a"),
        [
            *("calls", "content", "extra", "finish_reason", "from_dict", "has_structured_output"),
            *("id", "is_refusal", "kind", "metadata", "name", "raw_finish_reason", "replace"),
            *("role", "sources", "structured_output", "tags", "text", "to_dict", "token_usage"),
            "tool_result",
        ],
    ),
}
"""By what it is: an object, and the names that it shows."""


@pytest.mark.parametrize("what", NAMES)
def test_what_is_shown(what: str) -> None:
    """Exactly the names that a user may call are shown without an underscore."""
    shown, names = NAMES[what]
    assert sorted(names) == [name for name in dir(shown) if not name.startswith("_")]


@pytest.mark.parametrize("name", ["to_openai", "messages", "render", "append"])
def test_a_name_that_is_looked_for(name: str) -> None:
    """A name that a part never has is not shown, and its error says what to write."""
    part = Section("s", "a")
    assert name not in dir(part)
    with pytest.raises(UnknownNameError, match=f"a Section has no {name}"):
        getattr(part, name)
