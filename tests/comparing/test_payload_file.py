"""The payloads of all providers, read as prompts to compare."""

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from promptdsl.comparing import payload_file
from tests.any_data import anything
from tests.errors import raised
from tests.providers.prompts import ANY_PROMPTS
from tests.renders import lossy_payload
from tests.searching import examples, outcomes

PROVIDERS: Any = get_args(AdapterName)
LOOKUP = {"type": "object", "properties": {"invoice": {"type": "integer"}}}
QUESTION = [{"role": "user", "content": "Hi"}]


def support(rule: str = "Be brief.") -> Timeline:
    """Return a prompt with a tool, an image and a call."""
    return Timeline(
        Tool(name="lookup", description="Look up an invoice.", input_schema=LOOKUP),
        System(Section("role", "You help."), Section("rules", rule, cache=True)),
        User("I was charged twice.", Image.from_base64("R0lGODlhAwAFAAAAACw=")),
        Assistant("Let me look.", ToolUse("lookup", {"invoice": 1}, id="call_1")),
        ToolMessage("call_1", "paid"),
        User("So?"),
    )


def payload(prompt: Any, provider: Any) -> Any:
    """Return the payload of a prompt."""
    return lossy_payload(render(prompt, provider=provider))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_one_changed_text_is_one_change(provider: Any) -> None:
    """Payloads of one prompt differ in the line that was changed, and in nothing else."""
    files = [
        payload_file(payload(support(rule), provider), provider) for rule in ("Be brief.", "No.")
    ]
    all_changes = [
        change for change in diff(*files).changes if change.location != ("header", "tokens")
    ]
    assert [(change.kind, change.location[0]) for change in all_changes] == [("changed", "system")]
    assert all_changes[0].after == (all_changes[0].before or "").replace("Be brief.", "No.")


@pytest.mark.parametrize(
    ("provider", "expected_provider"),
    [(provider, provider) for provider in PROVIDERS if provider != "openai_compatible"]
    + [("openai_compatible", "openai")],
)
def test_the_provider_is_recognised_by_a_payload(provider: Any, expected_provider: str) -> None:
    """Another interface of the form of OpenAI is taken for OpenAI's."""
    file = payload_file(payload(support(), provider))
    assert dict(file.header)["model"] == f"({expected_provider})"


def test_the_model_in_a_payload_tells_its_provider() -> None:
    """Its tokens are counted for this model, and its total is exact."""
    file = payload_file({"model": "gpt-5", "messages": QUESTION})
    assert dict(file.header)["model"] == "gpt-5 (openai)"
    assert file.total == 8


def test_the_order_of_tools_and_the_choice_are_kept() -> None:
    """What a cache sees first is compared, too."""
    names = [{"type": "function", "function": {"name": name}} for name in ("one", "two")]
    before = {"messages": QUESTION, "tools": names}
    after = {"messages": QUESTION, "tools": names[::-1], "tool_choice": "required"}
    all_changes = diff(payload_file(before), payload_file(after)).changes
    assert {change.kind: change.location[0] for change in all_changes} == {
        "added": "header",
        "moved": "tools",
    }


def test_signs_of_a_stored_payload_stay_signs() -> None:
    """A literal bracket that is no sign of a value is shown as one."""
    file = payload_file({"input": "⟦date⟧ ⟦uuid-2⟧ ⟦CR⟧ ⟦⟦⟧date⟧"})
    assert file.entries[0].parts[0].text == "⟦date⟧ ⟦uuid-2⟧ ⟦⟦⟧CR⟧ ⟦⟦⟧⟦⟦⟧⟧date⟧"


WRONG: dict[str, tuple[Any, str]] = {
    "a text": ("Hi", "a payload must be a dictionary or a list of messages, not str"),
    "nothing": ({}, "no provider has a payload with the keys (none)"),
    "a response": ({"choices": []}, "no provider has a payload with the keys choices"),
    "control": ({"\x1b[2J\n": 1}, "no provider has a payload with the keys ⟦ESC⟧[2J⟦LF⟧"),
    "other messages": ([3], "these are not the messages of any provider"),
    "of two": ({"messages": QUESTION}, "the payload may be one of openai or anthropic"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_payload_of_which_the_provider_cannot_be_told(name: str) -> None:
    """The error says why."""
    data, what = WRONG[name]
    assert raised(DataError, lambda: payload_file(data)).what == what


def test_the_error_says_which_option_to_give() -> None:
    """As an argument, and on the command line."""
    assert raised(DataError, lambda: payload_file({"messages": QUESTION})).fix == (
        'name the provider: provider="openai", or --for openai; or anthropic'
    )


def test_a_named_provider_tells_what_is_wrong() -> None:
    """The place in the payload is in the error; an unknown name is one of its own."""
    wrong = {"messages": [{"role": "user", "content": [{"type": "text"}]}]}
    assert raised(DataError, lambda: payload_file(wrong, "anthropic")).what == (
        "messages[0]: content[0]: 'text' is needed"
    )
    assert raised(TargetError, lambda: payload_file(wrong, "opnai")).what == (
        "unknown provider 'opnai'"
    )


def verdict(provider: str | None, data: Any) -> str:
    """Return whether data is read or refused; any other error fails the test."""
    try:
        payload_file(data, provider)
    except PromptError:
        return "refused"
    return "read"


@pytest.mark.hypothesis
@pytest.mark.parametrize("provider", ["anthropic", "openai_responses"])
def test_any_data_is_read_or_refused(provider: Any) -> None:
    """No data raises any other error, with the name of a provider or without."""
    good = json.loads(json.dumps(payload(support(), provider), default=repr))
    assert outcomes(lambda data: verdict(provider, data), good, anything) == {"read", "refused"}
    assert outcomes(lambda data: verdict(None, data), good, anything) == {"read", "refused"}


@pytest.mark.slow
@examples(100)
@given(ANY_PROMPTS, st.sampled_from(PROVIDERS))
def test_any_payload_equals_itself(prompt: Any, provider: Any) -> None:
    """It is read as the same prompt each time, by each provider that wrote it."""
    written = payload(prompt, provider)
    assert not diff(payload_file(written, provider), payload_file(written, provider))


@pytest.mark.slow
def test_recorded_conversations_are_read(recorded: dict[str, list[dict[str, Any]]]) -> None:
    """Each is reported to be in the form of OpenAI, and has all its messages."""
    files = {name: payload_file({"messages": messages}) for name, messages in recorded.items()}
    assert {dict(file.header)["model"] for file in files.values()} == {"(openai)"}
    assert {name: len(file.entries) for name, file in files.items()} == {
        name: len(messages) for name, messages in recorded.items()
    }
