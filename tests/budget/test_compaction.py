"""A provider's compaction: it stands for what is before it, and no budget drops it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from promptdsl import *
from tests.budget.fitted import broken
from tests.errors import raised
from tests.renders import reported
from tests.searching import examples

CLAUDE = "claude-opus-5-5"
GPT: dict[str, Any] = {"model": "gpt-5", "provider": "openai_responses"}
REQUESTS: tuple[dict[str, Any], ...] = ({}, {"model": "gpt-5"}, GPT)


def words(text: str) -> int:
    """Return the words of a text."""
    return len(text.split())


FITS: tuple[dict[str, Any], ...] = ({}, {"budget": 60, "counter": words})


def messages_of(script: str) -> list[dict[str, Any]]:
    """Return a conversation in Anthropic's form, a message for each word.

    ``q1`` is a question, ``a1`` an answer, ``c1`` a call, ``r1`` its result; ``s1`` is a
    compaction, ``x0`` one that failed. A message of the model may have several, with ``+``.
    """
    said: list[dict[str, Any]] = []
    for word in script.split():
        content = [_block(id) for id in word.split("+")]
        said.append({"role": "user" if word[0] in "qr" else "assistant", "content": content})
    return said


def _block(id: str) -> dict[str, Any]:
    made: dict[str, dict[str, Any]] = {
        "c": {"type": "tool_use", "id": id, "name": "look", "input": {}},
        "r": {"type": "tool_result", "tool_use_id": f"c{id[1:]}", "content": "w " * 9},
        "s": {"type": "compaction", "content": id, "signature": "c2ln"},
        "x": {"type": "compaction", "content": None},
    }
    return made.get(id[0], {"type": "text", "text": id})


def script_of(messages: Any) -> str:
    """Return the script of a payload's messages."""
    return " ".join("+".join(map(_word, message["content"])) for message in messages)


def _word(block: Any) -> str:
    if block["type"] == "tool_result":
        return f"r{block['tool_use_id'][1:]}"
    named = {"tool_use": "id", "compaction": "content", "text": "text"}
    return block[named[block["type"]]] or "x0"


def sent(script: str, **request: Any) -> tuple[str, Rendered]:
    """Return the script that Anthropic is sent of a history, and the rendered prompt."""
    options = {key: request.pop(key) for key in ("keep_compacted", "pin", "step") if key in request}
    history = History.from_anthropic(messages_of(script), **options)
    prompt = Timeline(System("Be kind."), history)
    rendered = render(prompt, model=CLAUDE, counter=words, **request)
    assert broken(rendered.messages) == []
    return script_of(rendered.to_anthropic()["messages"]), rendered


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("q1 a1 q2 s1 q3", "s1 q3"),
        ("q1 a1 q2 s1+a2 q3", "s1+a2 q3"),
        ("q1 a1+s1+a2 q3", "s1+a2 q3"),
        ("q1 s1 q2 s2+a1 q3 a2 q4", "s2+a1 q3 a2 q4"),
        ("q1 s1+s2 q3", "s2 q3"),
        ("q1 c1 r1 s1+c2 r2 a3 q2", "s1+c2 r2 a3 q2"),
        ("q1 c1 r1 s1+a1", "s1+a1"),
        ("q1 c1+s1 r1 a2 q2", ". c1+s1 r1 a2 q2"),
        ("q1 a1+s1+c1 r1 a2 q2", "s1+c1 r1 a2 q2"),
        ("s1 q2 a2", "s1 q2 a2"),
        ("q1 x0+a1 q2", "q1 x0+a1 q2"),
        ("q1 s1 q2 x0+a1 q3", "s1 q2 x0+a1 q3"),
    ],
)
def test_what_it_stands_for(script: str, expected: str) -> None:
    """What is before the newest one is left out; one without content stands for nothing."""
    for budget in (None, 1_000):
        found, rendered = sent(script, budget=budget)
        assert expected == found
        assert bool(rendered.dropped) == (expected != script)


def test_what_is_told() -> None:
    """It is told what is left out, its tokens and the line; with the option all is sent."""
    found, rendered = sent("q1 a1 q2 s1 q3")
    [dropped] = rendered.dropped
    assert f"{__file__}:" in str(dropped)
    assert str(dropped).endswith("15 tokens: a compaction replaces the 3 messages before it")
    assert "only" not in str(reported(rendered))
    found, rendered = sent("q1 a1 q2 s1 q3", keep_compacted=True)
    assert ("q1 a1 q2 s1 q3", ()) == (found, rendered.dropped)


def test_elsewhere() -> None:
    """Other targets, and none, get the messages before it; the block is a loss there."""
    history = History.from_anthropic(messages_of("q1 a1 q2 s1+a2 q3"))
    for request in REQUESTS:
        rendered = render(Timeline(history), **request)
        assert ["q1", "a1", "q2", "a2", "q3"] == [message.text for message in rendered.messages]
        assert () == rendered.dropped
    assert "s1+a2 q3" == script_of(render(Timeline(history)).to_anthropic()["messages"])


def test_a_payload_that_was_read() -> None:
    """A request that was sent once is sent so again."""
    payload = {"messages": messages_of("q1 a1 q2 s1 q3")}
    rendered = render(read_payload(payload, "anthropic"), model=CLAUDE)
    assert (payload, ()) == (rendered.to_anthropic(), rendered.dropped)


def test_a_wrong_option() -> None:
    """The option is a flag."""
    error = raised(OptionError, lambda: History([], keep_compacted="yes"))  # type: ignore[arg-type]
    assert "write True or False" in str(error)


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ("uaku", (2, 3)),
        ("uakau", (2, 3, 4)),
        ("Suaku", (0, 3, 4)),
        ("uku", (0, 1, 2)),
        ("Suku", (0, 1, 2, 3)),
        ("ukuaku", (4, 5)),
        ("uafu", (0, 1, 2, 3)),
    ],
)
def test_items_of_responses(items: str, expected: tuple[int, ...]) -> None:
    """Questions alone before an item are what the service returned with it: they stay."""
    roles = {"S": "system", "u": "user", "a": "assistant"}
    for kind in ("compaction", "compaction_summary"):
        made: list[dict[str, Any]] = []
        for number, item in enumerate(items):
            data = {"k": "Zm9v", "f": ""}.get(item)
            block = {"type": kind, "id": f"cmp_{number}", "encrypted_content": data}
            message = {"role": roles.get(item), "content": item}
            made.append(message if data is None else block)
        sent = render(Timeline(History.from_openai_responses(made)), **GPT).payload()["input"]
        assert [made[n] for n in expected] == sent


def test_in_a_budget() -> None:
    """It stays with the results of its calls; the oldest after it goes, the newest round stays."""
    script = "q1 a1 s1+c1 r1 c2 r2 c3 r3 c4 r4"
    assert "s1+c1 r1 c2 r2 c3 r3 c4 r4" == sent(script, budget=86, step=0)[0]
    assert "s1+c1 r1 c3 r3 c4 r4" == sent(script, budget=85, step=0)[0]
    found, rendered = sent(script, budget=48, step=0)
    assert ("s1+c1 r1 c4 r4", 48) == (found, rendered.tokens.total)
    assert ["a compaction", "there is no"] == [part.why[:12].rstrip() for part in rendered.dropped]
    with pytest.raises(BudgetError, match=r"assistant message history\[2\]"):
        sent(script, budget=47, step=0)
    assert "s1 q4" == sent("q1 s1 q2 a2 q3 a3 q4", budget=28, step=0)[0]


def test_what_goes_first() -> None:
    """With the option, what is before it goes before anything after it; a pin stays only then."""
    script = "q1 a1 q2 a2+s1 q3 a3 q4"
    for budget, expected in ((45, script), (44, "q2 a2+s1 q3 a3 q4"), (34, ". a2+s1 q4")):
        assert expected == sent(script, budget=budget, step=0, keep_compacted=True)[0], budget
    said = [Message("user", "q1", id="q")]
    said += read_payload(messages_of("a1 s1 q2"), "anthropic").messages
    for keep, expected in ((False, "s1 q2"), (True, "q1 a1 s1 q2")):
        prompt = Timeline(History(said, pin="q", keep_compacted=keep))
        payload: Any = render(prompt, model=CLAUDE, counter=words, budget=60).to_anthropic()
        assert expected == script_of(payload["messages"]).replace("+", " ")


def test_written_turns_and_events() -> None:
    """Turns that are written after the messages stay, and an event before it goes."""
    said = read_payload(messages_of("q1 a1 s1"), "anthropic").messages
    with History([said[0], {"role": "event", "content": "late"}, *said[1:]]) as history:
        User("q2")
        Event("opened")
    payload: Any = render(Timeline(history), model=CLAUDE).to_anthropic()["messages"]
    assert ["assistant", "user", "system"] == [it["role"] for it in payload]
    assert [1, 1, 1, 0] == [str(payload).count(word) for word in ("s1", "q2", "opened", "late")]


@pytest.mark.parametrize("role", ["event", "ephemeral"])
def test_system_text_before_it(role: str) -> None:
    """System text that leads stays; after an event it is an instruction, and is replaced."""
    recorded = read_payload(messages_of("q1 a1 s1 q2"), "anthropic").messages
    leading: list[Any] = [Message("system", "Be kind."), Message("system", "Be brief.")]
    between: list[Any] = [{"role": role, "content": "late"}, Message("system", "Be quick.")]
    for messages, expected in (
        ([*leading, *recorded], "Be kind.\n\nBe brief."),
        ([*leading, *between, *recorded], "Be kind.\n\nBe brief."),
        ([*between, *recorded], None),
    ):
        rendered = render(Timeline(History(messages)), model=CLAUDE)
        payload: Any = rendered.to_anthropic()
        system = payload.get("system", [{"text": None}])
        assert [expected] == [block["text"] for block in system]
        assert "s1 q2" == script_of(payload["messages"])
        assert "quick" not in str(payload)


def test_reasoning_after_it() -> None:
    """Reasoning that was written after it is sent: what it is bound to still stands before it."""
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    said = messages_of("q1 a1 q2 s1+a2 q3 a3")
    for message in (said[1], said[3], said[5]):
        message["content"].insert(len(message["content"]) - 1, thought)
    payload: Any = render(
        Timeline(History.from_anthropic(said), User("q4")), model=CLAUDE
    ).to_anthropic()
    assert [1, 0, 1, 0] == [str(it["content"]).count("Hm.") for it in payload["messages"]]


SCRIPTS = st.lists(
    st.sampled_from(["q a", "q c r a", "q s", "q s+a", "q a+s", "q x+a", "q s+c r c r a"]),
    max_size=8,
).map(lambda parts: " ".join(f"{word}" for word in parts))


def numbered(script: str) -> str:
    """Return a script with a number for each word, a call and its result with the same one."""
    made: list[str] = []
    for number, word in enumerate(script.split(), 1):
        calls = [id for id in "+".join(made).replace(" ", "+").split("+") if id.startswith("c")]
        numbers = {"r": calls[-1][1:] if calls else 0, "x": 0}
        ids = [f"{id}{numbers.get(id, number)}" for id in word.split("+")]
        made.append("+".join(ids))
    return " ".join(made)


def ids_of(script: str) -> list[str]:
    """Return the ids in a script."""
    return script.replace("+", " ").split()


@examples(400, fast=20)
@given(SCRIPTS, st.integers(20, 160), st.sampled_from([0, 20, None]))
def test_any_history(parts: str, budget: int, step: int | None) -> None:
    """The newest one leads, in any budget; with it a part of what follows is sent."""
    script = numbered(f"q a {parts} q")
    ids = ids_of(script)
    newest = max((n for n, id in enumerate(ids) if id.startswith("s")), default=0)
    assert ids[newest:] == ids_of(sent(script)[0])
    try:
        found, rendered = sent(script, budget=budget, step=step)
    except BudgetError:
        return
    assert rendered.tokens.total <= budget
    assert not newest or found.startswith(ids[newest])
    left = iter(ids[newest:])
    assert all(id in left for id in ids_of(found))


@examples(60, fast=4)
@given(SCRIPTS)
def test_a_growing_conversation(parts: str) -> None:
    """A request is that of messages never seen before, and begins with the last one.

    But where a new compaction came.
    """
    said = messages_of(numbered(" ".join(["q a"] * 34 + [parts, "q"])))
    messages = read_payload(said, "anthropic").messages
    before: list[Any] = []
    for stop in range(66, len(messages) + 1):
        if messages[stop - 1].role == "assistant" and stop < len(messages):
            continue
        unseen = [message.replace() for message in messages[:stop]]
        for request in (*FITS[1:], *FITS[:1]):
            whole, fresh = (
                render(Timeline(History(it), User("Q")), model=CLAUDE, **request).to_anthropic()
                for it in (messages[:stop], unseen)
            )
            assert whole == fresh
        now = [block for it in whole["messages"] for block in it["content"]][:-1]
        compacts = "compaction" in str(messages[max(stop - 3, 0) : stop])
        assert compacts or now[: len(before)] == before
        before = now


@pytest.mark.sdk("anthropic")
def test_objects_of_anthropic() -> None:
    """A reply of the SDK outlives what it stands for, to the byte."""
    types: Any = pytest.importorskip("anthropic.types.beta")
    change = {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "look"}}
    block = {"type": "compaction", "content": "Sum.", "signature": "c2ln"}
    block |= {"encrypted_content": "Zm9v", "tool_changes": [change]}  # type: ignore[dict-item]
    reply = types.BetaMessage.model_validate(
        {
            **{"id": "msg_1", "type": "message", "role": "assistant", "model": CLAUDE},
            "content": [block, {"type": "text", "text": "Yes."}],
            **{"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"input_tokens": 9, "output_tokens": 9},
        }
    )
    said: list[Any] = [{"role": "user", "content": "w " * 80}, reply]
    said += [{"role": role, "content": "w " * 9} for role in ("user", "assistant") * 9]
    for request in FITS:
        history = History.from_anthropic(said)
        payload: Any = render(Timeline(history, User("Q")), model=CLAUDE, **request).to_anthropic()
        assert [block, {"type": "text", "text": "Yes."}] == payload["messages"][0]["content"]
        for message in payload["messages"]:
            TypeAdapter(types.BetaMessageParam).validate_python(message)


@pytest.mark.sdk("openai")
def test_objects_of_responses() -> None:
    """An item of the SDK outlives what it stands for; a compacted conversation is sent whole."""
    types: Any = pytest.importorskip("openai.types.responses")
    data = {"type": "compaction", "id": "cmp_1", "encrypted_content": "Zm9v"}
    item = types.ResponseCompactionItem.model_validate(data)
    asked = {"role": "user", "content": "Go on."}
    said = [asked, {"role": "assistant", "content": "w " * 80}, item, asked]
    for request in FITS:
        found = render(Timeline(History.from_openai_responses(said)), **GPT, **request).payload()
        assert [data, asked] == found["input"]
        for entry in found["input"]:
            TypeAdapter(types.ResponseInputItemParam).validate_python(entry)
    returned = types.CompactedResponse.model_construct(output=[asked, item]).output
    found = render(Timeline(History.from_openai_responses([*returned, asked])), **GPT).payload()
    assert [asked, data, asked] == found["input"]
