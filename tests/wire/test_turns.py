"""A conversation on a wire of two sides: who speaks when, and where instructions and results go."""

from collections.abc import Mapping
from typing import Any

import pytest

from promptdsl import Message, Prompt, TextBlock, ToolResultBlock, ToolUseBlock
from tests.providers.conversations import LOOK_UP, answer, call, marked, say
from tests.wire.sent import lost, sent, written

NATIVE, OLDER, PICKY = "claude-opus-5-5", "claude-opus-4-5", "claude-haiku-5-5"
"""One takes instructions among messages, one takes none, one takes none behind a result."""
GEMINI, NOVA = "gemini", "amazon.nova-lite-v1:0"
ALL = (NATIVE, OLDER, GEMINI, NOVA)

U, V, W = (say("user", text) for text in "uvw")
A, S, D = say("assistant", "a"), say("system", "s"), say("developer", "d")
EVENT, REQUEST = say("developer", "e", kind="event"), say("developer", "r", kind="request")
EMPTY, BLANK, SILENT = say("user", ""), say("user", " "), say("assistant")
CALL, CALLS, ANSWER = (
    say("assistant", call("c")),
    say("assistant", call("b"), call("c")),
    answer("c", "o"),
)
THREE = say("assistant", call("b"), call("c"), call("d"))
FENCED = "<developer>\nd\n</developer>"


def turns(target: str, *messages: Message) -> list[tuple[str, ...]]:
    """Return every turn: its role, texts, and the ids of calls and results."""
    payload = sent(target, *messages, tools=(LOOK_UP,))
    return [
        (turn["role"], *map(_words, turn.get("content") or turn["parts"]))
        for turn in payload.get("messages") or payload.get("contents") or []
    ]


def _words(param: Mapping[str, Any]) -> str:
    if "text" in param:
        return str(param["text"])
    held = next((value for value in param.values() if isinstance(value, dict)), {})
    kind = param.get("type") or next(iter(param))
    mark = "=" if "result" in kind.lower() or "response" in kind else "?"
    ids = (
        *(param.get(key) for key in ("id", "tool_use_id")),
        held.get("id"),
        held.get("toolUseId"),
    )
    return mark + next((id for id in ids if id), kind)


# Results, and what stands beside them.


@pytest.mark.parametrize("target", [NATIVE, OLDER, NOVA])
@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ((U, V, A, U), [("user", "u", "v"), ("assistant", "a"), ("user", "u")]),
        (
            (U, CALLS, ANSWER, V, answer("b", "p"), W, A, U),
            [
                ("user", "u"),
                ("assistant", "?b", "?c"),
                ("user", "=c", "=b", "v", "w"),
                ("assistant", "a"),
                ("user", "u"),
            ],
        ),
        (
            (U, THREE, answer("d"), ANSWER, V, answer("b", "p"), W),
            [("user", "u"), ("assistant", "?b", "?c", "?d"), ("user", "=d", "=c", "=b", "v", "w")],
        ),
        (
            (U, CALL, A, ANSWER, V),
            [("user", "u"), ("assistant", "?c", "a"), ("user", "=c", "v")],
        ),
        ((U, CALL, EMPTY, SILENT, ANSWER), [("user", "u"), ("assistant", "?c"), ("user", "=c")]),
        ((A, U), [("user", "."), ("assistant", "a"), ("user", "u")]),
    ],
)
def test_results_begin_a_turn(target: str, messages: Any, expected: object) -> None:
    """Neighbours of a side are one turn, and results stand at its head as they came."""
    assert expected == turns(target, *messages)


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        (
            (U, CALLS, V, ANSWER, W, answer("b", "p"), A, U),
            [
                ("user", "u"),
                ("model", "?b", "?c"),
                ("user", "=b", "=c"),
                ("user", "v", "w"),
                ("model", "a"),
                ("user", "u"),
            ],
        ),
        (
            (U, CALLS, ANSWER, answer("b", "p"), V),
            [("user", "u"), ("model", "?b", "?c"), ("user", "=b", "=c"), ("user", "v")],
        ),
        ((U, CALL, V, ANSWER), [("user", "u"), ("model", "?c"), ("user", "=c"), ("user", "v")]),
        ((U, ANSWER), [("user", "=c"), ("user", "u")]),
        (
            (U, A, W, CALLS, ANSWER, V, answer("b", "p")),
            [
                ("user", "u"),
                ("model", "a"),
                ("user", "w"),
                ("model", "?b", "?c"),
                ("user", "=b", "=c"),
                ("user", "v"),
            ],
        ),
        ((A, U), [("user", "."), ("model", "a"), ("user", "u")]),
        ((S, CALL, ANSWER), [("user", "."), ("model", "?c"), ("user", "=c")]),
    ],
)
def test_results_are_a_turn(messages: Any, expected: object) -> None:
    """At Gemini results are a turn before what a user said since, and a user speaks first."""
    assert expected == turns(GEMINI, *messages)


@pytest.mark.parametrize("target", ALL)
def test_nobody_speaks(target: str) -> None:
    """System text alone is no turn, and nothing of it is lost."""
    assert ([], []) == (lost(target, S), turns(target, S))


# Ids.


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        (
            (
                say("assistant", call("c"), call("c"), call("c.")),
                answer("c", "1"),
                answer("c", "2"),
                answer("c.", "3"),
                say("assistant", call("c"), call("c_")),
                answer("c", "4"),
                answer("c_", "5"),
            ),
            [
                ("assistant", "?c", "?c_2", "?c_"),
                ("user", "=c", "=c_2", "=c_"),
                ("assistant", "?c_3", "?c__2"),
                ("user", "=c_3", "=c__2"),
            ],
        ),
        (
            (CALL, V, CALL, ANSWER),
            [("assistant", "?c"), ("user", "v"), ("assistant", "?c_2"), ("user", "=c_2")],
        ),
        (
            (say("assistant", call("c"), call("c")), V, CALL, ANSWER, answer("c", "p")),
            [
                ("assistant", "?c", "?c_2"),
                ("user", "v"),
                ("assistant", "?c_3"),
                ("user", "=c_3", "=c"),
            ],
        ),
        (
            (CALL, V, say("assistant"), CALL, ANSWER),
            [("assistant", "?c"), ("user", "v"), ("assistant", "?c_2"), ("user", "=c_2")],
        ),
        (
            (say("assistant", call("c"), call("c")), ANSWER, V, say("assistant", ""), ANSWER),
            [("assistant", "?c", "?c_2"), ("user", "=c", "=c_2", "v")],
        ),
        (
            (say("assistant", call("c"), call("c")), say("assistant", "a"), ANSWER, ANSWER),
            [("assistant", "?c", "?c_2", "a"), ("user", "=c", "=c_2")],
        ),
        (
            (say("assistant", call("c"), call("c")), V, A, ANSWER, ANSWER),
            [("assistant", "?c", "?c_2"), ("user", "v"), ("assistant", "a"), ("user", "=c", "=c")],
        ),
        (
            (say("assistant", call("c_2"), call("c"), call("c")), ANSWER, ANSWER),
            [("assistant", "?c_2", "?c", "?c_3"), ("user", "=c", "=c_3")],
        ),
        (
            (
                say("assistant", call("c!"), call("c?"), call("_"), call("c"), call("é")),
                answer("c?"),
            ),
            [("assistant", "?c_", "?c__2", "?_", "?c", "?__2"), ("user", "=c__2")],
        ),
        (
            (say("assistant", call("x" * 64), call("x" * 65), call("x" * 66)), answer("x" * 65)),
            [
                ("assistant", f"?{'x' * 64}", f"?{'x' * 62}_2", f"?{'x' * 62}_3"),
                ("user", f"={'x' * 62}_2"),
            ],
        ),
    ],
)
def test_ids(messages: Any, expected: object) -> None:
    """A result has the id of the first call of its turn that has its id and no result yet."""
    assert [("user", "u"), *expected] == turns(NATIVE, U, *messages)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("target", "ids"),
    [
        ("openai", ["c", "c", "c_2", "c"]),
        ("openai_compatible", ["c", "c", "c_2", "c"]),
        ("openai_responses", ["c", "c_2", "c_2_2", "c_3"]),
    ],
)
def test_an_id_that_comes_back(target: str, ids: list[str]) -> None:
    """Chat pairs by turn, so an id is kept; Responses by the id alone, so later uses get others."""
    rounds = [(say("assistant", call(id)), answer(id, id)) for id in ("c", "c", "c_2", "c")]
    entries = next(
        iter(sent(target, U, *(message for pair in rounds for message in pair)).values())
    )
    calls = [param for entry in entries for param in entry.get("tool_calls", [entry])]
    param = [one.get("call_id") or one.get("tool_call_id") or one.get("id") for one in calls[1:]]
    assert [id for id in ids for _ in range(2)] == param


def test_ids_with_other_letters() -> None:
    """Where an id may hold points and colons it keeps them."""
    calls = say("assistant", call("c.1:a"), call("c.1/a"))
    assert [("user", "u"), ("assistant", "?c.1:a", "?c.1_a"), ("user", "=c.1_a")] == turns(
        NOVA, U, calls, answer("c.1/a")
    )


def test_the_name_in_a_result() -> None:
    """At Gemini a result has the name its call was sent with, whatever it says itself."""
    calls = say("assistant", call("c", "t"), call("c", "u u"), call("d", "v"))
    results = (answer("c"), answer("c"), say("tool", ToolResultBlock("d", (), name="w")))
    lonely = say("tool", ToolResultBlock("e", (), name="x x"))
    payload = sent(GEMINI, U, calls, *results, lonely, answer("f"))
    sent_as = [part["function_response"] for part in payload["contents"][2]["parts"]]
    assert {"c": "t", "c_2": "u_u", "d": "v", "e": "x_x", "f": "_"} == {
        part["id"]: part["name"] for part in sent_as
    }


# Instructions.

ELSEWHERE = (
    "this model takes instructions only after a user message without open calls, and not before "
    "another one, so the text is sent in a user message"
)
NOT_HERE = "this model takes no instructions here, so the text is sent in a user message"


@pytest.mark.parametrize(
    ("messages", "native", "fenced"),
    [
        ((U, D), [("user", "u"), ("system", "d")], [("user", "u", FENCED)]),
        (
            (U, D, A, U),
            [("user", "u"), ("system", "d"), ("assistant", "a"), ("user", "u")],
            [("user", "u", FENCED), ("assistant", "a"), ("user", "u")],
        ),
        (
            (U, D, EVENT, D),
            [("user", "u"), ("system", "d", "e", "d")],
            [("user", "u", FENCED, "e", FENCED)],
        ),
        (
            (U, D, EMPTY, SILENT, A, U),
            [("user", "u"), ("system", "d"), ("assistant", "a"), ("user", "u")],
            [("user", "u", FENCED), ("assistant", "a"), ("user", "u")],
        ),
        (
            (U, say("developer"), D, say("developer", ""), A, U),
            [("user", "u"), ("system", "d"), ("assistant", "a"), ("user", "u")],
            [("user", "u", FENCED), ("assistant", "a"), ("user", "u")],
        ),
        (
            (U, CALL, ANSWER, D, A, U),
            [
                ("user", "u"),
                ("assistant", "?c"),
                ("user", "=c"),
                ("system", "d"),
                ("assistant", "a"),
                ("user", "u"),
            ],
            [
                ("user", "u"),
                ("assistant", "?c"),
                ("user", "=c", FENCED),
                ("assistant", "a"),
                ("user", "u"),
            ],
        ),
        (
            (U, CALL, ANSWER, V, D),
            [("user", "u"), ("assistant", "?c"), ("user", "=c", "v"), ("system", "d")],
            [("user", "u"), ("assistant", "?c"), ("user", "=c", "v", FENCED)],
        ),
        (
            (U, CALL, V, A, U, D),
            [
                ("user", "u"),
                ("assistant", "?c"),
                ("user", "v"),
                ("assistant", "a"),
                ("user", "u"),
                ("system", "d"),
            ],
            [
                ("user", "u"),
                ("assistant", "?c"),
                ("user", "v"),
                ("assistant", "a"),
                ("user", "u", FENCED),
            ],
        ),
        (
            (S, U, say("system", "t"), A, U),
            [("user", "u"), ("system", "t"), ("assistant", "a"), ("user", "u")],
            [
                ("user", "u", "<developer>\nt\n</developer>"),
                ("assistant", "a"),
                ("user", "u"),
            ],
        ),
    ],
)
def test_instructions_in_place(messages: Any, native: object, fenced: object) -> None:
    """Behind a user turn, before an answer or nothing, an instruction stands as itself."""
    assert (native, [], fenced) == (
        turns(NATIVE, *messages),
        lost(NATIVE, *messages, tools=(LOOK_UP,)),
        turns(OLDER, *messages),
    )


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ((U, D, V), [("user", "u", FENCED, "v")]),
        ((U, D, EMPTY, SILENT, V), [("user", "u", FENCED, "v")]),
        ((U, A, D, U), [("user", "u"), ("assistant", "a"), ("user", FENCED, "u")]),
        ((U, A, D), [("user", "u"), ("assistant", "a"), ("user", FENCED)]),
        (
            (U, CALL, D, ANSWER, A, U),
            [
                ("user", "u"),
                ("assistant", "?c"),
                ("user", "=c", FENCED),
                ("assistant", "a"),
                ("user", "u"),
            ],
        ),
        (
            (U, CALLS, ANSWER, D, A, U),
            [
                ("user", "u"),
                ("assistant", "?b", "?c"),
                ("user", "=c", FENCED),
                ("assistant", "a"),
                ("user", "u"),
            ],
        ),
        (
            (U, CALLS, ANSWER, V, D, answer("b", "p")),
            [("user", "u"), ("assistant", "?b", "?c"), ("user", "=c", "=b", "v", FENCED)],
        ),
    ],
)
def test_instructions_out_of_place(messages: Any, expected: object) -> None:
    """Anywhere else an instruction is text of the user turn, in its place, and so it is told."""
    whys = {NATIVE: ELSEWHERE, PICKY: ELSEWHERE, OLDER: NOT_HERE}
    assert [(expected, [("role", "developer message", why)]) for why in whys.values()] == [
        (turns(target, *messages), lost(target, *messages, tools=(LOOK_UP,))) for target in whys
    ]


@pytest.mark.parametrize(
    ("messages", "expected", "losses"),
    [
        (
            (U, CALL, ANSWER, D, A, U),
            [
                ("user", "u"),
                ("assistant", "?c"),
                ("user", "=c", FENCED),
                ("assistant", "a"),
                ("user", "u"),
            ],
            [("role", "developer message", ELSEWHERE)],
        ),
        (
            (U, CALL, ANSWER, V, D),
            [("user", "u"), ("assistant", "?c"), ("user", "=c", "v"), ("system", "d")],
            [],
        ),
    ],
)
def test_instructions_behind_results(messages: Any, expected: object, losses: object) -> None:
    """A model may refuse an instruction behind a result: then it is text of the user turn."""
    assert (expected, losses) == (
        turns(PICKY, *messages),
        lost(PICKY, *messages, tools=(LOOK_UP,)),
    )


@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("message", [EVENT, REQUEST])
def test_what_is_fenced_already(target: str, message: Message) -> None:
    """An event or request-only turn has a fence of its own: it is sent as it is, no hint."""
    assert ([("user", *said_of(message), "u")], []) == (
        turns(target, S, message, U),
        lost(target, S, message, U),
    )


def test_events_before_the_conversation() -> None:
    """No instruction stands as itself before the conversation, not even behind a user's event."""
    messages = (say("user", "x", kind="event"), EVENT, A, U)
    assert [("user", "x", "e"), ("assistant", "a"), ("user", "u")] == turns(NATIVE, *messages)
    assert [] == lost(NATIVE, *messages)


def said_of(message: Message) -> tuple[str, ...]:
    """Return the text of a message."""
    return (str(message._plain),)


@pytest.mark.parametrize("target", ALL)
def test_an_instruction_that_says_nothing(target: str) -> None:
    """An instruction without a text is neither sent nor told."""
    messages = (U, say("developer"), say("developer", ""), V)
    assert ([("user", "u", "v")], []) == (turns(target, *messages), lost(target, *messages))


@pytest.mark.parametrize("target", ALL)
def test_losses_of_an_instruction(target: str) -> None:
    """What is lost of an instruction is told before what is lost of the message after it."""
    named_messages = [say(role, "t", name=role) for role in ("developer", "user")]
    losses = [what for _, what, _ in lost(target, U, *named_messages)]
    assert [*["name of a speaker"] * 2, "developer message"] == losses


def test_the_end_of_a_fence() -> None:
    """No text of an instruction ends its own fence, however the end is written."""
    text = "x </developer> </ DEVELOPER\n> < / developer> </developers> <developer> </dev"
    marked = "x </developer> </ DEVELOPER\n> < / developer> _ <developer> </dev".replace(
        "<", "&lt;"
    )
    guarded = marked.replace("_", "</developers>")
    assert [("user", "u", f"<developer>\n{guarded}\n</developer>", "v")] == turns(
        OLDER, U, say("developer", text), V
    )


# System text.


@pytest.mark.parametrize(
    ("messages", "texts"),
    [
        ((S, D, U), ["s", "d"]),
        ((S, EVENT, D, U, D, A, U), ["s", "d"]),
        (
            (
                say("system", "s", kind="recorded"),
                say("developer", "d", kind="recorded_system"),
                say("system", "m", kind="mixed"),
                say("system", "t", kind="trailed"),
                say("user", "u", kind="recorded"),
                say("developer", "l", kind="recorded_system"),
                A,
                U,
            ),
            ["s", "d", "m", "t"],
        ),
        ((say("user", "e", kind="event"), S, REQUEST, D, U), ["s", "d"]),
        ((S, say("system", ""), D), ["s", "d"]),
        ((U, S, A, U), []),
        ((A, S, U), []),
    ],
)
def test_system_text(messages: Any, texts: list[str]) -> None:
    """Instructions before the conversation are system text; events do not begin one."""
    assert texts == [block["text"] for block in sent(NATIVE, *messages).get("system", [])]


# The end.


@pytest.mark.parametrize(
    ("content", "expected", "losses"),
    [
        (("a",), ["a"], []),
        (("a \n",), ["a"], ["trailing white space"]),
        (("a ", " b\t"), ["a ", " b"], ["trailing white space"]),
        ((marked("a "),), ["a"], ["trailing white space"]),
        ((" a", call("c")), [" a", "?c"], []),
    ],
)
def test_an_answer_to_be_continued(content: Any, expected: list[str], losses: list[str]) -> None:
    """What a model is to continue does not end in white space, which many refuse."""
    messages = (U, say("assistant", "x "), V, say("assistant", *content))
    assert [("user", "u"), ("assistant", "x "), ("user", "v"), ("assistant", *expected)] == turns(
        OLDER, *messages
    )
    why = "many models refuse it at the end of the last answer, so it is left out"
    assert [("hint", loss, why) for loss in losses] == lost(OLDER, *messages, tools=(LOOK_UP,))


def test_what_else_an_answer_says() -> None:
    """All that an answer says beside its text stays when white space goes."""
    cited = TextBlock("a ", extra={"citations": [{"type": "x"}]})
    assert [{"type": "text", "text": "a", "citations": [{"type": "x"}]}] == sent(
        OLDER, U, say("assistant", cited)
    )["messages"][-1]["content"]


@pytest.mark.parametrize("target", [NATIVE, GEMINI, NOVA])
def test_an_answer_that_cannot_be_continued(target: str) -> None:
    """An answer that a model refuses to continue is sent."""
    assert "a" == turns(target, U, say("assistant", "a"))[-1][1]


@pytest.mark.parametrize("target", [NATIVE, OLDER, NOVA])
def test_a_call_at_the_end(target: str) -> None:
    """A turn that ends in a call is not to be continued."""
    assert [] == lost(target, U, say("assistant", "a ", call("c")), tools=(LOOK_UP,))


@pytest.mark.parametrize("target", [NATIVE, OLDER])
def test_whose_hint_it_is(target: str) -> None:
    """What is told of a last answer is of that answer, and not of the messages behind it."""
    last = say("assistant", "b ")
    prompt = Prompt((U, A, EMPTY, last, say("user")))
    assert {id(last)} == {id(loss.message) for loss in written(target, prompt)[1]}


@pytest.mark.parametrize("text", ["a", "", " "])
def test_names(text: str) -> None:
    """The name of a speaker is lost, whatever he says."""
    assert ("hint", "name of a speaker", "the target takes no speaker's name") in lost(
        NATIVE, say("user", text, name="n"), U
    )


def test_a_call_without_a_turn() -> None:
    """What stands where it may not is a loss of its message, and no turn."""
    lonely = say("user", ToolUseBlock("c", "t", "{}"))
    assert [("user", "u")] == turns(NATIVE, lonely, U)
    assert [
        ("content", "tool_use block", "the target takes no such block in a user message")
    ] == lost(NATIVE, lonely, U)
