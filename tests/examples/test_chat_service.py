"""The chat service: real processes, the real clients, a database, and kills at any moment."""

import time
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

pytest.importorskip("httpx", reason="needs httpx")

from promptdsl import SqliteStore, Transcript
from tests.examples.chat_model import bytes_of
from tests.examples.chat_service_kills import (
    CLIENT,
    PROVIDERS,
    answer,
    free_port,
    killed,
    message_of,
    parts_of,
    service,
)
from tests.examples.served import served

pytestmark = [
    pytest.mark.slow,
    pytest.mark.sdk("anthropic", "httpx", "openai", "starlette", "uvicorn"),
]


class Running:
    """A service that runs, and its model: it waits in the middle of each reply for ``gate``."""

    url = ""
    asked = 0

    def __init__(self, folder: Path) -> None:
        self.store = SqliteStore(folder / "chats.db")
        self.gate = Event()

    def reply(self, body: dict[str, Any]) -> tuple[int, Iterator[bytes]]:
        """Return a reply of the model."""
        self.asked += 1

        def parts() -> Iterator[bytes]:
            for number, part in enumerate(bytes_of(body)):
                if number == 4:
                    time.sleep(0.25)  # what came is shown
                if number == 5:
                    self.gate.wait(60)
                yield part

        return 200, parts()

    def transcript(self, chat: str) -> Transcript:
        """Return what is recorded of a conversation."""
        return Transcript.open(f"Ann%2FBo/{chat}", store=self.store, read_only=True)


@pytest.fixture(scope="module", params=PROVIDERS)
def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[Running]:
    """Run a service for each provider; its workers are slow where the machine is."""
    folder = tmp_path_factory.mktemp("chats")
    found = Running(folder)
    found.url = f"http://127.0.0.1:{free_port()}"
    with pytest.MonkeyPatch.context() as patch, served(found.reply) as model_url:
        patch.setenv("CHAT_LEASE", "6")
        with service(folder, request.param, model_url, found.url):
            yield found
        found.gate.set()


def test_one_of_many_wins(running: Running) -> None:
    """Of messages at once one is answered; sent again, it is not asked again."""
    running.gate.clear()
    messages = [message_of(1, index) for index in range(4)]
    found: dict[str, list[Any]] = {message["id"]: [] for message in messages}

    def send(message: dict[str, str]) -> None:
        for event in answer(running.url, "many", message):
            found[message["id"]].append(event)

    with ThreadPoolExecutor() as pool:
        done = [pool.submit(send, message) for message in messages]
        while sum(future.done() for future in done) < 3:
            time.sleep(0.01)
        running.gate.set()
    lost = [events for events in found.values() if events == [("status", 409)]]
    ((id, events),) = [(id, events) for id, events in found.items() if events not in lost]
    assert (3, ("end", "done")) == (len(lost), events[-1])
    assert ["find_charges", "refund", "find_charges"][:2] == [d for n, d in events if n == "tool"]
    asked = running.asked
    assert events == [*answer(running.url, "many", message_of(1, int(id[1:])))]
    assert asked == running.asked
    shown, kept = parts_of(running.transcript("many"))
    assert {id: "".join(data for name, data in events if name == "text")} == shown == kept


def test_a_person_leaves(running: Running) -> None:
    """The part that was shown is closed; the message sent again goes on behind it."""
    running.gate.clear()
    events = answer(running.url, "leaves", message_of(2, 0))
    ((_, seen),) = [next(events), next(events)][1:]
    events.close()  # type: ignore[attr-defined]
    while running.transcript("leaves").turns[-1].note != {"state": "stopped"}:
        time.sleep(0.01)
    _, cut = running.transcript("leaves")
    assert (seen, "interrupted") == (cut.text, cut.finish_reason)
    running.gate.set()
    again = [*answer(running.url, "leaves", message_of(2, 0))]
    assert [("status", 200), ("text", seen), ("end", "done")] == [*again[:2], again[-1]]
    shown, kept = parts_of(running.transcript("leaves"))
    assert shown == kept


def test_what_is_refused_and_what_is_deleted(running: Running) -> None:
    """Another text for an id, other roles and nobody are refused; a person's data goes at once."""
    running.gate.set()
    message = message_of(3, 0)
    assert ("end", "done") == [*answer(running.url, "old", message)][-1]
    for wrong in (message | {"content": "No."}, message | {"role": "system"}, {"role": "user"}):
        assert [("status", 422)] == [*answer(running.url, "old", wrong)]
    url = f"{running.url}/chats"
    assert 401 == CLIENT.get(f"{url}/old", headers={"x-user": ""}).status_code
    assert [] == CLIENT.get(f"{url}/old", headers={"x-user": "Ann"}).json()
    assert message["content"] == CLIENT.get(f"{url}/old").json()[0]["text"]
    assert 204 == CLIENT.delete(url, headers={"x-user": "Ann"}).status_code
    assert running.transcript("old")
    assert 204 == CLIENT.delete(url).status_code
    assert [] == running.store.list()


def test_it_is_killed(tmp_path: Path) -> None:
    """What people saw is recorded, and no refund runs twice, whenever all of it is killed."""
    faults, figures = killed(tmp_path, rounds=3, seed=1)
    assert ([], True) == (faults, figures["answers"] > 0)
