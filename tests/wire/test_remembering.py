"""What is remembered of a long conversation: where it ends, what it holds for, and what it says."""

import gc
from typing import Any

import attrs
import pytest

from promptdsl import *
from tests.internals import NO_DETAILS, TARGETS, Memory, Written, facts_for
from tests.providers.conversations import PNG, answer, call, marked, media, say

MODELS = ("claude-opus-5-5", "gpt-5.6-sol", "gemini-3.1-pro", "amazon.nova-lite-v1:0")
RESPONSES = facts_for(None, "openai_responses")
FACTS = {**{model: facts_for(model, None) for model in MODELS}, "openai_responses": RESPONSES}
CLAUDE = FACTS["claude-opus-5-5"]
every_dialect = pytest.mark.parametrize("target", FACTS)


def plain(count: int, *, start: int = 0) -> list[Message]:
    """Return a conversation in which user and model say one text each in turn."""
    roles: Any = ("user", "assistant")
    return [say(roles[number % 2], f"{number}") for number in range(start, start + count)]


def with_call(count: int) -> list[Message]:
    """Return a conversation that ends with a call and its result."""
    return [*plain(count - 2), say("assistant", call("a")), answer("a", "rain")]


# Where a passage ends.


def ends(*conversations: Any, **sizes: int) -> list[int]:
    """Return how long the passages are that are kept of conversations written in turn."""
    memory = Memory(**sizes)
    held = [Prompt(tuple(messages)) for messages in conversations]
    for prompt in held:
        Written(prompt, CLAUDE, memory)
    return [len(passage.messages) for passage in memory.write_caches.values()]


def with_one(index: int, message: Message, length: int = 200) -> list[Message]:
    """Return a conversation with another message in one place."""
    messages = plain(length)
    return [*messages[:index], message, *messages[index + 1 :]]


NOW = say("user", "Noon.", kind="request")


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        (with_call(15), []),
        (with_call(16), [12]),
        (plain(199), []),
        (plain(200), [196]),
        (plain(201), [197]),
        (with_one(199, NOW), [195]),
        (with_one(150, NOW), [146]),
        (with_one(100, NOW), [96]),
        (with_one(99, NOW), [196]),
        (with_one(199, say("user", "Left.", kind="event")), [196]),
        ([*with_one(150, NOW)[:199], NOW], [195]),
    ],
)
def test_where_a_passage_ends(messages: Any, expected: list[int]) -> None:
    """A passage leaves out the last four messages, and what stands behind request-only content.

    Plain text alone is written as fast as it is remembered: such a conversation has to be long.
    """
    assert expected == ends(messages)


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ((200, 207), [196]),
        ((200, 208), [196, 204]),
        ((200, 208, 215), [196, 204]),
        ((200, 208, 216), [204, 212]),
        ((200, 300, 400, 500), [396, 496]),
        ((200, 300, 250), [296, 196, 246]),
        ((400, 200), [396, 196]),
    ],
)
def test_when_there_is_another_passage(lengths: Any, expected: list[int]) -> None:
    """When it is 8 messages longer a conversation has another passage, and keeps these two.

    One that goes on from the first of them in another way has one more.
    """
    messages = plain(600)
    assert expected == ends(*(messages[:length] for length in lengths))


def made_for_request(message: Message) -> Message:
    """Return a message as it is made for one request."""
    origins: Any = (("user", 0, None, NO_DETAILS, ()),)
    return Message(message.role, message.content, kind=message.kind, origins=origins)


@pytest.mark.parametrize(
    ("made_for_it", "expected"),
    [
        (range(196, 197), [195]),
        (range(190, 200), [189]),
        (range(182, 200), [181]),
        (range(181, 200), []),
        (range(200), []),
    ],
)
def test_a_message_of_the_conversation(made_for_it: range, expected: list[int]) -> None:
    """A passage hangs on a message that belongs to a conversation, and there is none without."""
    messages = [
        made_for_request(message) if n in made_for_it else message
        for n, message in enumerate(plain(200))
    ]
    assert expected == ends(messages)


@pytest.mark.parametrize(
    ("again", "expected"),
    [
        ((196,), [195]),
        ((196, 195, 194), [193]),
        ((196, 195, 194, 193), []),
        ((197, 195), [196]),
    ],
)
def test_a_message_that_stands_elsewhere(again: Any, expected: list[int]) -> None:
    """A passage hangs on no message that stands in it too: of four one has to be another."""
    messages, repeated = plain(200), say("user", "Go on.")
    messages = [
        repeated if n == 10 or n in again else message for n, message in enumerate(messages)
    ]
    assert expected == ends(messages)


def test_what_goes_with_a_conversation() -> None:
    """A passage goes with the message that it hangs on, and no other does."""
    memory, conversations = Memory(min_messages=0, long=0, newest=1, growth=1), [plain(9), plain(9)]
    for messages in conversations:
        Written(Prompt(tuple(messages)), CLAUDE, memory)
    write_count = len(memory.write_caches)
    del messages
    (dropped, other) = conversations
    anchor, first = other[8], other[0]
    conversations.clear()
    del dropped, other
    gc.collect()
    remaining = [
        (passage.anchor(), passage.messages[0]) for passage in memory.write_caches.values()
    ]
    assert (2, [(anchor, first)]) == (write_count, remaining)


class Letters:
    """Counts letters."""

    def of(self, text: str) -> int:
        """Return how many letters a text has."""
        return len(text)


def test_what_was_counted_goes_along() -> None:
    """A longer passage knows what each of two counters counted of the one it goes on from."""
    memory, messages, (counter_a, second) = Memory(), plain(300), (Letters(), Letters())
    first = Written(Prompt(tuple(messages[:240])), CLAUDE, memory)
    first.tally(counter_a)
    first.tally(second)
    Written(Prompt(tuple(messages)), CLAUDE, memory).tally(counter_a)
    counted = [passage.counted for passage in memory.write_caches.values()]
    assert [[second, counter_a], [counter_a, second]] == [
        [counter for counter, _ in row] for row in counted
    ]


def test_only_near_what_is_known() -> None:
    """A passage is longer than the one it goes on from."""
    messages = plain(100)
    for_request = [
        made_for_request(message) if n > 20 else message for n, message in enumerate(messages)
    ]
    assert [20] == ends(messages[:21], for_request[:24], min_messages=0, long=0, newest=1, growth=1)
    assert [20, 23] == ends(
        messages[:21], messages[:24], min_messages=0, long=0, newest=1, growth=1
    )


# What a passage holds for.

IMAGE = ImageBlock(media("base64", PNG, "image/png"), title="A dot", detail="low")
RESULT = ToolResultBlock("c", (TextBlock("x"),), name="t")
CALL = ToolUseBlock("c", "t", "{}")
ASKED = say("assistant", CALL)
Beginning = tuple[Message, ...]


def beginnings(first: Any, *further: Any, role: Any = "user") -> list[tuple[Beginning, Beginning]]:
    """Return a beginning with one block, and others with another block in its place."""
    return [
        tuple(
            (ASKED, say(role, block)) if role == "tool" else (say(role, block),) for block in pair
        )  # type: ignore[misc]
        for pair in ((first, other) for other in further)
    ]


DIFFERENT: list[tuple[Beginning, Beginning]] = [
    ((say("user", "a"),), (say("assistant", "a"),)),
    ((say("system", "a"),), (say("developer", "a"),)),
    ((say("developer", "a"),), (say("developer", "a", kind="event"),)),
    ((say("user", "a"),), (say("user", "b"),)),
    ((say("user", "a"),), (say("user", "a", name="n"),)),
    ((say("user", "a", name="n"),), (say("user", "a", name="m"),)),
    ((say("user", "a"),), (say("user", marked("a")),)),
    ((say("user", marked("a")),), (say("user", "a"),)),
    ((say("user", marked("a"), "b"),), (say("user", marked("a")),)),
    ((say("user", marked("a")),), (say("user", marked("a"), "b"),)),
    ((say("user", "a"), say("user", "b")), (say("user", "a", "b"),)),
    *beginnings(marked("a"), marked("b"), marked("a", "1h"), IMAGE, RESULT),
    *beginnings(RESULT, marked("a"), IMAGE),
    *beginnings(
        IMAGE,
        attrs.evolve(IMAGE, title="B"),
        attrs.evolve(IMAGE, detail="high"),
        attrs.evolve(IMAGE, cache="default"),
        attrs.evolve(IMAGE, source=media("url", "https://example.org/a.png")),
        DocumentBlock(IMAGE.source, title="A dot", detail="low"),
    ),
    *beginnings(
        CALL,
        attrs.evolve(CALL, id="d"),
        attrs.evolve(CALL, name="u"),
        attrs.evolve(CALL, arguments='{"a": 1}'),
        attrs.evolve(CALL, cache="5m"),
        marked("a"),
        role="assistant",
    ),
    *beginnings(
        RESULT,
        attrs.evolve(RESULT, tool_use_id="d"),
        attrs.evolve(RESULT, name="u"),
        attrs.evolve(RESULT, is_error=True),
        attrs.evolve(RESULT, cache="5m"),
        attrs.evolve(RESULT, content=()),
        attrs.evolve(RESULT, content=(TextBlock("y"),)),
        attrs.evolve(RESULT, content=(TextBlock("x"), TextBlock("y"))),
        attrs.evolve(RESULT, content=(marked("x"),)),
        attrs.evolve(RESULT, content=(IMAGE,)),
        role="tool",
    ),
    ((say("tool", RESULT),), (say("tool", attrs.evolve(RESULT, name="u")),)),
    *beginnings(
        ToolResultBlock("c", (), is_error=True, error_type="interrupted"),
        ToolResultBlock("c", (), is_error=True, error_type="timeout"),
        role="tool",
    ),
    *beginnings(
        ReasoningBlock("Hm.", "c2ln", origin="anthropic"),
        ReasoningBlock("Hm.", "b3Ro", origin="anthropic"),
        ReasoningBlock("Hm.", "c2ln", origin="gemini"),
        role="assistant",
    ),
    *beginnings(
        TextBlock("a", extra={"k": 1}), TextBlock("a", extra={"k": True}), TextBlock("a", extra={})
    ),
]


def eager() -> Memory:
    """Return a memory that keeps whatever it can."""
    return Memory(min_messages=0, long=0, newest=1, growth=1)


def came_to(prompt: Prompt, target: str, memory: Memory | None) -> Any:
    """Return payload and losses of a prompt, these with the identity of what they are of."""
    if memory is None:
        facts = FACTS[target]
        payload, losses = TARGETS[str(facts.provider)].write(prompt, facts)
    else:
        written_payload = Written(prompt, FACTS[target], memory)
        payload, losses = written_payload.payload(), written_payload.losses
    return payload, [(loss, id(loss.message)) for loss in losses]


def differing(target: str, steps: list[tuple[Prompt, Prompt]]) -> list[int]:
    """Return which pairs come to something else with a memory than without one."""
    return [
        number
        for number, pair in enumerate(steps)
        for memory in [eager()]
        if [came_to(prompt, target, None) for prompt in pair]
        != [came_to(prompt, target, memory) for prompt in pair]
    ]


@every_dialect
def test_another_beginning(target: str) -> None:
    """A conversation that begins in another way is not taken for the one that is known."""
    rest = tuple(plain(8))
    assert [] == differing(
        target,
        [
            (Prompt((*first, *rest)), Prompt((*second, *rest, say("user", "New."))))
            for one, other in DIFFERENT
            for first, second in ((one, other), (other, one))
        ],
    )


@every_dialect
def test_an_equal_beginning(target: str) -> None:
    """What an equal message loses is of the one that stands there now, and all else is the same."""
    rest = tuple(plain(8))
    beginnings_of_pairs = [one for pair in DIFFERENT for one in pair]
    again = [tuple(message.replace() for message in one) for one in beginnings_of_pairs]
    assert [] == differing(
        target,
        [
            (Prompt((*one, *rest)), Prompt((*other, *rest, say("user", "New."))))
            for one, other in zip(beginnings_of_pairs, again, strict=True)
        ],
    )


THOUGHT = say("assistant", ReasoningBlock("Hm.", "c2ln", origin="anthropic"), "a")


@every_dialect
def test_another_request(target: str) -> None:
    """What stands around a conversation changes what it is written as."""
    messages = (say("user", "u"), THOUGHT, say("assistant", call("c.1", "t.1")), answer("c.1", "x"))
    rest = tuple(plain(8))
    both = (*messages, *rest)
    tools = (ToolDefinition("t_1", input_schema={"type": "object"}),)
    developer = (say("developer", "d"), *both)
    assert [] == differing(
        target,
        [
            (Prompt(both), Prompt((*both, say("user", "New.")), tools)),
            (Prompt(both, tools), Prompt((*both, say("user", "New.")))),
            (Prompt(both), Prompt((*both, say("user", "New.")), untrimmed_from=99)),
            (Prompt(both, untrimmed_from=99), Prompt((*both, say("user", "New.")))),
            (Prompt(both), Prompt((*both, say("user", "New."), NOW))),
            (Prompt((*both, NOW)), Prompt((*both, say("user", "New.")))),
            (Prompt(developer), Prompt((*developer, say("user", "New.")))),
            (Prompt(both), Prompt(messages)),
            (Prompt(both), Prompt(both[:-1])),
            (Prompt(both), Prompt(both)),
        ],
    )


def test_another_model() -> None:
    """A conversation that is known as one model gets it is written anew for another."""
    prompt, memory = Prompt((*plain(9), say("developer", "d"), *plain(9))), eager()
    assert [came_to(prompt, target, None) for target in (*FACTS, *FACTS)] == [
        came_to(prompt, target, memory) for target in (*FACTS, *FACTS)
    ]


# What it says, literally and by the front door.


LONG = tuple(plain(240))
STEPS: list[tuple[list[Message], list[tuple[str, ...]]]] = [
    ([say("user", "u")], [("assistant", "239"), ("user", "u")]),
    ([say("user", "u"), say("user", "v")], [("assistant", "239"), ("user", "u", "v")]),
    ([say("assistant", "a")], [("user", "238"), ("assistant", "239", "a")]),
    (
        [say("user", "u"), say("assistant", call("c", "t"))],
        [("user", "238"), ("assistant", "239"), ("user", "u")],
    ),
    (
        [say("user", "u"), say("assistant", call("c", "t")), answer("c", "x")],
        [("user", "u"), ("assistant", "c"), ("user", "c")],
    ),
    (
        [say("user", "u"), say("assistant", call("c", "t")), answer("c", "x"), say("user", "v")],
        [("assistant", "c"), ("user", "c", "v")],
    ),
    ([], [("user", "238"), ("assistant", "239")]),
    ([say("developer", "d")], [("assistant", "239"), ("user", "<developer>\nd\n</developer>")]),
    ([say("user", marked("m"))], [("assistant", "239"), ("user", "m*")]),
    ([say("user", "n")], [("assistant", "239"), ("user", "n")]),
]


def tail(payload: Any, count: int) -> list[tuple[str, ...]]:
    """Return the last turns: roles, texts, and ids of calls and results; a mark is a star."""
    return [
        (turn["role"], *(_words(block) for block in turn["content"]))
        for turn in payload["messages"][-count:]
    ]


def _words(block: Any) -> str:
    words = block.get("text") or block.get("id") or block.get("tool_use_id")
    return f"{words}*" if "cache_control" in block else str(words)


def test_growing() -> None:
    """However a conversation goes on, the last turns are those of its last messages."""
    trees = [
        Timeline(System(Section("rules", "Be kind.")), History([*LONG, *further]))
        for further, _ in STEPS
    ]
    assert [expected for _, expected in STEPS] == [
        tail(
            render(tree, model="claude-opus-5", transformation={"tool_pairing": "prune"}).payload(),
            len(expected),
        )
        for tree, (_, expected) in zip(trees, STEPS, strict=True)
    ]


def test_whose_loss_it_is() -> None:
    """What a message made anew loses names the line that made it now."""
    lost = [
        hint
        for _ in range(3)
        for hint in render(
            Timeline(User("Hi.", name="ada"), History(LONG), User("Go on.")), model="claude-opus-5"
        ).hints
    ]
    assert [("hint", "name of a speaker", "the target takes no speaker's name")] * 3 == [
        (loss.kind, loss.what, loss.why) for loss in lost
    ]
    assert 3 == len({id(loss.message) for loss in lost})


def test_a_payload_is_its_own() -> None:
    """Whatever is done to a payload, at any depth, the next one is as it was."""
    deep = "[" * 600 + "]" * 600
    turns = (
        say("user", "u", IMAGE),
        say("assistant", call("c", "t", '{"a": [[{"b": [1, {"c": [2]}]}]], "d": {"e": [{}]}}')),
        say("tool", ToolResultBlock("c", (TextBlock("x"), IMAGE))),
    )
    nested = (say("assistant", call("d", "t", f'{{"a": {deep}}}')), answer("d", "x"))
    for messages in ((*turns, *LONG), (*turns, *LONG, say("user", "u"), *nested)):
        for target, facts in FACTS.items():
            memory = Memory()
            first = Written(Prompt(messages), facts, memory)
            expected = came_to(Prompt(messages), target, None)[0]
            ruin(first.payload())
            assert expected == first.payload()
            ruin(Written(Prompt((*messages, say("user", "New."))), facts, memory).payload())
            assert expected == Written(Prompt(messages), facts, memory).payload()


def ruin(payload: Any) -> None:
    """Empty every list and every dictionary of a payload."""
    waiting = [payload]
    while waiting:
        held = waiting.pop()
        if isinstance(held, dict | list):
            waiting += held.values() if isinstance(held, dict) else held
            held.clear()
