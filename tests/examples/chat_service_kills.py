"""Kill the chat service again and again while people talk with it, and look for what is lost.

Run it:  python -m tests.examples.chat_service_kills --rounds 50 --seed 1
"""

import argparse
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from functools import wraps
from itertools import chain
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from threading import Event, Lock, Thread
from typing import Any

import httpx
from starlette.applications import Starlette

from examples.chat_service import app
from examples.chat_service.tools import tools_of
from promptdsl import History, SqliteStore, Timeline, ToolResultBlock, Transcript, render
from tests.examples.chat_model import bytes_of
from tests.examples.desk import ROOT
from tests.examples.served import served

PROVIDERS = ("openai", "anthropic")
CLIENT = httpx.Client(headers={"x-user": "Ann/Bo"}, timeout=60, trust_env=False)


def make_app() -> Starlette:
    """Return the service of the example with tools that take their time, so that kills hit them."""

    def slow(tool: Callable[..., str]) -> Callable[..., str]:
        @wraps(tool)  # it keeps its parameters
        def call(*args: Any, **options: Any) -> str:
            time.sleep(0.1)
            result = tool(*args, **options)
            time.sleep(0.1)
            return result

        return call

    app.tools_of = lambda ledger: {name: slow(f) for name, f in tools_of(ledger).items()}
    return app.make_app()


def free_port() -> int:
    """Return a port that nobody listens on, and from which no connection begins."""
    for port in Random().sample(range(20_000, 32_000), 100):
        with socket.socket() as found, suppress(OSError):
            found.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


@contextmanager
def service(folder: Path, provider: str, model_url: str, url: str) -> Generator[None]:
    """Run the service with two workers at an address, and kill it at the end."""
    own = {
        "CHAT_DATA": str(folder),
        "CHAT_PROVIDER": provider,
        "OPENAI_BASE_URL": model_url,
        "ANTHROPIC_BASE_URL": model_url,
        "PYTHONPATH": str(ROOT),
    }
    keys = {"OPENAI_API_KEY": "test", "ANTHROPIC_API_KEY": "test"}
    factory = ["--factory", "tests.examples.chat_service_kills:make_app"]
    options = ["--workers", "2", "--port", url.rpartition(":")[2], "--log-level", "warning"]
    command = [sys.executable, "-W", "error", "-m", "uvicorn", *factory, *options]
    env = {"CHAT_LEASE": "1"} | os.environ | keys | own
    end = time.monotonic() + 60
    process = subprocess.Popen(command, cwd=ROOT, env=env, start_new_session=True)
    try:
        while True:
            assert time.monotonic() < end, "the service does not begin"
            if process.poll() is not None:  # a worker that was killed has the port for a moment
                time.sleep(0.2)
                process = subprocess.Popen(command, cwd=ROOT, env=env, start_new_session=True)
            with suppress(httpx.HTTPError):
                CLIENT.get(f"{url}/")
                break
            time.sleep(0.05)
        yield
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def answer(url: str, chat: str, message: dict[str, str]) -> Iterator[tuple[str, Any]]:
    """Send a message, and yield the status, then the events of the answer."""
    with CLIENT.stream("POST", f"{url}/chats/{chat}", json=message) as reply:
        yield "status", reply.status_code
        name = ""
        for line in reply.iter_lines():
            kind, _, rest = line.partition(": ")
            if kind == "event":
                name = rest
            elif kind == "data":
                yield name, json.loads(rest)


def message_of(person: int, index: int) -> dict[str, str]:
    """Return a message of a person: each is on an invoice of its own."""
    text = f"Refund invoice {person * 1000 + index}."
    return {"id": f"m{index}", "role": "user", "content": text}


class Person(Thread):
    """Sends messages in a conversation of its own, each until it is answered.

    Now and then it leaves in the middle of an answer, or sends a message from two windows at once.
    """

    def __init__(self, number: int, seed: int, url: str, over: Event) -> None:
        super().__init__(daemon=True)
        self.chat = f"chat-{number}"
        self.random, self.url, self.over, self.number = Random(seed), url, over, number
        self.seen: list[tuple[str, str]] = []
        """The id of a message, and what was received of its answer, for each try."""
        self.answered: list[str] = []
        self.counts = Counter[str]()
        self.lock = Lock()

    def run(self) -> None:
        """Send messages until it is over."""
        for index in range(100_000):
            if self.over.is_set():
                return
            message = message_of(self.number, index)
            other: Thread | None = None
            if self.random.random() < 0.2:
                other = Thread(target=self._try, args=(message, 1.0), daemon=True)
                other.start()
            while not self._try(message, self.random.random()):
                time.sleep(0.2)
            self.answered.append(message["id"])
            if other:
                other.join()

    def _try(self, message: dict[str, str], patience: float) -> bool:
        """Send a message; return whether the answer came to its end."""
        leaves = self.random.randrange(1, 9) if patience < 0.2 else None
        text, count = "", 0
        with self.lock:
            place = len(self.seen)
            self.seen.append((message["id"], ""))
        try:
            for name, data in answer(self.url, self.chat, message):
                self.counts[f"{name} {data}" if name in ("status", "end") else name] += 1
                if name == "text":
                    text += data
                    self.seen[place] = (message["id"], text)
                if name == "end":
                    return bool(data == "done")
                count += 1
                if count == leaves:
                    self.counts["left"] += 1
                    return False
        except httpx.HTTPError as error:
            self.counts[type(error).__name__] += 1
        return False


def parts_of(transcript: Transcript) -> tuple[dict[str, str], dict[str, str]]:
    """Return by the id of a message what was shown to a person, and what a model gets of it."""
    shown, kept, id = dict[str, str](), dict[str, str](), ""
    for turn in transcript.turns:
        if turn.message is None:
            shown[id] = shown.get(id, "") + turn.note.get("said", "")
        elif turn.message.role == "user":
            id = str(turn.message.id)
            assert id not in kept, f"the message {id} stands twice"
            shown[id], kept[id] = "", ""
        elif turn.message.role == "assistant":
            kept[id] += turn.message.text
    return shown, kept


def refunds_of(transcript: Transcript) -> dict[str, list[str]]:
    """Return by invoice how each refund ended: done, unsure (it was running), or never begun."""
    running = {turn.note.get("running") for turn in transcript.turns if turn.message is None}
    ends, calls = dict[str, list[str]](), dict[str, str]()
    for message in transcript:
        for call in message.calls:
            if call.name == "refund" and call.input is not None:
                calls[call.id] = f"invoice {call.input['invoice']}"
                ends.setdefault(calls[call.id], []).append("open")
        for block in message.content:
            if isinstance(block, ToolResultBlock) and block.tool_use_id in calls:
                unsure = "unsure" if block.tool_use_id in running else "never begun"
                ends[calls[block.tool_use_id]][-1] = unsure if block.is_error else "done"
    return ends


def wrong(folder: Path, people: list[Person], figures: Counter[str] | None = None) -> list[str]:
    """Return what is wrong with the database, the ledger, and what people saw.

    ``figures`` are given at the end, when all is answered.
    """
    seen = {person.chat: ([*person.seen], [*person.answered]) for person in people}
    with closing(sqlite3.connect(folder / "chats.db")) as connection:
        ((sound,),) = connection.execute("PRAGMA integrity_check").fetchall()
    faults = [] if sound == "ok" else [f"integrity_check: {sound}"]
    ledger, store = folder / "refunds.txt", SqliteStore(folder / "chats.db")
    paid = Counter(ledger.read_text().splitlines() if ledger.exists() else [])
    for chat, (tries, answered) in seen.items():
        transcript = Transcript.open(f"Ann%2FBo/{chat}", store=store, read_only=True)
        shown, kept = parts_of(transcript)
        for id, text in tries:
            if not shown.get(id, "").startswith(text):
                faults.append(f"{chat} {id}: {text!r} is not the begin of {shown.get(id)!r}")
        for line, ends in refunds_of(transcript).items():
            least = ends.count("done")
            if not least <= paid[line] <= least + ends.count("unsure") + ends.count("open"):
                faults.append(f"{chat}: {line} was paid back {paid[line]} times: {ends}")
        if figures is not None:
            figures["replies cut"] += sum(m.finish_reason == "interrupted" for m in transcript)
            figures["refunds unsure"] += [*chain(*refunds_of(transcript).values())].count("unsure")
            faults += [f"{chat} {id}: no answer" for id in answered if not kept.get(id)]
            faults += [f"{chat} {id}: {kept[id]!r}" for id in kept if kept[id] != shown[id]]
            for provider in PROVIDERS:
                render(Timeline(History(transcript)), provider=provider).payload()
    store.close()
    return faults


def repeated(url: str, people: list[Person]) -> list[str]:
    """Return which message gets another answer when it is sent again."""
    faults: list[str] = []
    for person in people:
        last = dict(person.seen)
        for id in person.answered:
            message = message_of(person.number, int(id[1:]))
            found = [*answer(url, person.chat, message)]
            text = "".join(data for name, data in found if name == "text")
            if not text.startswith(last[id]) or found[-1] != ("end", "done"):
                faults.append(f"{person.chat} {id}: {last[id]!r}, then {text!r}")
    return faults


def heard(people: list[Person]) -> int:
    """Return how many texts people received."""
    return sum(person.counts["text"] for person in people)


def killed(folder: Path, rounds: int, seed: int, count: int = 3) -> tuple[list[str], Counter[str]]:
    """Kill the service so often while people talk; return what is wrong, and figures."""
    random, figures, over = Random(seed), Counter[str](), Event()

    def reply(body: dict[str, Any]) -> tuple[int, Iterator[bytes]]:
        figures["requests to the model"] += 1

        def parts() -> Iterator[bytes]:
            for part in bytes_of(body):
                time.sleep(0.02)
                yield part

        return 200, parts()

    url = f"http://127.0.0.1:{free_port()}"
    people = [Person(number, seed + number, url, over) for number in range(1, count + 1)]
    faults: list[str] = []
    with served(reply) as model_url:
        for index in range(rounds):
            with service(folder, PROVIDERS[index % 2], model_url, url):
                for person in people if index == 0 else ():
                    person.start()
                lively = heard(people) + random.randrange(30)
                while heard(people) < lively:
                    time.sleep(0.01)
                time.sleep(random.random() ** 2)
            faults += [f"round {index}: {fault}" for fault in wrong(folder, people)]
        with service(folder, PROVIDERS[rounds % 2], model_url, url):
            over.set()
            for person in people:
                person.join()
            asked = figures["requests to the model"]
            faults += repeated(url, people)
            if asked != figures["requests to the model"]:
                faults.append("a repeated message was asked again")
        faults += wrong(folder, people, figures)
    for person in people:
        figures += person.counts
        figures["answers"] += len(person.answered)
    figures["refunds"] = len((folder / "refunds.txt").read_text().splitlines())
    return faults, figures


def main() -> None:
    """Print what is wrong, and the figures."""
    parser = argparse.ArgumentParser(description="Kill the chat service again and again.")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        faults, figures = killed(Path(folder), options.rounds, options.seed)
    for name, count in sorted(figures.items()):
        print(f"{count:7,} {name}")
    print("\n".join(faults) or "nothing is wrong")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
