"""Laws of every adapter for any messages, also those that no pass would let through."""

import re
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import attrs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from promptdsl import *
from tests.internals import facts_for
from tests.providers.conversations import ASK, answer, call, marked, media, say, whole
from tests.providers.every_target import (
    FACTS,
    SERVICES,
    as_wire,
    check,
    check_rules,
    read,
    strings_in,
    write,
)
from tests.providers.laws import vanished, verdict
from tests.providers.strategies import (
    CHOICES,
    IDS,
    OUTPUTS,
    OWN,
    WILD,
    conversations_of,
    facts_of,
    messages_of,
    prompts_of,
    rounds_of,
    texts_of,
    tools_of,
)
from tests.providers.wire_tables.tables import table
from tests.searching import outcomes, spoiled

TWO_SIDED = ("anthropic", "gemini", "bedrock")
CHATS = ("openai", "openai_responses")

ADDRESS_AS_DATA = re.compile(r"AudioBlock\(source=MediaSource\(kind='base64', value='\w+:")
"""The data of a sound that looks like an address: it is read as one."""

every_provider = pytest.mark.parametrize("provider", OWN)
two_sided = pytest.mark.parametrize("provider", TWO_SIDED)
chats = pytest.mark.parametrize("provider", CHATS)
every_check = pytest.mark.parametrize(
    ("provider", "check"),
    [
        *(pytest.param(name, check_rules, id=f"{name}-rules") for name in OWN),
        *(
            pytest.param(name, check, id=f"{name}-types", marks=pytest.mark.sdk(service.sdk))
            for name, service in SERVICES.items()
            if service.sdk and name in OWN
        ),
    ],
)


@every_provider
@given(data=st.data())
def test_law(provider: str, data: st.DataObject) -> None:
    """What is written of any prompt is JSON in UTF-8; read and written again it is the same.

    Two answers between a call and its result are read as one: then that is what is the same.
    """
    prompt, facts = data.draw(prompts_of(provider)), data.draw(facts_of(provider))
    assume(not ADDRESS_AS_DATA.search(repr(prompt)))
    payload, _ = write(prompt, facts)
    if any("joined_turns" in message.metadata for message in read(payload, facts).messages):
        payload, _ = write(read(payload, facts), facts)
    assert as_wire(payload) == as_wire(write(read(payload, facts), facts)[0])


def test_a_sound_whose_data_is_an_address() -> None:
    """It is sent as data, and read as the address of a sound, which Chat does not take."""
    facts = FACTS["openai"]
    sound = AudioBlock(MediaSource("base64", "https://x", "audio/mpeg"))
    payload, _ = write(Prompt((say("user", "Hear.", sound),)), facts)
    [message] = read(payload, facts).messages
    assert ("url", "https://x") == (message.content[1].source.kind, message.content[1].source.value)


def test_an_answer_between_a_call_and_its_result() -> None:
    """It is written in its place, and read as one turn with the call, as services join the two.

    Passes never leave one there.
    """
    facts = FACTS["openai"]
    messages = (ASK, say("assistant", call("a")), say("assistant", "Hm."), answer("a", "rain"))
    payload, _ = write(Prompt(messages), facts)
    joined, _ = write(read(payload, facts), facts)
    roles = [
        [entry["role"] for entry in each_payload["messages"]] for each_payload in (payload, joined)
    ]
    assert [["user", "assistant", "assistant", "tool"], ["user", "assistant", "tool"]] == roles
    assert as_wire(joined) == as_wire(write(read(joined, facts), facts)[0])


@every_check
@given(data=st.data())
def test_accepted(provider: str, check: Callable[..., None], data: st.DataObject) -> None:
    """Any conversation whose calls are answered is accepted, with any tools, form and choice."""
    messages = (say("system", "Be brief."), *data.draw(conversations_of(provider)))
    request = (data.draw(tools_of(provider)), data.draw(CHOICES), data.draw(st.none() | OUTPUTS))
    facts = data.draw(facts_of(provider))
    check(write(Prompt(messages, *request), facts)[0], facts)


@every_provider
@given(data=st.data())
def test_nothing_vanishes(provider: str, data: st.DataObject) -> None:
    """Every text of any conversation is in the payload, or in a loss."""
    messages, facts = data.draw(conversations_of(provider)), data.draw(facts_of(provider))
    # Where a model hears, a spoken answer is sent as its recording.
    facts = attrs.evolve(facts, media=tuple(kind for kind in facts.media if kind != "audio"))
    assert [] == vanished({"it": whole(messages)}, facts)


def parts_of(payload: Any) -> list[tuple[Any, Any]]:
    """Return every part of the turns of a payload with its role, system text first."""
    turns = payload.get("messages") or payload.get("contents", [])
    parts = [
        (turn["role"], part) for turn in turns for part in turn.get("content", turn.get("parts"))
    ]
    return [("", part) for part in payload.get("system", [])] + parts


@two_sided
@given(data=st.data())
def test_append_only(provider: str, data: st.DataObject) -> None:
    """What follows a conversation turn changes nothing that is written up to it, marks aside."""
    facts = attrs.evolve(data.draw(facts_of(provider)), cache_marks=False, binds_reasoning=False)
    rounds = st.sampled_from([(ASK,), (say("assistant", "Yes."),)]) | rounds_of(
        texts_of(provider), IDS
    )
    before = (*data.draw(conversations_of(provider)), *data.draw(rounds))
    parts_before = parts_of(write(whole(before), facts)[0])
    longer = whole((*before, *data.draw(conversations_of(provider))))
    assert parts_before == parts_of(write(longer, facts)[0])[: len(parts_before)]


def entries_of(messages: list[Message], facts: ModelFacts) -> list[Any]:
    """Return the messages or items of a payload."""
    payload = write(whole(messages), facts)[0]
    entries: list[Any] = payload.get("messages") or payload.get("input", [])
    return entries


@chats
@given(data=st.data())
def test_append_only_in_a_chat(provider: str, data: st.DataObject) -> None:
    """Further messages change nothing that is written before them, cache marks aside.

    A further result of the last calls does: the files of results stand behind all of them. The
    white space at the end of a last answer is sent only when something follows.
    """
    messages, further = (data.draw(st.lists(messages_of(provider), max_size=n)) for n in (6, 3))
    first = [message for message in further if message.content][:1]
    assume(not any(block.type == "tool_result" for answer in first for block in answer.content))
    facts = FACTS["openai" if provider == "openai" else "responses"]
    before = entries_of(messages, facts)
    after = entries_of([*messages, *further], facts)[: len(before)]
    assert before[:-1] == after[:-1]
    assert [*map(trimmed, before[-1:])] == [*map(trimmed, after[-1:])]


def test_a_last_answer_in_a_chat() -> None:
    """The white space at the end of a last answer is sent when something follows."""
    messages = [ASK, say("assistant", "Yes. ")]
    last = [
        entries_of(conversation, FACTS["openai"])[1]
        for conversation in (messages, [*messages, ASK])
    ]
    assert ["Yes.", "Yes. "] == [entry["content"] for entry in last]


def trimmed(entry: dict[str, Any]) -> dict[str, Any]:
    """Return a message or an item without the white space at the end of its last text."""
    content = entry.get("content")
    if isinstance(content, str):
        return {**entry, "content": content.rstrip()}
    if not content or "text" not in content[-1]:
        return entry
    last = {**content[-1], "text": content[-1]["text"].rstrip()}
    return {**entry, "content": [*content[:-1], last]}


def texts_in(entry: dict[str, Any]) -> str:
    """Return the texts of a message or an item, with nothing between them."""
    content = entry.get("content", entry.get("output", ""))
    parts = [{"text": content}] if isinstance(content, str) else content or ()
    return "".join(part.get("text", f"<{part.get('type')}>") for part in parts)


@chats
@given(data=st.data())
def test_marks_change_no_text(provider: str, data: st.DataObject) -> None:
    """With cache marks and without them, the same text is sent."""
    messages = data.draw(st.lists(messages_of(provider), max_size=6))
    marking = OWN[provider].facts[0]
    plain, with_marks = (
        [*map(texts_in, entries_of(messages, attrs.evolve(marking, cache_marks=able)))]
        for able in (False, True)
    )
    assert plain == with_marks


@chats
@pytest.mark.parametrize("block", [ImageBlock(media("url", "https://x")), marked("c")])
def test_further_content_changes_no_text(provider: str, block: Block) -> None:
    """What comes behind texts, a picture or a marked text, changes nothing before it."""
    facts = OWN[provider].facts[0]
    (before,) = entries_of([say("user", "a", "b")], facts)
    (after,) = entries_of([say("user", "a", "b", block)], facts)
    assert ("a\n\nb", True) == (before["content"], texts_in(after).startswith("a\n\nb"))


def number_in(result: ToolResultBlock) -> list[int]:
    """Return the number that a result says."""
    return [int(block.text) for block in result.content if isinstance(block, TextBlock)]


@pytest.mark.parametrize("provider", [name for name in OWN if name != "chat_template"])
@given(data=st.data())
def test_ids_stay_apart(provider: str, data: st.DataObject) -> None:
    """Any ids are unique on the wire, and each result has the id of its own call."""
    ids = st.lists(WILD.filter(bool) | st.text(min_size=30, max_size=60), max_size=3, unique=True)
    # Chat pairs results by the turn: there an id may come back.
    rounds = data.draw(st.lists(ids, max_size=1 if provider == "openai" else 4))
    numbers = count()
    numbered = [[(id, f"{next(numbers)}") for id in run] for run in rounds]
    messages = [
        message
        for run in numbered
        for message in (
            say("assistant", *(call(id) for id, _ in run)),
            *(answer(id, number) for id, number in reversed(run)),
        )
    ]
    facts = facts_for(None, provider)
    messages_read = read(write(whole(messages), facts)[0], facts).messages
    blocks = [block for message in messages_read for block in message.content]
    calls = [block.id for block in blocks if isinstance(block, ToolUseBlock)]
    results = [block for block in blocks if isinstance(block, ToolResultBlock)]
    assert len({*calls}) == len(calls) == sum(map(len, rounds))
    assert calls == [result.tool_use_id for result in sorted(results, key=number_in)]


# What is read.


def given_to(provider: str, name: str) -> list[Any]:
    """Return what the tables give a provider to be read."""
    inputs = [rows[provider]["given"] for rows in table(name).values() if provider in rows]
    return inputs or [{"messages": [{"role": "user", "content": "Hello."}]}]


def keys_in(data: Any) -> Iterator[str]:
    """Yield every key of plain data."""
    entries = (
        data.items()
        if isinstance(data, dict)
        else enumerate(data)
        if isinstance(data, list)
        else ()
    )
    for key, value in entries:
        yield from [key] if isinstance(key, str) else []
        yield from keys_in(value)


def like(goods: list[Any]) -> st.SearchStrategy[Any]:
    """Return one of good data with a value, or the whole, replaced by anything with their keys."""
    keys = st.sampled_from(sorted({*keys_in(goods)}))
    words = st.sampled_from(sorted({text for text in strings_in(goods) if len(text) < 30}))
    anything = st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.binary(max_size=2),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(keys, inner | words, max_size=5)
        ),
        max_leaves=12,
    )
    return anything | st.sampled_from(goods).flatmap(lambda good: spoiled(good, anything))


@pytest.mark.hypothesis
@every_provider
def test_any_payload_is_read_or_refused(provider: str) -> None:
    """Any data is read or is a :class:`DataError`, and what is read can be written."""
    facts, goods = facts_for(None, provider), given_to(provider, "readings")
    good = goods[0]

    def judge(data: object) -> str:
        return verdict(lambda data: write(read(data, facts), facts), data)

    assert {"read", "refused"} == outcomes(judge, good, like(goods))


@pytest.mark.hypothesis
@pytest.mark.parametrize("provider", [name for name in OWN if name != "chat_template"])
def test_any_response_is_read_or_refused(provider: str) -> None:
    """Any response is read or is a :class:`DataError`, and never another error."""
    goods = given_to(provider, "replies")
    assert {"read", "refused"} == outcomes(
        lambda data: verdict(read_response, data), goods[0], like(goods)
    )
