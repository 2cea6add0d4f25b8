"""Sessions of the OpenAI Agents SDK in transcripts, compared with a list and an SDK session."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from promptdsl.integrations.openai_agents import transcript_session
from tests.renders import named_losses, reported

Scenario: TypeAlias = Callable[[Any, Any, Any], Awaitable[object]]

ITEMS: list[Any] = [
    {"role": "user", "content": "Weather in Zürich and 東京? 🌦️ '; DROP TABLE items; --"},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
    {"type": "function_call", "id": "f_1", "call_id": "a", "name": "weather", "arguments": "{}"},
    {"type": "function_call", "id": "f_2", "call_id": "b", "name": "weather", "arguments": "{"},
    {"type": "function_call_output", "call_id": "a", "output": "Sun."},
    {
        "type": "function_call_output",
        "call_id": "b",
        "output": [{"type": "input_text", "text": ""}],
    },
    {"type": "web_search_call", "id": "ws_1", "status": "completed"},
    {
        "type": "message",
        "id": "m_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "Sun.", "annotations": [], "logprobs": []}],
    },
]
ODD: list[Any] = [
    {"type": "function_call_output", "call_id": "nobody's", "output": ""},
    {"x": None},
]
"""A result without its call, and what is no item: a wrapper of a session may add such."""

changes = st.lists(
    st.lists(st.sampled_from([*ITEMS, *ODD]), max_size=3)
    | st.sampled_from(["pop", "clear", "open"]),
    max_size=8,
)


async def opened(kind: str, folder: str) -> Transcript:
    """Return the transcript of a folder, of one kind; one in memory is new."""
    if kind == "file":
        return Transcript.open(Path(folder, "items.jsonl"))
    if kind == "store":
        return Transcript.open("ann", store=FolderStore(folder))
    if kind == "asynchronous":
        return await Transcript.aopen("ann", store=SqliteStore(Path(folder, "items.db")))
    return Transcript()


@pytest.mark.parametrize("kind", ["memory", "file", "store", "asynchronous"])
@given(changes=changes, limit=st.integers(0, 5))
def test_a_list_of_items(kind: str, changes: list[Any], limit: int) -> None:
    """Items are what was added, in order, also when the transcript is opened again."""

    async def run(folder: str) -> None:
        transcript, items = await opened(kind, folder), list[Any]()
        for change in changes:
            session = transcript_session(transcript)
            if change == "pop":
                assert (items.pop() if items else None) == await session.pop_item()
            elif change == "clear":
                items.clear()
                await session.clear_session()
            elif change == "open" and kind != "memory":
                transcript.close()
                transcript = await opened(kind, folder)
            elif change != "open":
                items += change
                await session.add_items(change)
            session = transcript_session(transcript)
            assert items == await session.get_items()
            assert items[max(len(items) - limit, 0) :] == await session.get_items(limit)
        transcript.close()

    with TemporaryDirectory() as folder:
        asyncio.run(run(folder))


def added(transcript: Transcript, *items: Any) -> Any:
    """Return a session of a transcript, after items were added."""
    session = transcript_session(transcript)
    asyncio.run(session.add_items([*items]))
    return session


def test_limits() -> None:
    """A limit gives so many of the latest items, none for 0, also against the settings."""
    session = added(Transcript(), *ITEMS)
    session.session_settings = SimpleNamespace(limit=2)
    limits = (None, 0, 1, len(ITEMS), len(ITEMS) + 1, -1)
    got = [asyncio.run(session.get_items(limit)) for limit in limits]
    assert [ITEMS[-2:], [], ITEMS[-1:], ITEMS, ITEMS, []] == got
    session.session_settings = SimpleNamespace(limit=0)
    assert [] == asyncio.run(session.get_items())


def test_pop_and_clear_beside_other_notes() -> None:
    """The latest item goes first; notes of others between and behind stay, and all messages."""
    transcript = Transcript()
    transcript.append(Message("user", "Hi"))
    session = added(transcript, *ITEMS[:2])
    transcript.note({"other": 1})
    added(transcript, *ITEMS[2:4])
    transcript.note({"other": 2})
    assert ITEMS[3] == asyncio.run(session.pop_item())
    assert ITEMS[2] == asyncio.run(session.pop_item())
    assert ITEMS[1] == asyncio.run(session.pop_item())
    assert ITEMS[:1] == asyncio.run(session.get_items())
    asyncio.run(session.clear_session())
    assert ([], None) == (asyncio.run(session.get_items()), asyncio.run(session.pop_item()))
    assert [None, {"other": 1}, {"other": 2}] == [turn.note for turn in transcript.turns]


def test_copies() -> None:
    """What is returned is a copy, of plain lists and dictionaries."""
    session = added(Transcript(), *ITEMS)
    for _ in range(2):
        (item,) = asyncio.run(session.get_items(1))
        assert ITEMS[-1] == item
        item["content"].append("more")


def test_the_limit_of_the_settings() -> None:
    """The settings of a session are its default, and a limit that is given counts."""
    session = added(Transcript(), *ITEMS)
    session.session_settings = SimpleNamespace(limit=2)
    found = [asyncio.run(session.get_items(limit)) for limit in (None, 3, -1)]
    assert [ITEMS[-2:], ITEMS[-3:], []] == found


def test_refused_whole() -> None:
    """A value that JSON lacks is named, and no item is added."""
    transcript = Transcript()
    with pytest.raises(DataError, match=r"'items\[1\].content' is not a JSON value: object"):
        added(transcript, ITEMS[0], {"role": "user", "content": object()})
    assert () == transcript.entries


def test_other_notes_and_messages_stay() -> None:
    """A session changes nothing else in its transcript, and removes no note of somebody else."""
    transcript = Transcript(["Hi."])
    transcript.note({"mood": "calm"})
    session = added(transcript, ITEMS[0])
    transcript.note("seen")
    assert ITEMS[0] == asyncio.run(session.pop_item())
    added(transcript, *ITEMS)
    asyncio.run(session.clear_session())
    assert [None, {"mood": "calm"}, "seen"] == [turn.note for turn in transcript.turns]
    assert [] == asyncio.run(session.get_items())


def test_as_messages() -> None:
    """Items are one conversation in a History; another provider has losses."""
    transcript = Transcript()
    session = added(transcript, *ITEMS)
    prompt = render(Timeline(History(session.messages)), provider="anthropic")
    sent = [
        (m["role"], [p["type"] for p in m["content"]]) for m in prompt.to_anthropic()["messages"]
    ]
    assert [
        ("user", ["text"]),
        ("assistant", ["tool_use", "tool_use"]),
        ("user", ["tool_result", "tool_result"]),
        ("assistant", ["text"]),
    ] == sent
    assert ("content", "web_search_call block") in named_losses(reported(prompt))
    assert () == transcript.messages


def test_no_messages() -> None:
    """What is no item, such as an encrypted one, is refused by its place."""
    session = added(Transcript(), ITEMS[0], {"__enc__": 1})
    with pytest.raises(DataError, match=r"input\[1\]: 'type' or 'role' is needed"):
        _ = session.messages


def test_erased(tmp_path: Path) -> None:
    """A vacuum leaves nothing of items that were removed."""
    session = added(Transcript(), *ITEMS)
    assert ITEMS[-1] == asyncio.run(session.pop_item())
    session.transcript.vacuum(tmp_path / "one.jsonl")
    asyncio.run(session.clear_session())
    session.transcript.vacuum(tmp_path / "none.jsonl")
    texts = [(tmp_path / f"{name}.jsonl").read_text("utf-8") for name in ("one", "none")]
    assert [(True, False), (False, False)] == [("Zürich" in t, "m_1" in t) for t in texts]


def test_faster(tmp_path: Path) -> None:
    """Of two writers the slower one gets the error, and goes on after it looked."""
    store = FolderStore(tmp_path)
    first, second = (Transcript.open("ann", store=store) for _ in range(2))
    added(first, ITEMS[0])
    with pytest.raises(ConflictError):
        added(second, ITEMS[0])
    second.refresh()
    assert [ITEMS[0], ITEMS[1]] == asyncio.run(added(second, ITEMS[1]).get_items())


def test_faster_asynchronously(tmp_path: Path) -> None:
    """Items of one call are written together or not at all."""

    async def run() -> None:
        store = FolderStore(tmp_path)
        first, second = [await Transcript.aopen("ann", store=store) for _ in range(2)]
        await transcript_session(first).add_items(ITEMS[:2])
        with pytest.raises(ConflictError):
            await transcript_session(second).add_items(ITEMS)
        await second.arefresh()
        assert ITEMS[:2] == await transcript_session(second).get_items()

    asyncio.run(run())


# With the SDK: everything is real but the model.

sdk = pytest.mark.sdk("agents")


@pytest.fixture
def agents() -> Any:
    """Return the SDK. Nothing is traced: traces are sent."""
    agents = import_module("agents")
    import_module("agents.testing")
    agents.set_tracing_disabled(True)
    return agents


def script(agents: Any, model: Any, *steps: Any) -> Any:
    """Return an agent, and let its model say texts, or call tools by name with arguments."""

    def said(step: Any) -> list[Any]:
        if isinstance(step, str):
            return [agents.testing.assistant_message(step)]
        calls = enumerate(step)
        return [agents.testing.function_call(*call, call_id=f"{call[0]}{n}") for n, call in calls]

    model.extend(map(said, steps))
    return agents.Agent(name="a", model=model, tools=tools(agents))


def tools(agents: Any) -> list[Any]:
    """Return a tool, one that has to be approved, and one that fails."""

    def weather(city: str) -> str:
        return f"Sun in {city}."

    def pay(euros: int) -> str:
        return f"Paid {euros}."

    def stuck() -> str:
        raise RuntimeError("stuck")

    return [
        agents.function_tool(weather),
        agents.function_tool(pay, needs_approval=True),
        agents.function_tool(stuck, failure_error_function=None),
    ]


async def two_runs(agents: Any, model: Any, session: Any) -> object:
    """Ask a question, and then another one whose answer is streamed."""
    agent = script(agents, model, "Rome.", "Italy.")
    await agents.Runner.run(agent, "Which city?", session=session)
    result = agents.Runner.run_streamed(agent, "Which country?", session=session)
    return [event.type async for event in result.stream_events()]


async def called(agents: Any, model: Any, session: Any) -> object:
    """Get two calls in one answer, then part them from their results by a limit."""
    cities = [("weather", {"city": city}) for city in ("Rome", "Oslo")]
    agent = script(agents, model, cities, "Sun.", "Yes.", "No.")
    await agents.Runner.run(agent, "Weather?", session=session)
    limited = agents.RunConfig(session_settings=agents.SessionSettings(limit=2))
    await agents.Runner.run(agent, "Sure?", session=session, run_config=limited)
    session.session_settings = agents.SessionSettings(limit=5)
    return (await agents.Runner.run(agent, "Snow?", session=session)).final_output


async def handed_off(agents: Any, model: Any, session: Any) -> object:
    """Let an agent hand the conversation to another one."""
    agent = script(agents, model, [("transfer_to_b", {})], "I am b.", "Still b.")
    other = agents.Agent(name="b", model=model)
    agent.handoffs = [other]
    await agents.Runner.run(agent, "Who?", session=session)
    return (await agents.Runner.run(other, "And now?", session=session)).final_output


async def approved(agents: Any, model: Any, session: Any) -> object:
    """Wait for an approval, and go on from the saved state of the run."""
    agent = script(agents, model, [("pay", {"euros": 1})], "Paid.", "Bye.")
    waiting = await agents.Runner.run(agent, "Pay.", session=session)
    saved = json.loads(json.dumps(waiting.to_state().to_json()))
    state = await agents.RunState.from_json(agent, saved)
    for interruption in state.get_interruptions():
        state.approve(interruption)
    await agents.Runner.run(agent, state, session=session)
    return (await agents.Runner.run(agent, "Thanks.", session=session)).final_output


async def failed(agents: Any, model: Any, session: Any) -> object:
    """Let a tool fail, take the question back, and ask another one."""
    agent = script(agents, model, [("stuck", {})], "Yes?")
    with pytest.raises(Exception, match="stuck"):
        await agents.Runner.run(agent, "Try.", session=session)
    popped = [await session.pop_item() for _ in range(3)]
    return popped, (await agents.Runner.run(agent, "Hello?", session=session)).final_output


@sdk
@pytest.mark.parametrize("kind", ["memory", "asynchronous"])
@pytest.mark.parametrize("scenario", [two_runs, called, handed_off, approved, failed])
def test_like_the_session_of_the_sdk(agents: Any, scenario: Scenario, kind: str) -> None:
    """A run sends the model, returns and keeps what it does with a session of the SDK."""

    async def run(session: Any) -> object:
        model = agents.testing.ScriptedModel()
        result = await scenario(agents, model, session)
        model.assert_complete()
        return result, [call.input for call in model.calls], await session.get_items()

    async def both(folder: str) -> tuple[object, object]:
        session = transcript_session(await opened(kind, folder), "ann")
        assert isinstance(session, agents.Session)
        own = agents.SQLiteSession("ann")
        try:
            return await run(own), await run(session)
        finally:
            own.close()

    with TemporaryDirectory() as folder:
        expected, found = asyncio.run(both(folder))
    assert expected == found


@sdk
def test_a_run_that_another_writer_was_faster_than(agents: Any, tmp_path: Path) -> None:
    """The error of the store reaches who called the runner."""
    store = FolderStore(tmp_path)
    transcripts = [Transcript.open("ann", store=store) for _ in range(2)]
    sessions = [transcript_session(transcript) for transcript in transcripts]
    asyncio.run(two_runs(agents, agents.testing.ScriptedModel(), sessions[0]))
    with pytest.raises(ConflictError):
        asyncio.run(two_runs(agents, agents.testing.ScriptedModel(), sessions[1]))
