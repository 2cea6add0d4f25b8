"""Hints about a conversation: a question that is lost, a message that comes twice or is empty."""

from collections.abc import Callable
from typing import Any

import pytest

from promptdsl import *
from tests.errors import this_line
from tests.good_prompts import CAREFUL
from tests.renders import reported

RULES = System("Be kind.")
ASKED = User("Any books?")
ANSWERED = Assistant("Yes.")
NONE, EMPTY = User(None), User("")
NO_LINE = this_line() - 1
Q, A = Message("user", "Any books?"), Message("assistant", "Yes.")
OPENED = Event(UserAction("opened", target="shop"))
GPT, CLAUDE, OLD_CLAUDE, GEMINI = "gpt-5", "claude-opus-5-5", "claude-sonnet-4-5", "gemini-2.5-pro"


def named(tree: Any, **request: Any) -> list[tuple[str, int]]:
    """Return the names of the hints on a conversation, each with its count."""
    losses = reported(render(tree, **request))
    return [(loss.name, loss.count) for loss in losses if loss.name in CAREFUL]


@pytest.mark.parametrize(
    "target",
    [
        *({"model": name} for name in (GPT, CLAUDE, OLD_CLAUDE, GEMINI, "o3-pro")),
        {"provider": "openai_compatible"},
        {"provider": "chat_template"},
        {"provider": "bedrock"},
    ],
    ids=str,
)
@pytest.mark.parametrize(
    ("turns", "name"),
    [
        ((), "empty_conversation"),
        ((NONE,), "empty_conversation"),
        ((EMPTY,), "empty_conversation"),
        ((User(Text("")),), "empty_conversation"),
        ((Grounding("kb", "x"),), "empty_conversation"),
        ((Grounding("kb", "x"), NONE), "empty_conversation"),
        ((OPENED, NONE), "empty_conversation"),
        ((ASKED, ANSWERED, NONE), "ended_conversation"),
        ((ASKED, ANSWERED, EMPTY), "ended_conversation"),
        ((History([Q, A]), OPENED, Grounding("kb", "x"), NONE), "ended_conversation"),
    ],
)
def test_a_lost_question(turns: tuple[Node, ...], name: str, target: dict[str, str]) -> None:
    """A request without a question is told on every target."""
    assert [(name, 1)] == named(Timeline(RULES, *turns), **target)


@pytest.mark.parametrize(
    "turns",
    [
        (ASKED,),
        (OPENED,),
        (ASKED, ANSWERED, OPENED),
        (ASKED, ANSWERED, Developer("Go on.")),
        (ASKED, ANSWERED, Ephemeral("Go on.")),
        (NONE, ASKED),
        (ASKED, NONE),
        (History([Q]), NONE),
        (History([Q, A.replace(finish_reason="paused")]),),
        (History([Q, A.replace(finish_reason="paused")]), NONE),
        (History([Q, A, A.replace(finish_reason="paused")]),),
        (ASKED, Assistant(ToolUse("look", {}, id="c"))),
        (ASKED, Assistant("I look.", ToolUse("look", {}, id="c")), OPENED),
    ],
)
@pytest.mark.parametrize("model", [GPT, CLAUDE, GEMINI])
def test_a_question(turns: tuple[Node, ...], model: str) -> None:
    """A request that the model can answer has no hint, nor one that waits for its tools."""
    assert [] == named(Timeline(RULES, *turns), model=model)


def test_a_prompt_for_people() -> None:
    """What people are shown is no request, so it may be without a question."""
    prompt = Timeline(RULES, User("Any books?", audience="model"))
    assert [] == named(prompt, model=GPT, audience="people")


@pytest.mark.parametrize(
    ("model", "hints"),
    [(GPT, [("ended_conversation", 1)]), (CLAUDE, [("ended_conversation", 1)]), (GEMINI, [])],
)
def test_an_answer_to_continue(model: str, hints: list[tuple[str, int]]) -> None:
    """An answer at the end is told where the model does not continue it."""
    assert hints == named(Timeline(ASKED, ANSWERED), model=model)


@pytest.mark.parametrize(
    ("tree", "request_"),
    [
        (Timeline(RULES), {}),
        (Timeline(ASKED, ANSWERED), {}),
        (RULES, {"model": GPT}),
        (Section("rules", "Be kind."), {"model": GPT}),
        (
            read_payload({"messages": [{"role": "system", "content": "x"}]}, "openai"),
            {"model": GPT},
        ),
        (Timeline(RULES), {"model": GPT, "hints": False}),
        (
            Timeline(RULES),
            {"model": GPT, "transformation": {"silent_hints": ["empty_conversation"]}},
        ),
    ],
)
def test_no_prompt_to_send(tree: Any, request_: dict[str, Any]) -> None:
    """Nothing is told without a target, of a part or a prompt that was read, or if it is silent."""
    assert [] == named(tree, **request_)


def test_the_line_of_a_lost_question() -> None:
    """The hint has the line of the empty ``User``, or else of the last answer."""
    empty, answered = Timeline(RULES, ASKED, ANSWERED, NONE), Timeline(RULES, ASKED, ANSWERED)
    lines = [
        str(*(hint.source for hint in render(it, model=GPT).hints)) for it in (empty, answered)
    ]
    assert [f"{__file__}:{NO_LINE}", f"{__file__}:{NO_LINE - 1}"] == lines


def fed_back(rules: Node) -> Timeline:
    """Return a prompt whose history is the payload of another one."""
    payload = render(Timeline(rules, User("One")), model=GPT).to_openai()
    return Timeline(History.from_openai(payload["messages"]), rules, User("Two"))


def called(exclude: tuple[str, ...]) -> Timeline:
    """Return a prompt with a call, a pin that is there, and another tool."""
    call = {"type": "tool_use", "id": "c", "name": "look", "input": {}}
    told = {"type": "tool_result", "tool_use_id": "c", "content": "Done."}
    said = [Q, Message("assistant", [call], id="a"), Message("tool", [told])]
    how = ClearResults(at_least=9, exclude=exclude)
    tool = Tool(name="my.tool", description="Does it.", input_schema={"type": "object"})
    return Timeline(tool, History(said, pin="a", clear_results=how), User("And?"))


TITLED = System(Section("tone", "Say you.", title="Tone"), "Be kind.")


@pytest.mark.parametrize(
    ("write", "hints"),
    [
        (lambda: Timeline(History([Q]), ASKED), [("repeated_message", 1)]),
        (
            lambda: Timeline(History([Q]), OPENED, Grounding("kb", "x"), ASKED),
            [("repeated_message", 1)],
        ),
        (lambda: Timeline(History([A, Q]), User(Value("Any books?"))), [("repeated_message", 1)]),
        (lambda: Timeline(History([Q] * 4)), [("repeated_message", 3)]),
        (lambda: Timeline(History([Q, A] * 2), User("Two")), [("repeated_message", 1)]),
        (
            lambda: Timeline(History([{"role": "user", "content": "x"}] * 2)),
            [("repeated_message", 1)],
        ),
        (
            lambda: Timeline(History([Message("user", text, id="1") for text in "ab"])),
            [("repeated_message", 1)],
        ),
        (lambda: fed_back(RULES), [("repeated_system", 1)]),
        (lambda: fed_back(TITLED), [("repeated_system", 1)]),
        (
            lambda: Timeline(History([Q, {"role": "assistant", "content": ""}]), User("Two")),
            [("empty_message", 1)],
        ),
        (
            lambda: Timeline(History([Message("user", ()), Message("user", ""), Q])),
            [("empty_message", 2)],
        ),
        (lambda: Timeline(History([Q], pin="plan")), [("unknown_name", 1)]),
        (lambda: called(exclude=("memory", "look", "my_tool")), [("unknown_name", 1)]),
    ],
)
def test_doubles(write: Callable[[], Timeline], hints: list[tuple[str, int]]) -> None:
    """What comes twice, or is empty in a recording, is told, with a target and without."""
    assert [hints] * 2 == [named(write()), named(write(), model=GPT)]


@pytest.mark.parametrize(
    "turns",
    [
        (History([Q, A]), ASKED),
        (History([Q, Message("assistant", (), finish_reason="interrupted")]), User("Go on.")),
        (History([Q]), ANSWERED, ASKED),
        (History([Q]), User("Any books? Please.")),
        (History([Q, A, Message("user", "More?"), A]), ASKED),
        (History([Message("system", "Be brief."), Q]), RULES),
        (History([Message("system", "Be kind."), Q]),),
        (
            History(
                [Message("assistant", [{"type": "tool_use", "id": "c", "name": "f", "input": {}}])]
            ),
        ),
        (ASKED, User("Any books?")),
    ],
)
def test_no_doubles(turns: tuple[Node, ...]) -> None:
    """An answer that comes again, or a question after an answer, is no double."""
    assert [] == named(Timeline(*turns))


def test_a_silent_hint_is_one_of_the_names() -> None:
    """Only the named hints are left out."""
    tree = Timeline(History([Q, Q]), RULES, ANSWERED)
    silent = {"silent_hints": ["repeated_message"]}
    assert [("ended_conversation", 1)] == named(tree, model=GPT, transformation=silent)
