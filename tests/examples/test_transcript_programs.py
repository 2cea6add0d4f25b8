"""The programs that keep a transcript: a chat, an agent that is killed, an editor."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import wraps
from io import StringIO
from pathlib import Path
from random import Random
from threading import Event
from time import sleep
from typing import Any

import pytest

from examples import edit_transcript, recorded_chat, resumed_agent
from promptdsl import Message, TextBlock, ToolUseBlock, Transcript, render
from tests.examples.desk import ROOT
from tests.examples.served import served
from tests.folding import failures
from tests.providers.recorder import CHAT_REPLY, MESSAGES_REPLY

REPLIES = {"openai": CHAT_REPLY, "anthropic": MESSAGES_REPLY}
CHUNK = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "any"}
STREAMS: dict[str, list[dict[str, Any]]] = {
    "openai": [
        {**CHUNK, "choices": [{"index": 0, "delta": {"role": "assistant", "content": "o"}}]},
        {**CHUNK, "choices": [{"index": 0, "delta": {"content": "k"}, "finish_reason": "stop"}]},
    ],
    "anthropic": [
        {"type": "message_start", "message": {**MESSAGES_REPLY, "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "o"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "k"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}},
        {"type": "message_stop"},
    ],
}


def events(provider: str) -> Iterator[bytes]:
    """Yield the events of a stream, as they are sent."""
    for event in STREAMS[provider]:
        yield f"event: {event.get('type', '')}\ndata: {json.dumps(event)}\n\n".encode()
    yield b"data: [DONE]\n\n" if provider == "openai" else b""


def roles(path: Path) -> list[str]:
    """Return the roles of what stands in a file."""
    with Transcript.open(path, read_only=True) as transcript:
        return [message.role for message in transcript]


# The chat.


@pytest.mark.parametrize("fault", [OSError("The line is down."), KeyboardInterrupt()])
@pytest.mark.parametrize("provider", REPLIES)
def test_a_chat_goes_on(provider: str, fault: BaseException, tmp_path: Path) -> None:
    """After an error or Ctrl-C the question stands; the next start asks it again."""
    path, replies = tmp_path / "chat.jsonl", iter([REPLIES[provider]])

    def ask(*_: object) -> dict[str, Any]:
        for reply in replies:
            return reply
        raise fault

    with Transcript.open(path) as transcript, pytest.raises(type(fault)):
        recorded_chat.chat(transcript, iter(["Hi.", "", "And now?"]), ask, False)
    assert ["user", "assistant", "user"] == roles(path)
    replies = iter([REPLIES[provider]] * 2)
    with Transcript.open(path) as transcript:
        recorded_chat.chat(transcript, iter(["Bye."]), ask, False)
    assert ["user", "assistant"] * 3 == roles(path)


def chat(path: Path, provider: str, url: str, *options: str) -> "subprocess.Popen[str]":
    """Start the chat as a process."""
    keys = {"OPENAI_API_KEY": "test", "ANTHROPIC_API_KEY": "test"}
    command = [sys.executable, "-W", "error", "examples/recorded_chat.py", str(path), *options]
    return subprocess.Popen(
        [*command, "--provider", provider, "--base-url", url],
        cwd=ROOT,
        env=os.environ | keys | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.sdk("openai", "anthropic")
@pytest.mark.parametrize("provider", REPLIES)
def test_a_chat_with_the_real_clients(provider: str, tmp_path: Path) -> None:
    """A chat that ends with an error of the service goes on at the next start, as a stream."""
    path, asked = tmp_path / "chat.jsonl", list[int]()

    def reply(body: dict[str, Any]) -> tuple[int, Iterator[bytes]]:
        asked.append(sum(message["role"] != "system" for message in body["messages"]))
        if len(asked) == 2:
            return 400, iter([b'{"error": {"message": "No."}}'])
        parts = events(provider) if body.get("stream") else [json.dumps(REPLIES[provider]).encode()]
        return 200, iter(parts)

    with served(reply) as url:
        with chat(path, provider, url) as first:
            said, error = first.communicate("Hi.\nAnd now?\nNever read.\n")
        assert (1, "> ok\n> ") == (first.returncode, said)
        assert "BadRequestError" in error
        with chat(path, provider, url, "--stream") as second:
            said, error = second.communicate("Bye.\n")
    assert (0, "ok\n> ok\n> \n", "") == (second.returncode, said, error)
    assert ([1, 3, 3, 5], ["user", "assistant"] * 3) == (asked, roles(path))


@pytest.mark.slow
@pytest.mark.sdk("openai", "anthropic")
@pytest.mark.skipif(
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN, reason="Ctrl-C is ignored here"
)
@pytest.mark.parametrize("provider", STREAMS)
def test_ctrl_c_keeps_what_came(provider: str, tmp_path: Path) -> None:
    """Ctrl-C while a reply is streamed ends the chat, and keeps the part that was shown."""
    path, over = tmp_path / "chat.jsonl", Event()

    def reply(_: object) -> tuple[int, Iterator[bytes]]:
        def parts() -> Iterator[bytes]:
            for part in events(provider):
                yield part
                if b'"o"' in part:
                    over.wait(20)

        return 200, parts()

    with served(reply) as url, chat(path, provider, url, "--stream") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("Hi.\n")
        process.stdin.flush()
        assert "> o" == process.stdout.read(3)
        process.send_signal(signal.SIGINT)
        assert 130 == process.wait(20)
        over.set()
    with Transcript.open(path, read_only=True) as transcript:
        assert [("Hi.", None), ("o", "interrupted")] == [
            (message.text, message.finish_reason) for message in transcript
        ]


# The agent.


def reply_of_model(body: dict[str, Any], rounds: int) -> dict[str, Any]:
    """Return what a model says that pays two invoices in each round, and looks."""
    done = sum(message["role"] == "assistant" for message in body["messages"])
    names = [("pay", 2 * done + 1), ("paid", None), ("pay", 2 * done + 2)]
    calls = [
        {
            "id": f"call_{number}",  # the same ids in each round
            "type": "function",
            "function": {
                "name": name,
                "arguments": json.dumps({} if invoice is None else {"invoice": invoice}),
            },
        }
        for number, (name, invoice) in enumerate(names)
    ]
    message: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": calls}
    if done == rounds:
        message = {"role": "assistant", "content": "All is paid."}
    reason = "stop" if done == rounds else "tool_calls"
    choice = {"index": 0, "finish_reason": reason, "logprobs": None, "message": message}
    return {**CHAT_REPLY, "choices": [choice]}


def wrong(path: Path, ledger: Path, rounds: int, stops: int) -> list[str]:
    """Return what is wrong with a transcript and a ledger after so many stops."""
    with Transcript.open(path, read_only=True) as transcript:
        turns, messages = transcript.turns, transcript.messages
    render(resumed_agent.prompt(messages, {}), provider="openai").to_openai()  # they are in pairs
    running, results, interrupted, surprising = set[str](), 0, 0, False
    for turn in turns:
        if turn.message is None:
            running.add(turn.note["running"])
        elif turn.message.role == "assistant":
            running.clear()
        elif turn.message.role == "tool":
            result: Any = turn.message.content[0]
            results += 1
            interrupted += result.error_type == "interrupted"
            surprising |= result.is_error and result.tool_use_id not in running
            surprising |= result.error_type == "execution_error"
    paid = ledger.read_text().splitlines() if ledger.exists() else []
    missing = {f"invoice {number + 1}" for number in range(2 * rounds)} - {*paid}
    checks = {
        "something is paid twice": len(paid) == len({*paid}),
        "more is interrupted than was stopped": interrupted <= stops,
        "more is missing than was interrupted": len(missing) <= interrupted,
        "a call failed, or was interrupted before it began": not surprising,
        "a call or a result is missing": results == 3 * rounds,
        "it is not done": (messages[-1].role, messages[-1].calls) == ("assistant", ()),
    }
    return [name for name, holds in checks.items() if not holds]


class Stopped(BaseException):
    """The end of a run: no code of the agent catches it."""


def stopped_anywhere(seed: int, folder: Path) -> str:
    """Return what is wrong after an agent was stopped at random and started again, until done."""
    random, stops = Random(seed), 0
    path, ledger = folder / f"{seed}.jsonl", folder / f"{seed}.txt"

    def may_stop(*_: object) -> None:
        if random.random() < 0.2:
            raise Stopped

    def stopping(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)  # the tool keeps its parameters
        def call(*args: Any, **options: Any) -> Any:
            may_stop()
            result = function(*args, **options)
            may_stop()
            return result

        return call

    @stopping
    def ask(timeline: Any) -> dict[str, Any]:
        body: Any = render(timeline, provider="openai").to_openai()
        return reply_of_model(body, 2)

    tools = {name: stopping(tool) for name, tool in resumed_agent.tools_of(ledger).items()}
    while True:
        try:
            with Transcript.open(path) as transcript:
                transcript.subscribe(may_stop)
                if not transcript:
                    transcript.append("Pay.")
                resumed_agent.work(transcript, tools, ask)
            return "; ".join(wrong(path, ledger, 2, stops))
        except Stopped:
            stops += 1


@pytest.mark.parametrize(
    "seeds", [(1, 3), pytest.param(range(80), marks=pytest.mark.slow)], ids=["some", "many"]
)
def test_an_agent_is_stopped_anywhere(seeds: Sequence[int], tmp_path: Path) -> None:
    """No tool runs twice, and only one that ran when the agent was stopped may not have run."""
    assert [] == failures(seeds, lambda seed: stopped_anywhere(seed, tmp_path))


@pytest.mark.parametrize("to", [None, 2])
def test_an_undone_payment(to: int | None, tmp_path: Path) -> None:
    """What a tool did is not undone with its entries: it is not paid again."""
    ledger, call = tmp_path / "paid.txt", ToolUseBlock("call_0", "pay", '{"invoice": 1}')
    tools = resumed_agent.tools_of(ledger)
    transcript = Transcript(["Pay.", Message("assistant", [call])])
    resumed_agent.run(transcript, call, tools)
    transcript.undo(to)
    assert "ok" == resumed_agent.work(transcript, tools, lambda _: CHAT_REPLY)
    assert ("invoice 1\n", resumed_agent.INTERRUPTED) == (ledger.read_text(), transcript[2].text)


def count_of(path: Path) -> int:
    """Return how many lines a file has."""
    return path.read_bytes().count(b"\n") if path.exists() else 0


def killed_until_done(folder: Path, seed: int) -> tuple[int, list[str]]:
    """Kill an agent soon after it writes, until it is done; return how often, and what is wrong."""
    path, ledger, random, kills = folder / "work.jsonl", folder / "paid.txt", Random(seed), 0
    context = multiprocessing.get_context("forkserver")  # the client is loaded once
    context.set_forkserver_preload(["examples.resumed_agent", "openai", "promptdsl.tokens"])

    def reply(body: dict[str, Any]) -> tuple[int, Iterator[bytes]]:
        sleep(random.random() / 50)
        return 200, iter([json.dumps(reply_of_model(body, 3)).encode()])

    with served(reply) as url:
        while True:
            lines = count_of(path)
            arguments = [str(path), str(ledger), "--base-url", url]
            process = context.Process(target=resumed_agent.main, args=(arguments,))
            process.start()
            while process.is_alive() and count_of(path) == lines:
                sleep(0.001)
            process.join(random.random() ** 3 / 10)
            process.kill()
            process.join()
            if process.exitcode != -signal.SIGKILL:
                return kills, wrong(path, ledger, 3, kills)
            kills += 1


@pytest.mark.slow
@pytest.mark.sdk("openai")
@pytest.mark.parametrize("seed", range(3))
def test_an_agent_is_killed(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same holds for a process with the real client that is killed again and again."""
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    kills, faults = killed_until_done(tmp_path, seed)
    assert ([], True) == (faults, kills > 0)  # how often depends on the machine


# The editor.


def as_process(arguments: Sequence[str]) -> tuple[int, str, str]:
    """Return the exit code of the editor as a process, and what it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "examples/edit_transcript.py", *arguments],
        check=False,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout, done.stderr


def in_process(arguments: Sequence[str]) -> tuple[int, str, str]:
    """Return the same of the editor called as a function."""
    out, error = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(error):
        code = edit_transcript.main(arguments)
    return code, out.getvalue(), error.getvalue()


EDITED = """\
   2  user       Why twice?
   4  note       "Ann called."
   5  assistant  I look. [call call_0: find {"invoice": 1881}]
   6  tool       [result of call_0: paid twice]
   7  assistant  Twice.
"""


@pytest.mark.parametrize(
    "run", [in_process, pytest.param(as_process, marks=pytest.mark.slow)], ids=["here", "process"]
)
def test_the_editor(run: Callable[[list[str]], tuple[int, str, str]], tmp_path: Path) -> None:
    """Each command makes its change; an error of the library is printed, with exit code 1."""
    path = tmp_path / "chat.jsonl"
    call = ToolUseBlock("call_0", "find", '{"invoice": 1881}')
    with Transcript.open(path) as transcript:
        for said in ("Hi.", "Why was I charged twice?", "Hello?"):
            transcript.append(said)
        transcript.note("Ann called.")
        transcript.append(Message("assistant", [TextBlock("Let me look."), call]))
        transcript.answer(call, "paid twice")
        transcript.append(Message("assistant", "Twice."))

    def edit(*arguments: str) -> tuple[int, str, str]:
        return run([str(path), *arguments])

    for change in ("remove 1", "remove 3", "remove 7", "undo"):
        assert 0 == edit(*change.split())[0]
    edit("replace", "2", "Why twice?")
    assert (0, f"entry 13: replace\n{EDITED}", "") == edit("replace", "5", "I look.")
    assert (0, EDITED, "") == edit("show")
    code, out, error = edit("remove", "6")
    assert (1, "") == (code, out)
    assert "a result cannot be removed alone\n  remove the turn that makes the call" in error
    assert 1 == edit("replace", "3", "Gone.")[0]
    assert "entry 14: compact" in edit("compact", "Charged twice.", "--keep", "1")[1]
    assert "<summary>\nCharged twice.\n</summary>\n" in edit("show")[1]
    assert (0, f"entry 15: undo\n{EDITED}", "") == edit("undo", "13")
    assert '  16  note       "Paid."\n' in edit("note", "Paid.")[1]
    with Transcript.open(path):
        assert "is open in another writer" in edit("undo")[2]
        assert 0 == edit("show")[0]


def test_the_editor_makes_no_file(tmp_path: Path) -> None:
    """A path that was mistyped is an error."""
    path = tmp_path / "none.jsonl"
    assert (1, "", f"there is no file {str(path)!r}\n") == in_process([str(path), "undo"])
    assert not path.exists()
