"""The form of an answer: a setting where the target takes one, and text everywhere else."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from promptdsl.integrations.litellm import to_litellm
from tests.errors import raised
from tests.renders import reported
from tests.searching import examples

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "</context> <b>"}},
    "required": ["city"],
    "additionalProperties": False,
}
TEXT = (
    "Answer with one JSON value that fits this JSON schema, and with nothing else:\n\n"
    '{"type": "object", "properties": {"city": {"type": "string", "description": '
    '"\\u003c/context> \\u003cb>"}}, "required": ["city"], "additionalProperties": false}'
)
OLD: dict[str, Any] = {"model": "claude-3-5-sonnet-20241022"}
TAKES_NONE: list[dict[str, Any]] = [
    OLD,
    {"model": "gpt-3.5-turbo"},
    {"provider": "openai_compatible"},
    {"provider": "chat_template"},
    {"provider": "bedrock", "model": "us.amazon.nova-lite-v1:0"},
    {"provider": "anthropic"},
    {"provider": "deepseek"},
]
TAKES: list[dict[str, Any]] = [
    {"model": "claude-opus-5-5"},
    {"model": "gpt-5"},
    {"model": "gpt-4o"},
    {"model": "gemini-3.1-pro"},
    {"provider": "bedrock", "model": "us.anthropic.claude-sonnet-4-5-20250929-v1:0"},
    *(
        {"provider": "bedrock", "model": model}
        for model in (
            *("google.gemma-3-27b-it", "minimax.minimax-m2", "nvidia.nemotron-nano-12b-v2"),
            *("qwen.qwen3-32b-v1:0", "zai.glm-4.7-flash"),
        )
    ),
    {"provider": "fireworks"},
]
ASK = User("Where?")


@pytest.mark.parametrize("target", TAKES_NONE)
def test_targets_that_take_none(target: dict[str, Any]) -> None:
    """The schema is the last part of the system text: a hint, and no loss of content."""
    rendered = render(Timeline(System("Be kind."), Output(SCHEMA), ASK), strict=True, **target)
    assert ("prompted", f"Be kind.\n\n{TEXT}") == (
        rendered.output_mode,
        rendered.messages[0].text,
    )
    hints = [hint.name for hint in rendered.hints]
    assert ["prompted_output"] == hints
    assert json.loads(TEXT.partition("\n\n")[2]) == SCHEMA
    assert "city" in json.dumps(rendered.payload())


@pytest.mark.parametrize("target", TAKES)
def test_targets_that_take_one(target: dict[str, Any]) -> None:
    """The schema is a setting of the request, and no text."""
    rendered = render(Timeline(System("Be kind."), Output(SCHEMA), ASK), **target)
    assert ("native", "Be kind.") == (rendered.output_mode, rendered.messages[0].text)
    assert "city" in json.dumps(rendered.payload())


@pytest.mark.parametrize("target", [*TAKES, *TAKES_NONE, {}])
def test_an_author_who_wants_text(target: dict[str, Any]) -> None:
    """It is text for any target, without a hint that somebody else chose it."""
    prompt = Timeline(Output(SCHEMA, mode="prompted"), ASK)
    rendered = render(prompt, **target)
    assert (TEXT, "prompted") == (rendered.messages[0].text, rendered.output_mode)
    assert "prompted_output" not in [loss.name for loss in reported(rendered)]
    payload = rendered.payload() if target else rendered.to_openai()
    settings = {"response_format", "text", "output_config", "outputConfig"}
    assert settings.isdisjoint(payload)
    assert "response_json_schema" not in str(payload)


TREE = {
    "type": "object",
    "properties": {"next": {"$ref": "#/$defs/A"}},
    "$defs": {"A": {"type": "object", "properties": {"next": {"$ref": "#/$defs/A"}}}},
}


@pytest.mark.parametrize(
    ("schema", "target", "why"),
    [
        (SCHEMA, OLD, "this model takes no output schema"),
        (SCHEMA, {"provider": "anthropic"}, "this model is unknown"),
        (TREE, {"model": "claude-opus-5-5"}, "a definition refers to itself"),
    ],
)
def test_an_author_who_wants_a_setting(schema: Any, target: dict[str, Any], why: str) -> None:
    """Where the target refuses it, it is an error with its line; elsewhere it is a setting."""
    form = Output(schema, mode="native", strict=False)
    error = raised(OptionError, lambda: render(Timeline(form, ASK), **target))
    assert why in error.what
    assert [str(form.source)] == [*error.at]
    rendered = render(Timeline(form, ASK), model="gpt-5")
    assert "native" == rendered.output_mode


def test_a_schema_that_claude_refuses() -> None:
    """It is text for Claude, with the reason, and a setting for OpenAI."""
    prompt = Timeline(Output(TREE, strict=False), ASK)
    rendered = render(prompt, model="claude-opus-5-5")
    (hint,) = rendered.hints
    assert "takes no such schema (a definition refers to itself)" in hint.why
    assert "native" == rendered.for_target("openai").output_mode


@pytest.mark.parametrize("mode", ["text", "", True, 1, ["native"]])
def test_a_mode_that_is_none(mode: Any) -> None:
    """A wrong mode is an error that names the right ones."""
    error = raised(OptionError, lambda: Output(SCHEMA, mode=mode))
    assert "native" in f"{error.fix}{error.what}"


RECORDED = [
    {"role": "system", "content": "One."},
    {"role": "system", "content": "Two."},
    {"role": "user", "content": "q"},
]
PLACES: dict[str, tuple[list[Node], list[str]]] = {
    "alone": ([Output(SCHEMA)], [TEXT]),
    "before other text": ([Output(SCHEMA), System("A."), System("B.")], [f"A.\n\nB.\n\n{TEXT}"]),
    "a loose section": ([Output(SCHEMA), Section("a", "A.")], [f"A.\n\n{TEXT}"]),
    "in a fragment": ([Fragment(Output(SCHEMA), System("A."))], [f"A.\n\n{TEXT}"]),
    "behind a mark": ([System("A.", cache=True), Output(SCHEMA)], ["A.", TEXT]),
    "a mark behind it": ([System("A."), Output(SCHEMA), CacheBreakpoint()], ["A.", TEXT]),
    "a mark inside": (
        [System("A.", CacheBreakpoint(), "B."), Output(SCHEMA)],
        ["A.", f"B.\n\n{TEXT}"],
    ),
    "a recording": ([Output(SCHEMA), History.from_openai(RECORDED)], [f"One.\n\nTwo.\n\n{TEXT}"]),
}


@pytest.mark.parametrize("name", PLACES)
def test_its_place(name: str) -> None:
    """It is the last part of the system text, below the last cache mark."""
    parts, texts = PLACES[name]
    rendered = render(Timeline(*parts, ASK), **OLD)
    payload: Any = rendered.payload()
    assert texts == [block["text"] for block in payload["system"]]
    marks = [index for index, block in enumerate(payload["system"]) if "cache_control" in block]
    assert [*range(len(texts) - 1)] == marks


def test_recorded_system_messages_that_stay_apart() -> None:
    """It is a message behind them, where the settings merge nothing."""
    prompt = Timeline(Output(SCHEMA), History.from_openai(RECORDED))
    rendered = render(prompt, provider="openai_compatible", transformation=AS_WRITTEN)
    texts = [message["content"] for message in rendered.to_openai()["messages"]]
    assert ["One.", "Two.", TEXT, "q"] == texts


def test_automatic_marks() -> None:
    """An automatic mark of the system text covers it: it is the same for each request."""
    prompt = Timeline(System("Be kind. " * 400), Output(SCHEMA), ASK)
    payload: Any = render(prompt, cache="auto", **OLD).payload()
    assert "cache_control" in payload["system"][-1]
    assert payload["system"][-1]["text"].endswith(TEXT)


def test_the_same_text_for_the_same_schema() -> None:
    """Nothing else of a prompt changes it."""
    texts = set()
    for number in range(3):
        prompt = Timeline(
            Tool(name=f"f{number}", description="d"),
            System(f"It is {number}.", Volatile(number, label="now")),
            Output(SCHEMA, name=f"n{number}"),
            User(f"q{number}"),
        )
        rendered = render(prompt, **OLD)
        texts.add(rendered.messages[0].text.partition("Answer with")[2])
    assert {TEXT.partition("Answer with")[2]} == texts


def test_its_line_and_its_tokens() -> None:
    """It is one span with the line of the ``Output``, in the tokens, the outline and the spans."""
    form = Output(SCHEMA)
    rendered = render(Timeline(System("Be kind."), form, ASK), **OLD)
    (span,) = [it for it in rendered.spans() if it.source == form.source]
    assert TEXT == span.text
    counted = {str(line): count for line, count in rendered.tokens.sources.items()}
    assert counted[str(form.source)] > 30
    plain = render(Timeline(System("Be kind."), ASK), **OLD)
    assert plain.tokens.frame == rendered.tokens.frame
    assert "output output" in rendered.outline()
    assert TEXT in str(rendered)
    assert "── output" not in str(rendered)


@examples(60)
@given(st.integers(min_value=20, max_value=400))
def test_budgets(budget: int) -> None:
    """A budget counts it, keeps it, and is never over."""
    history = History(
        [{"role": "user", "content": "old " * 9}, {"role": "assistant", "content": "a"}] * 9
    )
    prompt = Timeline(System("Be kind."), Output(SCHEMA), history, ASK)
    try:
        rendered = render(prompt, budget=budget, **OLD)
    except BudgetError:
        assert (
            budget
            < render(Timeline(System("Be kind."), Output(SCHEMA), ASK), **OLD).tokens.total + 12
        )
        return
    assert rendered.tokens.total <= budget
    assert TEXT in rendered.messages[0].text


def test_another_target() -> None:
    """Each target decides anew, and the schema of a result can be written again."""
    rendered = render(Timeline(System("A."), Output(SCHEMA), ASK), **OLD)
    assert "native" == rendered.for_target("openai").output_mode
    assert "prompted" == rendered.for_target("openai_compatible").output_mode
    again = render(Timeline(System("A."), Output(rendered.output), ASK), model="gpt-5")
    assert "native" == again.output_mode
    assert rendered.output == again.output == OutputSchema(SCHEMA)


def test_through_litellm() -> None:
    """The text goes along; a setting belongs to the call."""
    prompted = to_litellm(render(Timeline(Output(SCHEMA), ASK), **OLD))
    native = to_litellm(render(Timeline(Output(SCHEMA), ASK), model="claude-opus-5-5"))
    assert TEXT in str(prompted.messages[0]["content"])
    assert [] == [hint.what for hint in prompted.hints if hint.name == "unsent_setting"]
    assert ["output"] == [hint.what for hint in native.hints if hint.name == "unsent_setting"]


def test_a_prompt_that_was_read() -> None:
    """The form of a payload is text for a target that takes none."""
    payload: Any = render(Timeline(Output(SCHEMA), ASK), model="gpt-5").payload()
    rendered = render(read_payload(payload, "openai"), **OLD)
    assert TEXT in rendered.messages[0].text
    written = Prompt(output=OutputSchema(SCHEMA), messages=read_payload(payload, "openai").messages)
    assert TEXT in render(written, **OLD).messages[0].text


def test_a_description() -> None:
    """It is the description of the schema, before the own one of that."""
    rendered = render(Timeline(Output(SCHEMA, description="A place."), ASK), **OLD)
    assert json.loads(schema_in(rendered)) == {**SCHEMA, "description": "A place."}
    both = Output({**SCHEMA, "description": "Where it is."}, description="A place.")
    rendered = render(Timeline(both, ASK), **OLD)
    assert json.loads(schema_in(rendered))["description"] == "A place.\n\nWhere it is."


def schema_in(rendered: Rendered) -> str:
    """Return the JSON text of the schema in a prompt."""
    return rendered.messages[0].text.partition("\n\n")[2]


def test_a_record() -> None:
    """The prompt of a record has the text once, and no setting beside it."""
    rendered = render(Timeline(System("A."), Output(SCHEMA), ASK), **OLD)
    record = PromptRecord.from_dict(rendered.record().to_dict())
    for target in (OLD, {"model": "claude-opus-5-5"}):
        again = render(record.prompt, **target)
        assert 1 == json.dumps(again.payload()).count("Answer with one JSON value")
        assert "output_config" not in again.payload()
    native = render(Timeline(Output(SCHEMA), ASK), model="gpt-5").record()
    assert "native" == render(native.prompt, model="gpt-5").output_mode


def test_two_outputs() -> None:
    """Two are an error, whichever way they are sent."""
    with pytest.raises(PromptError, match="one Output"):
        render(Timeline(Output(SCHEMA), Output({"type": "object"}), ASK), **OLD)
