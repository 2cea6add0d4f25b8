"""What is refused when a recording is read: by its key, with its place and what to do about it."""

from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

from promptdsl import DataError, UnknownBlock
from tests.errors import raised
from tests.internals import TARGETS

ANTHROPIC, OPENAI, RESPONSES, GEMINI = (
    f"this looks like {owner}: History.from_{owner}"
    for owner in ("anthropic", "openai", "openai_responses", "gemini")
)


def refused(provider: str, data: object) -> tuple[str, str]:
    """Return what is wrong with a payload or a list of messages, and what to do about it."""
    error = raised(DataError, lambda: TARGETS[provider].read(data))
    return error.what, error.fix


def by_user(part: object) -> list[Any]:
    """Return the messages of a user who said one part."""
    return [{"role": "user", "content": [part]}]


def kinds(provider: str, data: object) -> list[tuple[str, str, Any]]:
    """Return role, kind and content of every message that is read."""
    prompt = TARGETS[provider].read(data)
    return [(message.role, message.kind, message.content) for message in prompt.messages]


# What belongs to another provider.

OF_ANTHROPIC: list[dict[str, Any]] = [
    {"type": "tool_use", "id": "a", "name": "t", "input": {}},
    {"type": "tool_result", "tool_use_id": "a", "content": "x"},
    {"type": "thinking", "thinking": "x", "signature": "s"},
    {"type": "redacted_thinking", "data": "x"},
    {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
    {"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}},
]
OF_OPENAI: list[dict[str, Any]] = [
    {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
    {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}},
    {"type": "file", "file": {"file_id": "f"}},
]
ALWAYS_OF_RESPONSES: list[dict[str, Any]] = [
    {"type": "input_text"},
    {"type": "input_image"},
    {"type": "input_file"},
]
OF_RESPONSES: list[dict[str, Any]] = [
    {"type": "output_text", "text": "x"},
    {"type": "function_call", "call_id": "c", "name": "t", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": "x"},
    {"type": "reasoning", "summary": []},
]


@pytest.mark.parametrize(
    ("provider", "part", "what", "fix"),
    [
        *(
            ("anthropic", part, "messages[0]: content[0]: there is no part of type {} here", fix)
            for parts, fix in [
                (OF_OPENAI, OPENAI),
                ([*ALWAYS_OF_RESPONSES, *OF_RESPONSES], RESPONSES),
            ]
            for part in parts
        ),
        *(
            ("openai", part, "messages[0]: content[0]: there is no part of type {} here", fix)
            for parts, fix in [
                (OF_ANTHROPIC, ANTHROPIC),
                ([*ALWAYS_OF_RESPONSES, *OF_RESPONSES], RESPONSES),
            ]
            for part in parts
        ),
        *(
            ("openai_responses", part, "input[0]: content[0]: {} is not a type of Responses", fix)
            for parts, fix in [(OF_ANTHROPIC, ANTHROPIC), (OF_OPENAI, OPENAI)]
            for part in parts
        ),
    ],
)
def test_a_part_of_another_provider(
    provider: str, part: dict[str, Any], what: str, fix: str
) -> None:
    """A part that another provider has is refused, with the history that reads it."""
    assert (what.format(repr(part["type"])), fix) == refused(provider, by_user(part))


@pytest.mark.parametrize(
    ("provider", "type"),
    [
        *(("anthropic", part["type"]) for part in [*OF_OPENAI, *OF_RESPONSES]),
        *(("openai", part["type"]) for part in [*OF_ANTHROPIC, *OF_RESPONSES]),
        *(("openai_responses", part["type"]) for part in [*OF_ANTHROPIC, *OF_OPENAI]),
        *((provider, "news") for provider in ("anthropic", "openai", "openai_responses")),
    ],
)
def test_a_part_with_the_name_of_another(provider: str, type: str) -> None:
    """A part that has only its type in common with another provider's may be a new one here."""
    part = {"type": type, "news": 1, "": 2}
    assert [("user", "recorded", (UnknownBlock(part, provider),))] == kinds(provider, by_user(part))


@pytest.mark.parametrize("type", [["image_url"], None, 7])
def test_a_type_that_is_no_name(type: object) -> None:
    """The type of a part is a text, and no key of a table."""
    assert (
        f"messages[0]: content[0]: 'type' must be a string, not {type.__class__.__name__}",
        "",
    ) == refused("anthropic", by_user({"type": type, "image_url": {}}))


@pytest.mark.parametrize("provider", ["anthropic", "bedrock"])
@pytest.mark.parametrize(
    ("key", "fix"),
    [
        ("tool_calls", OPENAI),
        ("tool_call_id", OPENAI),
        ("function_call", OPENAI),
        ("parts", GEMINI),
    ],
)
def test_a_key_of_another_provider(provider: str, key: str, fix: str) -> None:
    """A key with which a message says something elsewhere is refused, unless it says nothing."""
    other = {"role": "user", "content": [], key: ["x"]}
    assert (f"messages[0]: a message has no key {key!r} here", fix) == refused(provider, [other])
    assert [("user", "recorded", ())] == kinds(provider, [{**other, key: None}])


# What is no message.


class Unsayable(BaseModel):
    """A response of an SDK that cannot be dumped."""

    def model_dump(self, **_: Any) -> Any:
        """Raise an error."""
        raise ValueError("it is broken")


@pytest.mark.parametrize("provider", ["anthropic", "bedrock"])
@pytest.mark.parametrize(
    ("data", "what", "fix"),
    [
        (3, "'messages' must be a list, not int", "give the list itself"),
        ("x", "'messages' must be a list, not str", "read it with json.loads first"),
        (b"x", "'messages' must be a list, not bytes", "read it with json.loads first"),
        ({"messages": {}}, "'messages' must be a list, not dict", "give the list itself"),
        ({"message": []}, "'messages' is needed", "'message' should be 'messages'"),
        ([3], "messages[0]: a dictionary is needed, not int", ""),
        ([{"role": "user", "content": []}, None], "messages[1]: {}, not NoneType", ""),
        ([dict], "messages[0]: a dictionary is needed, not type", ""),
        ([Unsayable], "messages[0]: a dictionary is needed, not ModelMetaclass", ""),
        ([Unsayable()], "messages[0]: Unsayable cannot be read: it is broken", ""),
        ([{"content": []}], "messages[0]: 'role' is needed", "known: content"),
        (
            [{"rol": "user", "content": []}],
            "messages[0]: 'role' is needed",
            "'rol' should be 'role'",
        ),
        ([{"role": 1, "content": []}], "messages[0]: 'role' must be a string, not int", ""),
        ([{"role": "user"}], "messages[0]: 'content' is needed", "known: role"),
        (
            [{"role": "wizard", "content": []}],
            "messages[0]: unknown 'role' 'wizard'",
            "one of user, assistant, system",
        ),
        (
            [{"role": "tool", "content": []}],
            "messages[0]: unknown 'role' 'tool'",
            "one of user, assistant, system",
        ),
        (by_user(3), "messages[0]: content[0]: a dictionary is needed, not int", ""),
    ],
)
def test_what_is_no_message(provider: str, data: Any, what: str, fix: str) -> None:
    """What is no message is named by its place, with the nearest thing to it."""
    assert (what.format("a dictionary is needed"), fix) == refused(provider, data)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        ({"content": "x"}, "'content' must be a list, not str"),
        ({"content": None}, "'content' must be a list, not NoneType"),
        ({"output": {"message": []}}, "'content' is needed"),
        (None, "a dictionary is needed, not NoneType"),
    ],
)
def test_what_is_no_response(data: Any, what: str) -> None:
    """A response without a content is refused by that."""
    read = TARGETS["anthropic"].read_response
    assert what == raised(DataError, lambda: read(data)).what


@pytest.mark.parametrize(
    ("tool", "what", "fix"),
    [
        ({"input_schema": {}}, "tools[0]: 'name' is needed", "known: input_schema"),
        (
            {"name": "t", "input_schema": []},
            "tools[0]: 'input_schema' must be a dictionary, not list",
            "",
        ),
        ({"name": "t"}, "tools[0]: 'input_schema' must be a dictionary, not NoneType", ""),
        ({"name": None}, "tools[0]: 'name' must be a string, not NoneType", ""),
    ],
)
def test_what_is_no_tool(tool: Any, what: str, fix: str) -> None:
    """A tool without its name or its schema is refused by that."""
    assert (what, fix) == refused("anthropic", {"messages": [], "tools": [tool]})


# What is read.


def test_a_dump_of_an_object() -> None:
    """An object is read as what it dumps: JSON by the names of the wire, and without its nulls."""
    dump_options: list[dict[str, Any]] = []

    def dump(**options: Any) -> dict[str, Any]:
        dump_options.append(options)
        return {"role": "user", "content": []}

    refusals = kinds("anthropic", [SimpleNamespace(model_dump=dump)])
    assert [("user", "recorded", ())] == refusals
    options = {"mode": "json", "exclude_none": True, "by_alias": True, "warnings": False}
    assert [options] == dump_options


def test_an_object_that_dumps_itself() -> None:
    """An object that has only ``to_dict`` is read as that, and one whose dump is none, too."""
    plain = SimpleNamespace(to_dict=lambda: {"role": "user", "content": []})
    both = SimpleNamespace(model_dump=lambda **_: None, to_dict=plain.to_dict)
    empty = SimpleNamespace(model_dump=None, to_dict=plain.to_dict)
    assert [("user", "recorded", ())] * 3 == kinds("anthropic", [plain, both, empty])


@pytest.mark.parametrize("provider", ["anthropic", "bedrock"])
def test_roles(provider: str) -> None:
    """What a system said among messages is a developer's; results are messages of their own."""
    text = {"anthropic": {"type": "text", "text": "x"}, "bedrock": {"text": "x"}}[provider]
    results = {
        "anthropic": {"type": "tool_result", "tool_use_id": "a", "content": [text]},
        "bedrock": {"toolResult": {"toolUseId": "a", "content": [text]}},
    }
    result = results[provider]
    data = [
        {"role": "system", "content": [text]},
        {"role": "assistant", "content": [text]},
        {"role": "user", "content": [result, result, text, text]},
        {"role": "user", "content": [result]},
        {"role": "user", "content": [text, result]},
        {"role": "user", "content": []},
    ]
    assert [
        ("developer", "recorded_system", ["text"]),
        ("assistant", "recorded", ["text"]),
        ("tool", "recorded", ["tool_result"]),
        ("tool", "recorded", ["tool_result"]),
        ("user", "recorded", ["text", "text"]),
        ("tool", "recorded", ["tool_result"]),
        ("user", "recorded", ["text", "tool_result"]),
        ("user", "recorded", []),
    ] == [
        (role, kind, [block.type for block in content])
        for role, kind, content in kinds(provider, data)
    ]
