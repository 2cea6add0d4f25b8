"""What was rendered goes back in as a recording, and odd shapes of turns keep their meaning."""

from typing import Any

import pytest

from promptdsl import *


def call(*ids: str) -> Assistant:
    """Return an assistant turn with a call for each id."""
    return Assistant(*[ToolUse("f", {}, id=id) for id in ids])


def result(id: str) -> dict[str, Any]:
    """Return a recorded result, as user messages hold them."""
    return {"type": "tool_result", "tool_use_id": id, "content": "r"}


def roles(tree: Node, **options: Any) -> list[str]:
    """Return the roles of the messages of a prompt."""
    return [message.role for message in render(tree, **options).messages]


@pytest.mark.parametrize(
    "empty", [lambda: User(Note("n")), lambda: User(""), lambda: Assistant("")]
)
def test_an_empty_turn_interrupts_no_calls(empty: Any) -> None:
    """A turn that yields nothing stands between no call and its result."""
    tree = Timeline(User("q"), call("1"), empty(), ToolMessage("1", "x"))
    assert ["user", "assistant", "tool"] == roles(tree)


def test_an_empty_turn_is_no_anchor() -> None:
    """A grounding stands before the last turn in which a user said something."""
    tree = Timeline(User("q"), Assistant("a"), User(Note("n")), Grounding("g", "facts"))
    assert ["user", "assistant"] == roles(tree)


def test_results_in_a_fragment_are_results() -> None:
    """A fragment hides no result: it answers its call, and is nothing a user wrote."""
    answered = Fragment(ToolResult("1", "a"))
    tree = Timeline(User("q"), call("1"), User(answered), Grounding("g", "facts"))
    assert ["user", "assistant", "tool"] == roles(tree)


def test_results_recorded_in_user_messages_close_a_batch() -> None:
    """An event moves behind the results of a batch, whatever role they were recorded in."""
    recorded = [
        {"role": "user", "content": [result("a")]},
        {"role": "user", "content": "u"},
    ]
    tree = Timeline(User("q"), call("a"), Event("e"), History(recorded))
    wire = [m["role"] for m in render(tree, provider="openai").to_openai()["messages"]]
    assert ["user", "assistant", "tool", "developer", "user"] == wire


@pytest.mark.parametrize("mode", ["fill", "prune"])
def test_a_doubled_call_is_answered_or_removed(mode: str) -> None:
    """Every call left has its own result, also where one id is used twice in a turn."""
    tree = Timeline(User("q"), call("1", "1"), ToolMessage("1", "x"), User("z"))
    messages = render(tree, transformation={"tool_pairing": mode}).messages
    blocks = [block.type for message in messages for block in message.content]
    assert blocks.count("tool_use") == blocks.count("tool_result")


def test_a_note_is_no_instruction_between_call_and_result() -> None:
    """For people a note between a call and its result moves behind it."""
    tree = Timeline(User("q"), call("1"), Note("n"), ToolMessage("1", "x"))
    assert ["user", "assistant", "tool", "developer"] == roles(tree, audience="people")


def test_a_developer_turn_stays_behind_a_mixed_turn() -> None:
    """What a user said stays said when request-only content joins it."""
    tree = Timeline(System("s"), Ephemeral("e"), User("q"), Developer("d"), Assistant("a"))
    config = {"role_mapping": {"ephemeral": "user"}}
    payload = render(tree, provider="anthropic", transformation=config).to_anthropic()
    assert [{"type": "text", "text": "s"}] == payload["system"]


def test_a_rendered_conversation_goes_on() -> None:
    """The grounding of the next turn stands before the next question."""
    first = render(Timeline(User("q1"), Assistant("a"), Grounding("g", "old"), User("q2")))
    messages = render(Timeline(History(first.messages), Grounding("h", "new"))).messages
    assert "<context>\nnew\n</context>" in [block.text for block in messages[2].content]  # type: ignore[union-attr]


def test_a_mapped_event_stays_out_of_the_system_message() -> None:
    """An event mapped to system joins no system message when it is fed back, either."""
    config = {"role_mapping": {"event": "system"}}
    first = render(Timeline(System("s"), Event("e"), User("q")), transformation=config).messages
    again = render(Timeline(History(first))).messages
    assert [["s"], ["<event>\ne\n</event>"], ["q"]] == [
        [block.text for block in message.content]  # type: ignore[union-attr]
        for message in again
    ]


def test_a_pending_prompt_can_be_fed_back() -> None:
    """Request-only content behind open calls is no turn of the conversation."""
    first = render(Timeline(User("q"), call("1"), Ephemeral("e"))).messages
    assert ["user", "assistant", "user"] == roles(Timeline(History(first)))


# Payloads.


def again(payload: Any, provider: str, **options: Any) -> Any:
    """Return the payload of a prompt that was read from a payload."""
    return render(read_payload(payload, provider), provider=provider, **options).payload()


SENT: dict[str, Any] = {
    "anthropic": {
        "system": [{"type": "text", "text": "s"}, {"type": "text", "text": "d"}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "q"}]}],
    },
    "gemini": {
        "contents": [{"role": "user", "parts": [{"text": "q"}]}],
        "config": {"system_instruction": {"parts": [{"text": "s"}, {"text": "d"}]}},
    },
    "bedrock": {
        "system": [{"text": "s"}, {"text": "d"}],
        "messages": [{"role": "user", "content": [{"text": "q"}]}],
    },
    "openai": {
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "developer", "content": "d"},
            {"role": "user", "content": "q"},
        ]
    },
    "openai_compatible": {
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "system", "content": "d"},
            {"role": "user", "content": "q"},
        ]
    },
    "chat_template": {
        "messages": [{"role": "system", "content": "s\n\nd"}, {"role": "user", "content": "q"}]
    },
}


@pytest.mark.parametrize("provider", SENT)
def test_a_developer_behind_the_system_text_stays_apart(provider: str) -> None:
    """What was sent in two blocks, or in two messages, is sent in two of them again."""
    payload = render(Timeline(System("s"), Developer("d"), User("q")), provider=provider).payload()
    assert (SENT[provider], SENT[provider]) == (payload, again(payload, provider))


_MARK = {"cache_control": {"type": "ephemeral"}}
MARKED: dict[str, Any] = {
    **{provider: SENT[provider] for provider in ("gemini", "bedrock")},
    "anthropic": {
        **SENT["anthropic"],
        "system": [{"type": "text", "text": "s", **_MARK}, {"type": "text", "text": "d"}],
    },
}


@pytest.mark.parametrize("provider", MARKED)
def test_system_text_around_a_mark_stays_apart(provider: str) -> None:
    """A cache mark divides system text also where the target takes no marks, and afterwards."""
    tree = Timeline(System("s", CacheBreakpoint(), "d"), User("q"))
    payload = render(tree, provider=provider).payload()
    assert (payload, payload) == (again(payload, provider), MARKED[provider])


def test_system_text_read_beside_written_text() -> None:
    """The texts of a payload stay apart in a prompt; written text is joined to the first."""
    tree = Timeline(System("w"), History.from_bedrock(SENT["bedrock"]))
    assert {**SENT["bedrock"], "system": [{"text": "w\n\ns"}, {"text": "d"}]} == (
        render(tree, provider="bedrock").payload()
    )


def test_neighbours_that_were_sent_apart_stay_apart() -> None:
    """A payload that was read merges no turns, unless that is asked for."""
    tree = Timeline(User("a"), User("b", merge=False), User("c"))
    payload = render(tree, provider="openai").payload()
    apart = {"messages": [{"role": "user", "content": text} for text in ("a", "b", "c")]}
    merged = {"messages": [{"role": "user", "content": "a\n\nb\n\nc"}]}
    asked = {"merge_consecutive": True}
    assert (apart, apart, merged) == (
        payload,
        again(payload, "openai"),
        again(payload, "openai", transformation=asked),
    )


@pytest.mark.parametrize("provider", ["openai", "openai_responses"])
def test_an_event_as_system_text_stays_apart(provider: str) -> None:
    """A system message behind the system text is none of it, also when it was read."""
    config = {"role_mapping": {"event": "system"}}
    tree = Timeline(System("s"), Event("e"), User("q"))
    payload: Any = render(tree, provider=provider, transformation=config).payload()
    assert ([("system", "s"), ("system", "<event>\ne\n</event>"), ("user", "q")], payload) == (
        [(entry["role"], entry["content"]) for entry in next(iter(payload.values()))],
        again(payload, provider),
    )
