"""The attributes of a span: valid by the conventions, without texts unless asked, no signatures."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from promptdsl import *

DATA = json.loads(Path(__file__).with_name("genai_conventions.json").read_text("utf-8"))
CASES = DATA["cases"]
CALL = CASES["tool-call-round-trip"][1]["parts"][0]
WEATHER = CASES["tool-definitions"][0]
RECORDED: list[Any] = [
    {"role": "user", "content": "What's the weather in Paris?"},
    {
        "role": "assistant",
        "content": [
            {
                "type": "tool_use",
                "id": CALL["id"],
                "name": "get_weather",
                "input": CALL["arguments"],
            }
        ],
    },
    {
        "role": "tool",
        "content": [{"type": "tool_result", "tool_use_id": CALL["id"], "content": "rainy, 57°F"}],
    },
]
MODELS = ("gpt-5", "claude-opus-5-5", "gemini-3-pro")


def content_of(prompt: Any, **target: Any) -> dict[str, Any]:
    """Return the attributes with content, read, after a look at their schemas."""
    attributes = render(prompt, **target).to_otel(content=True)
    read: dict[str, Any] = {}
    for key, schema in DATA["schemas"].items():
        if key in attributes:
            read[key] = json.loads(attributes[key])
            jsonschema.Draft7Validator(schema).validate(read[key])
    return read


def test_the_cases_of_the_conventions() -> None:
    """A prompt of the same content has the documents of the conventions' own cases."""
    tool = Tool(
        name="get_weather",
        description=WEATHER["description"],
        input_schema=WEATHER["parameters"],
    )
    found = content_of(Timeline(tool, History(RECORDED)), model="gpt-5")
    assert CASES["tool-call-round-trip"] == found["gen_ai.input.messages"]
    assert CASES["tool-definitions"] == found["gen_ai.tool.definitions"]
    prompt = Timeline(System("You are a helpful bot"), User("Tell me a joke about OpenTelemetry"))
    system, user = CASES["text-messages"]
    assert [system, user] == content_of(prompt, model="gpt-5")["gen_ai.input.messages"]
    found = content_of(prompt, model="claude-opus-5-5")
    assert ([user], system["parts"]) == (
        found["gen_ai.input.messages"],
        found["gen_ai.system_instructions"],
    )


def test_a_result_of_two_texts() -> None:
    """A result of one text is that text; one of two texts has both, as parts."""
    texts = [{"type": "text", "text": text} for text in ("rainy", "57°F")]
    answers = [
        {"role": "tool", "content": [{"type": "tool_result", "tool_use_id": "c", "content": it}]}
        for it in (texts[:1], texts)
    ]
    asked = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}],
    }
    sent = [content_of(History([asked, it]))["gen_ai.input.messages"][1] for it in answers]
    parts = [{"type": "text", "content": text} for text in ("rainy", "57°F")]
    assert ["rainy", parts] == [message["parts"][0]["response"] for message in sent]


@pytest.mark.parametrize("provider", ["openai", "openai_responses", "anthropic", "bedrock", None])
def test_all_blocks_are_valid(provider: Any) -> None:
    """Attachments, reasoning and blocks of one provider are valid; no signature is there."""
    prompt = Timeline(
        User("Look.", Image.from_url("https://x.org/a.png"), Image.from_file_id("f_1"), name="A"),
        History([{"role": "assistant", "content": [
            {"type": "reasoning", "text": "Hm.", "signature": "s1gn", "origin": "anthropic"},
            {"type": "reasoning", "text": "", "encrypted": "s1gn", "origin": "anthropic"},
            {"type": "x_block", "signature": "s1gn"},
            {"type": "tool_use", "id": "c", "name": "f", "input": "no JSON"},
        ]}, {"role": "tool", "content": [{"type": "tool_result", "tool_use_id": "c"}]}]),
    )  # fmt: skip
    found = content_of(prompt, provider=provider)
    assert "s1gn" not in json.dumps(found)
    assert "tool" in [message["role"] for message in found["gen_ai.input.messages"]]


@pytest.mark.parametrize(
    ("target", "named"),
    [
        ({"model": "gpt-5"}, ("openai", "chat")),
        ({"provider": "openai_responses"}, ("openai", "chat")),
        ({"provider": "anthropic"}, ("anthropic", "chat")),
        ({"provider": "bedrock"}, ("aws.bedrock", "chat")),
        ({"provider": "gemini"}, ("gcp.gemini", "generate_content")),
        ({"provider": "openai_compatible"}, (None, "chat")),
        ({}, (None, "chat")),
    ],
)
def test_names(target: Any, named: tuple[str | None, str]) -> None:
    """Providers and operations have the names of the conventions; no text is there unasked."""
    attributes = render(User("Secret."), **target).to_otel(name="support", conversation="c1")
    assert named == (attributes.get("gen_ai.provider.name"), attributes["gen_ai.operation.name"])
    assert attributes["gen_ai.prompt.name"] == "support"
    assert attributes["gen_ai.conversation.id"] == "c1"
    assert "Secret" not in json.dumps(attributes)
    assert "gen_ai.conversation.compacted" not in attributes


def test_the_version_is_of_the_author() -> None:
    """The version of a prompt changes with its author's text, and with nothing else."""

    def version(text: str, value: str, question: str, model: str | None = None) -> object:
        prompt = Timeline(System(text, Value(value)), User(question))
        return render(prompt, model=model).to_otel()["gen_ai.prompt.version"]

    same = version("Help ", "Ann", "Hi")
    assert same == version("Help ", "Bob", "Why?") == version("Help ", "Ann", "Hi", "gpt-5")
    assert same != version("Help, ", "Ann", "Hi")


def test_the_version_knows_who_speaks() -> None:
    """The same text at the same address is another prompt in another role; a version stays."""
    versions = [
        render(Timeline(turn("Be kind.", id="rules"))).to_otel()["gen_ai.prompt.version"]
        for turn in (System, Developer)
    ]
    assert ["de601a8e8b110ca4", "1926db128204d657"] == versions


def test_compacted() -> None:
    """A conversation of which a budget took something out is compacted."""
    turns = [{"role": role, "content": "word " * 50} for role in ("user", "assistant") * 5]
    prompt = Timeline(History(turns), User("Hi."))
    assert render(prompt, budget=1_500, counter=len).to_otel()["gen_ai.conversation.compacted"]
    assert "gen_ai.conversation.compacted" not in render(prompt).to_otel()


@pytest.mark.sdk
def test_the_sdk_keeps_them() -> None:
    """The exporter of the real SDK has each attribute as it was given."""
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    attributes = render(Timeline(System("Be kind."), User("Hi.")), model="gpt-5").to_otel(True)
    with provider.get_tracer("tests").start_as_current_span("chat gpt-5", attributes=attributes):
        pass
    (span,) = exporter.get_finished_spans()
    assert attributes == dict(span.attributes or {})


@pytest.mark.parametrize("keep", [1, 2, 3])
@pytest.mark.parametrize("model", ["gpt-5", "claude-opus-5-5", "gemini-2.5-pro"])
def test_a_summary_is_told(keep: int, model: str) -> None:
    """A conversation with a summary is compacted, whatever follows the summary."""
    turns = [f"q{n}" if n % 2 == 0 else Message("assistant", f"a{n}") for n in range(9)]
    talk = Transcript(turns)
    talk.compact("S.", keep=keep)
    rendered = render(Timeline(History(talk)), model=model)
    assert rendered.to_otel()["gen_ai.conversation.compacted"] is True


def test_the_version_of_a_cut_history_needs_no_second_render() -> None:
    """Where a budget dropped recorded messages alone, the version is read from the request."""
    messages = [Message(role, "word " * 20) for _ in range(9) for role in ("user", "assistant")]
    prompt = Timeline(System("Be kind."), History(messages), User("q"))
    whole = render(prompt, model="gpt-5").to_otel()["gen_ai.prompt.version"]
    rendered = render(prompt, model="gpt-5", budget=200)
    assert rendered.dropped
    object.__setattr__(rendered, "_render_for", None)
    assert whole == rendered.to_otel()["gen_ai.prompt.version"]
