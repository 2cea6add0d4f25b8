"""Reports on two requests compare what is sent, byte for byte, wherever JSON stands."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.reports.prompts import words

MODELS = ("gpt-5", "claude-opus-5-5", "gemini-2.5-pro", "amazon.nova-lite-v1:0")
RULES = "Be kind. " * 900
TEXT = {"type": "string"}
SCHEMA = {"type": "object", "properties": {"a": TEXT, "b": TEXT}}


def with_tool(schema: Any, *parts: Any) -> Timeline:
    """Return a prompt with a tool of this schema before a long system text."""
    tool = Tool(name="find", description="Find it.", input_schema=schema)
    return Timeline(tool, System(RULES, *parts), User("Where?"))


def with_call(call: dict[str, Any]) -> Timeline:
    """Return a prompt with a recorded call of this input after a long system text."""
    said = [
        {"role": "user", "content": "Go."},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c", "name": "f", "input": call}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "ok"}]},
    ]
    return Timeline(System(RULES), History.from_anthropic(said), User("And?"))


def reordered(value: Any) -> Any:
    """Return JSON data with the keys of each object in the opposite order."""
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in reversed(value)}
    return [*map(reordered, value)] if isinstance(value, list) else value


def both(before: Timeline, after: Timeline, model: str | None) -> tuple[Rendered, Rendered]:
    """Return two requests whose payloads differ."""
    one, two = (render(prompt, model=model) for prompt in (before, after))
    assert model is None or json.dumps(one.payload()) != json.dumps(two.payload())
    return one, two


@pytest.mark.parametrize("model", [*MODELS, None])
@pytest.mark.parametrize(
    "schema",
    [
        reordered(SCHEMA),
        {"properties": SCHEMA["properties"], "type": "object"},
        {"type": "object", "properties": {"a": {**TEXT, "default": 1}, "b": TEXT}},
    ],
)
def test_a_schema_in_another_order_ends_the_prefix(model: str | None, schema: Any) -> None:
    """Nothing is shared behind a tool whose schema has another order of keys, and it is named."""
    before = SCHEMA
    if "default" in schema["properties"]["a"]:
        before = {"type": "object", "properties": {"a": {**TEXT, "default": 1.0}, "b": TEXT}}
    one, two = both(with_tool(before), with_tool(schema), model)
    report, difference = prefix_report(one, two), diff(one, two)
    assert (0, False, "changed", "tool 'find'") == (
        report.shared,
        report.extends,
        report.first and report.first.how,
        report.first and report.first.what,
    )
    assert "tools > tool find" == (difference.prefix and difference.prefix.broken_by)
    assert "the first difference is in `tool find`, " in str(difference)


def test_what_no_snapshot_shows_is_named_before_what_it_shows() -> None:
    """A later change of a text does not hide that the prefix ends at a tool."""
    schema = {"properties": SCHEMA["properties"], "type": "object"}
    one, two = both(with_tool(SCHEMA), with_tool(schema, Section("more", "Be brief.")), "gpt-5")
    prefix = diff(one, two).prefix
    assert prefix is not None
    assert ("tools > tool find", 0, True) == (prefix.broken_by, prefix.shared, prefix.is_unseen)
    assert "not its JSON, such as the order of keys" in str(prefix)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"path": "a", "opts": {"x": 1}}, {"opts": {"x": 1}, "path": "a"}),
        ({"o": {"x": 1, "y": [1]}}, {"o": {"y": [1], "x": 1}}),
        ({"n": 1}, {"n": 1.0}),
        ({"n": 1}, {"n": True}),
        ({"n": [0, {}]}, {"n": [False, {}]}),
    ],
)
def test_an_input_in_other_bytes_ends_the_prefix(
    model: str, before: dict[str, Any], after: dict[str, Any]
) -> None:
    """The call whose input is sent in other bytes ends the prefix, for every provider."""
    one, two = both(with_call(before), with_call(after), model)
    report = prefix_report(one, two)
    assert "history[1]" == (report.first and report.first.path)
    assert (True, False) == (0 < report.shared < report.after, report.extends)
    assert "the first difference is in `call f`" in str(diff(one, two))


JSON = st.recursive(
    st.sampled_from([0, 1, False, True, 1.0, "a", None]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from("abc"), JSON), st.sampled_from(MODELS))
def test_any_input_is_compared_as_it_is_sent(call: dict[str, Any], model: str) -> None:
    """A report has a first difference exactly if the payloads have other bytes."""
    one, two = (render(with_call(data), model=model) for data in (call, reordered(call)))
    is_same = json.dumps(one.payload()) == json.dumps(two.payload())
    report = prefix_report(one, two)
    assert (is_same, is_same) == (report.first is None, report.shared == report.after)


def conversation(sizes: list[int]) -> list[Message]:
    """Return a conversation with a round for each size of a result, in words."""
    said = [Message("user", "go")]
    for number, size in enumerate(sizes):
        call = ToolUseBlock(f"c{number}", "run", "{}")
        result = Message.tool_result(f"c{number}", "\n".join(["pipe"] * size), name="run")
        said += [Message("assistant", [call]), result]
    return said


def request(sizes: list[int], **options: Any) -> Rendered:
    """Return a request whose long results are cut, and whose old results are cleared."""
    options = {"clear_results": ClearResults(keep=1, at_least=20), **options}
    history = History(conversation(sizes), max_result_tokens=30, **options)
    return render(Timeline(history), counter=words)


@pytest.mark.parametrize(
    ("before", "after", "dropped"),
    [
        ([100], [100, 20], 29),  # 30 were sent of the first result, and its placeholder is 1
        ([100, 20], [100, 20, 20], 19),
        ([20], [20, 100], 0),  # the new result was never sent in full, the old one stays
        ([100], [100, 100], 29),
        ([100], [100], 0),
    ],
)
def test_what_was_sent_and_is_cleared_counts(
    before: list[int], after: list[int], dropped: int
) -> None:
    """What a cap had cut before does not count, and what it cuts of a new result neither."""
    report = prefix_report(request(before), request(after))
    assert (dropped, dropped > 0) == (report.dropped, report.pays_from is not None)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=6), st.integers(20, 60))
def test_no_more_is_dropped_than_was_sent(sizes: list[int], more: int) -> None:
    """The dropped tokens are those of the first request that are not in the second."""
    one, two = request(sizes), request([*sizes, more])
    report = prefix_report(one, two)
    sent = [sum(side.tokens.messages[: len(one.messages)]) for side in (one, two)]
    assert max(sent[0] - sent[1], 0) <= report.dropped <= report.before - report.shared


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        (
            Timeline(System("Base.", Section("x", "y"))),
            Timeline(System("Base. More.", Section("x", "y"))),
            "system turn",
        ),
        (
            Timeline(System("Base. More.", Section("x", "y"))),
            Timeline(System("Base.", Section("x", "y"))),
            "system turn",
        ),
        (
            Timeline(System(Value("A"), Section("x", "y"))),
            Timeline(System(Value("AB"), Section("x", "y"))),
            "system turn",
        ),
        (Timeline(User("Hi"), User("x")), Timeline(User("Hi there"), User("x")), "user turn"),
        (
            Timeline(System(Section("r", "Be kind."), Section("x", "y"))),
            Timeline(System(Section("r", "Be kind. Be brief."), Section("x", "y"))),
            "section r",
        ),
    ],
)
def test_what_grew_was_changed(before: Timeline, after: Timeline, what: str) -> None:
    """What became longer or shorter was neither added nor moved, whatever comes after it."""
    first = prefix_report(render(before, model="gpt-5"), render(after, model="gpt-5")).first
    assert ("changed", what) == (first and first.how, first and first.what)
