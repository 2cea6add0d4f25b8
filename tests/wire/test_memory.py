"""Long conversations are written from where they grew, and come out as if from the beginning."""

import gc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import ImageBlock, Loss, Message, Prompt, ReasoningBlock, TextBlock, ToolDefinition
from tests.internals import CachedWrite, Memory, Request, Written
from tests.internals import targets_module as targets
from tests.providers.conversations import (
    ANYTHING,
    CONVERSATIONS,
    LOOK_UP,
    PNG,
    answer,
    call,
    marked,
    media,
    say,
)
from tests.providers.every_target import FACTS, write
from tests.providers.laws import as_json
from tests.providers.strategies import joined, rounds_of, turns_of
from tests.searching import examples

TARGETS = [name for name in FACTS if not name.startswith("template")]
REMEMBERED = [name for name in TARGETS if name != "chat_template"]
ANY_TARGET = st.sampled_from(TARGETS)
DIALECTS = ("openai", "responses", "anthropic", "gemini", "bedrock")
some_remembered = pytest.mark.parametrize(
    "target",
    [
        pytest.param(target, marks=() if target in ("openai", "bedrock") else pytest.mark.slow)
        for target in REMEMBERED
    ],
)
"""Every target too, but only one that pairs by the message, and one of two sides, are not slow."""


def eager() -> Memory:
    """Return a memory that keeps whatever it can."""
    return Memory(min_messages=0, long=0, newest=1, growth=1)


class Letters:
    """Counts letters, and how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def of(self, text: str) -> int:
        """Return how many letters a text has."""
        self.asked += 1
        return len(text)


# Any conversation, at every length, changed in any way.

TEXTS = st.sampled_from(["a", "b  ", "<c>", "\ud800", " \n", ""])
SAID = st.one_of(
    st.builds(TextBlock, TEXTS),
    st.builds(marked, TEXTS, st.sampled_from(["default", "1h"])),
    st.sampled_from(
        [
            ReasoningBlock("Hm.", "c2ln", origin="anthropic"),
            ReasoningBlock("Hm.", "c2ln", origin="gemini"),
            ReasoningBlock("Hm.", "c2ln", origin="bedrock"),
        ]
    ),
)
PHOTO = ImageBlock(media("base64", PNG, "image/png"))
PHOTOS = (say("assistant", call("a"), call("b")), answer("a", PHOTO), answer("b", "x", PHOTO))
IDS = st.lists(st.sampled_from(["a", "b", "a_2", "c.1"]), min_size=1, max_size=3)
UNITS = st.one_of(
    turns_of(
        SAID,
        rounds_of(SAID, IDS),
        st.sampled_from(["written", "recorded", "recorded_system", "event", "request"]),
    ).map(joined),
    st.sampled_from([messages for messages in CONVERSATIONS.values() if messages]),
    st.just(PHOTOS),
)
Change = Callable[[tuple[Message, ...]], tuple[Message, ...]]


def _added(unit: Sequence[Message]) -> Change:
    return lambda messages: (*messages, *unit)


def _back(number: int) -> Change:
    return lambda messages: messages[: len(messages) - number]


def _trimmed(number: int) -> Change:
    return lambda messages: messages[number:]


def _edited(index: int, unit: Sequence[Message]) -> Change:
    return lambda messages: (*messages[:index], *unit, *messages[index + 1 :])


ADDED = st.builds(_added, UNITS)
CHANGES = st.lists(
    st.one_of(
        ADDED,
        ADDED,
        st.builds(_back, st.integers(0, 5)),
        st.builds(_trimmed, st.integers(0, 3)),
        st.builds(_edited, st.integers(0, 9), UNITS),
    ),
    max_size=8,
)
SYSTEMS = st.sampled_from([(), ("s",), ("s", "t"), ("other",)])
TOOLS: Sequence[tuple[ToolDefinition, ...]] = [(), (LOOK_UP,), (LOOK_UP, ANYTHING)]
CHOICES = st.sampled_from([None, "auto"])
FRAMES = st.tuples(SYSTEMS, SYSTEMS, st.sampled_from(TOOLS), CHOICES, st.booleans())
"""What stands around a conversation and is made anew for each request."""
Frame = tuple[tuple[str, ...], tuple[str, ...], tuple[ToolDefinition, ...], str | None, bool]


def framed_prompt(messages: tuple[Message, ...], frame: Frame) -> Prompt:
    """Return the prompt of a conversation, with messages made for the request around it."""
    systems, requests, tools, choice, trimmed = frame
    leading = tuple(say("system", marked(text)) for text in systems)
    trailing = tuple(say("user", text, kind="request") for text in requests)
    same_tools = tuple(attrs.evolve(tool) for tool in tools)
    all_messages = (*leading, *messages, *trailing)
    return Prompt(
        all_messages,
        same_tools,
        choice if tools else None,
        untrimmed_from=len(all_messages) if trimmed else 0,
    )


def grown(changes: Sequence[Change], frames: Sequence[Frame]) -> list[Prompt]:
    """Return the prompts of a conversation after each change."""
    messages: tuple[Message, ...] = ()
    prompts: list[Prompt] = []
    for number, change in enumerate(changes):
        messages = change(messages)
        prompts.append(framed_prompt(messages, frames[number % len(frames)]))
    return prompts


def seen(losses: Sequence[Loss]) -> list[tuple[Loss, int]]:
    """Return losses with the identity of what they are of, which takes no part in equality."""
    return [(loss, id(loss.message)) for loss in losses]


def anew(prompt: Prompt, target: str) -> Any:
    """Return what a prompt comes to without a memory."""
    payload, losses = write(prompt, FACTS[target])
    counts = Written(prompt, FACTS[target], Memory(min_messages=10**6)).tally(Letters())
    return as_json(payload), seen(losses), counts


def remembered(prompt: Prompt, target: str, memory: Memory, counter: Letters) -> Any:
    """Return what a prompt comes to with a memory; its payload is ruined once it is seen."""
    written_payload = Written(prompt, FACTS[target], memory)
    spoiled = written_payload.payload()
    _ruin(spoiled)
    counts = written_payload.tally(counter)
    return as_json(written_payload.payload()), seen(written_payload.losses), counts


def _ruin(payload: Any) -> None:
    unvisited = [payload]
    while unvisited:
        held = unvisited.pop()
        if isinstance(held, dict | list):
            unvisited += held.values() if isinstance(held, dict) else held
            held.clear()


@examples(1_000, fast=12)
@given(ANY_TARGET, CHANGES, st.lists(FRAMES, min_size=1, max_size=3))
def test_nothing_differs(target: str, changes: list[Change], frames: list[Frame]) -> None:
    """Payload, losses and tokens are those of a request that is written from the beginning."""
    prompts, memory, counter = grown(changes, frames), eager(), Letters()
    expected = [anew(prompt, target) for prompt in prompts]
    assert expected == [remembered(prompt, target, memory, counter) for prompt in prompts]


@examples(1_000, fast=12)
@given(ANY_TARGET, st.lists(UNITS, min_size=1, max_size=4), FRAMES)
def test_turn_by_turn(target: str, units: list[Sequence[Message]], frame: Frame) -> None:
    """The same holds when one message after the other is added."""
    messages = [message for unit in units for message in unit]
    prompts = grown([_added([message]) for message in messages], [frame])
    memory, counter = eager(), Letters()
    expected = [anew(prompt, target) for prompt in prompts]
    assert expected == [remembered(prompt, target, memory, counter) for prompt in prompts]


ASK, BLANK = say("user", "a"), say("user", "")
CLOCK = say("user", "Noon.", kind="request")
KNOTS: dict[str, Sequence[Sequence[Message]]] = {
    "an id used twice in a turn": [
        (ASK, say("assistant", call("a"), call("a")), answer("a", "1")),
        (answer("a", "2"), say("assistant", "b")),
    ],
    "a result behind what a user said": [
        (
            ASK,
            say("assistant", call("a"), call("b")),
            say("user", "Wait."),
            answer("b", "1"),
            BLANK,
        ),
        (answer("a", "1"), say("assistant", "b")),
    ],
    "results in another order": [
        (ASK, say("assistant", call("a"), call("b")), answer("b", "1"), BLANK),
        (answer("a", "1"), say("assistant", "b")),
    ],
    "an answer that is trimmed, then goes on": [
        (ASK, say("assistant", marked("b  ")), BLANK),
        (say("assistant", "c"), ASK),
    ],
    "an instruction that waits": [
        (ASK, say("developer", "b"), BLANK),
        (say("assistant", "c"), ASK),
    ],
    "a marked instruction that waits": [
        (ASK, say("developer", marked("b")), BLANK),
        (say("assistant", "c"), ASK),
    ],
    "reasoning that is bound, then not": [
        *(
            (ASK, say("assistant", ReasoningBlock("Hm.", "c2ln", origin=it), "b"), ASK, BLANK)
            for it in ("anthropic", "bedrock")
        ),
        (CLOCK,),
    ],
    "a system text that begins late": [(say("developer", "b"), BLANK), (say("system", "c"), ASK)],
}
"""Conversations that are tied together over more than one message, in the steps they grow in."""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("knot", KNOTS)
def test_knots(knot: str, target: str) -> None:
    """What holds messages together holds over what is remembered, each time it is written."""
    changes = [change for step in KNOTS[knot] for change in (_added(step), _back(0), _back(0))]
    prompts, memory, counter = grown(changes, [((), (), (), None, False)]), eager(), Letters()
    expected = [anew(prompt, target) for prompt in prompts]
    assert expected == [remembered(prompt, target, memory, counter) for prompt in prompts]


def test_a_turn_that_is_divided() -> None:
    """A turn that is divided is told of its own message, not of one whose param is gone.

    The instruction becomes a fence in another param; the next param may have the id of the first.
    """
    messages = [
        BLANK,
        say("developer", "a", "a"),
        ASK,
        say("assistant", call("a")),
        answer("a", "x"),
    ]
    prompts = grown([_added([message]) for message in messages], [((), ("s",), (), None, False)])
    memory, target, counter = eager(), "bedrock pixtral", Letters()
    expected = [anew(prompt, target) for prompt in prompts]
    assert expected == [remembered(prompt, target, memory, counter) for prompt in prompts]


def test_what_a_budget_took() -> None:
    """Why reasoning is lost is told as it is now."""
    messages = (ASK, say("assistant", ReasoningBlock("Hm.", "c2ln", origin="anthropic"), "b"), ASK)
    prompts = [Prompt((*messages, BLANK, CLOCK), untrimmed_from=stop) for stop in (0, 5)]
    memory, target, counter = eager(), "claude-opus-5-5", Letters()
    expected = [anew(prompt, target) for prompt in prompts]
    assert expected == [remembered(prompt, target, memory, counter) for prompt in prompts]


@some_remembered
def test_in_threads(target: str) -> None:
    """Two threads may write one conversation."""
    prompts = [Prompt(tuple(conversation(100)[:stop])) for stop in range(2, 100, 7)] * 8
    memory = Memory(min_messages=2, long=0, newest=1, growth=4, max_writes=2)
    expected = [anew(prompt, target) for prompt in prompts]
    with ThreadPoolExecutor(4) as pool:
        futures = [
            pool.submit(remembered, each_prompt, target, memory, Letters())
            for each_prompt in prompts
        ]
        assert expected == [each_prompt.result() for each_prompt in futures]


# What it saves.


def conversation(length: int) -> list[Message]:
    """Return a conversation in which every other exchange calls a tool."""
    messages: list[Message] = []
    for number in range(length // 6 + 1):
        id = f"call_{number}"
        messages += [say("user", f"{number}?"), say("assistant", f"{number}.")]
        messages += [say("user", "Look."), say("assistant", call(id)), answer(id, f"{number}")]
        messages += [say("assistant", "There.")]
    return messages[:length]


class Counting(CachedWrite):
    """Counts the messages that are written."""

    written = 0

    def spans(self, request: Request) -> Iterator[tuple[int, int]]:
        """Yield what is not known yet, and count it."""
        for start, stop in super().spans(request):
            Counting.written += stop - start
            yield start, stop


@some_remembered
def test_only_what_is_new_is_written(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn more costs the turns since the last passage, not the conversation before them."""
    monkeypatch.setattr(targets, "CachedWrite", Counting)
    monkeypatch.setattr(Counting, "written", 0)
    memory, counter = Memory(), Letters()
    messages = conversation(3_000)
    counts: list[tuple[int, int]] = []
    for number in range(20):
        messages = [*messages, say("user", f"new {number}"), say("assistant", "Good.")]
        prompt = Prompt((say("system", "Be kind."), *messages))
        Counting.written = counter.asked = 0
        Written(prompt, FACTS[target], memory).tally(counter)
        counts.append((Counting.written, counter.asked))
    assert counts[0][0] >= 3_000 < counts[0][1]
    assert max(written for written, _ in counts[1:]) <= memory.newest + memory.growth + 20
    assert max(text_count for _, text_count in counts[1:]) <= 10 * (
        memory.newest + memory.growth + 20
    )


def written_of(monkeypatch: pytest.MonkeyPatch, first: Prompt, *further: Prompt) -> list[int]:
    """Return how many messages of other prompts are written when one was written before."""
    monkeypatch.setattr(targets, "CachedWrite", Counting)
    memory, counts = Memory(), list[int]()
    Written(first, FACTS["claude-opus-5-5"], memory)
    for prompt in further:
        monkeypatch.setattr(Counting, "written", 0)
        Written(prompt, FACTS["claude-opus-5-5"], memory)
        counts.append(Counting.written)
    return counts


SYSTEM = say("system", marked("Be kind."), "Be brief.")
IMAGE = ImageBlock(media("base64", PNG, "image/png"))
THOUGHT = say("assistant", ReasoningBlock("Hm.", "c2ln", origin="anthropic"), "There.")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((SYSTEM,), (say("system", marked("Be kind."), "Be brief."),)),
        ((say("user", "a"),), (say("user", "a"),)),
        (
            (say("assistant", call("x")), answer("x", "1")),
            (say("assistant", call("x")), answer("x", "1")),
        ),
        ((say("user", IMAGE),), (say("user", attrs.evolve(IMAGE)),)),
        ((THOUGHT, THOUGHT), (THOUGHT, say("assistant", *THOUGHT.content))),
    ],
)
def test_an_equal_beginning(one: Any, other: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages that are made again for each request may stand before a conversation."""
    messages = conversation(300)
    prompts = (Prompt((*one, *messages)), Prompt((*other, *messages, say("user", "New."))))
    (written,) = written_of(monkeypatch, *prompts)
    assert written < 20


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((SYSTEM,), ()),
        ((SYSTEM,), (say("system", "Be kind.", "Be brief."),)),
        ((say("user", "a"),), (say("user", "b"),)),
        ((say("user", "a"),), (say("user", "a", name="n"),)),
        ((say("user", "a"),), (say("user", "a", kind="event"),)),
        ((say("assistant", call("x")),), (say("assistant", call("x", arguments="{}")),)),
        ((answer("x", "1"),), (answer("x", "2"),)),
        ((answer("x", "1"),), (answer("x", "1", is_error=True),)),
        (
            (say("user", TextBlock("a", extra={"k": 1})),),
            (say("user", TextBlock("a", extra={"k": True})),),
        ),
    ],
)
def test_another_beginning(one: Any, other: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What begins in another way is written from its beginning, also if it is only equal data."""
    messages, again = conversation(300), [message.replace() for message in other]
    prompts = (Prompt((*one, *messages)), Prompt((*again, *messages, say("user", "New."))))
    (written,) = written_of(monkeypatch, *prompts)
    assert written > 300


def test_other_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tools may give calls other names: with equal ones a request goes on."""
    messages = tuple(conversation(300))
    again = attrs.evolve(LOOK_UP)
    prompts = [Prompt(messages, tools) for tools in ((LOOK_UP,), (again,), (LOOK_UP, ANYTHING), ())]
    few, *others = written_of(monkeypatch, *prompts)
    assert (True, [300, 300]) == (few < 20, others)


def test_request_only_content(monkeypatch: pytest.MonkeyPatch) -> None:
    """What changes with each request is written anew, and what follows it."""
    messages = conversation(300)
    prompts = [
        Prompt((*messages[:290], say("user", f"{number} o'clock", kind="request"), *messages[290:]))
        for number in range(3)
    ]
    assert max(written_of(monkeypatch, *prompts)) < 40


def test_going_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A conversation that goes on in another way is written from where that begins."""
    messages, other = conversation(300), conversation(400)
    prompts = [
        Prompt(tuple(messages)),
        Prompt((*messages[:298], *other[298:])),
        Prompt(tuple(messages)),
    ]
    assert max(written_of(monkeypatch, *prompts)) < 120


@pytest.mark.parametrize("length", [0, 1, 199])
def test_short_conversations_are_left_alone(length: int) -> None:
    """Nothing of a short conversation is remembered, and its payload is not copied."""
    memory = Memory()
    Written(Prompt(tuple(conversation(length))), FACTS["openai"], memory)
    assert 0 == len(memory.write_caches)


# What it keeps.


@some_remembered
def test_two_passages_for_a_conversation(target: str) -> None:
    """A conversation that grows has the last two of its passages, whatever its length."""
    memory, messages = Memory(), conversation(2_000)
    for stop in range(100, 2_000, 50):
        Written(Prompt(tuple(messages[:stop])), FACTS[target], memory)
    assert 2 == len(memory.write_caches)


def test_few_conversations_are_kept() -> None:
    """Of many conversations those are remembered that were written last."""
    memory, conversations = Memory(max_writes=3), [conversation(300) for _ in range(5)]
    first = Prompt(tuple(conversations[0]))
    for conversation_messages in conversations:
        Written(Prompt(tuple(conversation_messages)), FACTS["anthropic"], memory)
        Written(first, FACTS["anthropic"], memory)
    first_messages = [passage.messages[0] for passage in memory.write_caches.values()]
    assert [
        id(conversation_messages[0])
        for conversation_messages in (conversations[3], conversations[4], conversations[0])
    ] == [*map(id, first_messages)]


def test_a_conversation_that_is_dropped() -> None:
    """What was remembered of a conversation goes with it, whatever it was written for."""
    memories = {target: Memory() for target in REMEMBERED}
    kept = kept_while_held(memories)
    gc.collect()
    assert dict.fromkeys(REMEMBERED, 1) == kept
    assert dict.fromkeys(REMEMBERED, 0) == {t: len(m.write_caches) for t, m in memories.items()}


def kept_while_held(memories: dict[str, Memory]) -> dict[str, int]:
    """Return how many passages are remembered, by target, before a conversation is dropped."""
    held = {target: conversation(300) for target in memories}
    for target, messages in held.items():
        Written(Prompt(tuple(messages)), FACTS[target], memories[target]).tally(Letters())
    return {target: len(memory.write_caches) for target, memory in memories.items()}


def test_two_counters_are_kept() -> None:
    """Of many counters what the last two counted is remembered."""
    memory, counters = Memory(), [Letters() for _ in range(4)]
    payload = Written(Prompt(tuple(conversation(300))), FACTS["openai"], memory)
    for counter in counters:
        payload.tally(counter)
    (passage,) = memory.write_caches.values()
    assert [counters[3], counters[2]] == [counter for counter, _ in passage.counted]


@pytest.mark.parametrize("newest", [3, 4])
def test_a_message_that_is_everywhere(newest: int) -> None:
    """No passage hangs on a message that stands in it: it would never go."""
    memory, again = Memory(newest=newest), say("user", "Go on.")
    messages = [
        message for message_of_one in conversation(300) for message in (message_of_one, again)
    ]
    Written(Prompt(tuple(messages)), FACTS["openai"], memory)
    (passage,) = memory.write_caches.values()
    assert passage.anchor() is not again
