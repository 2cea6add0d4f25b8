"""The store for Redis that a page of the documentation writes, with a real Redis."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from promptdsl import ConflictError, Transcript
from promptdsl.testing import check_store
from tests.errors import raised
from tests.transcript.servers import redis

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs/how-to/own-store.md"
AWAITED = (("    def ([^_])", r"    async def \1"), (r"(self\.client\.[del])", r"await \1"))


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Return the path of the socket of a Redis."""
    with redis() as socket:
        yield socket


def options(server: str) -> dict[str, Any]:
    """Return the options of a client, as the page gives them."""
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    retry: Any = Retry(NoBackoff(), 0)
    return {"unix_socket_path": server, "decode_responses": True, "retry": retry}


def store_class(*changes: tuple[str, str]) -> Any:
    """Return the class on the page, with changes to its text."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    for pattern, text in changes:
        code = re.sub(pattern, text, code)
    names: dict[str, Any] = {}
    exec(code, names)
    return names["RedisStore"]


def test_a_conversation(server: str) -> None:
    """What is appended is there for another client, and the slower writer is refused."""
    from redis import Redis

    make = store_class()
    talk, other = (Transcript.open("a*", store=make(Redis(**options(server)))) for _ in range(2))
    talk.append("Grüße \ud800 \u2028")
    assert raised(ConflictError, lambda: other.append("Hi.")).what == (
        "another writer was faster with 'a*'"
    )
    assert [*other.refresh()] == [*talk.entries]
    store = make(Redis(**options(server)))
    assert (store.list("a*"), store.list("b")) == (["a*"], [])
    store.delete("a*")
    assert store.list("a*") == []


def test_the_contract_of_stores(server: str) -> None:
    """The class does what a store has to do, also where processes write."""
    from redis import Redis

    def damage(store: Any, key: str) -> None:
        store.client.lset(store.name + key, 1, "{}")

    make = store_class()
    check_store(lambda: make(Redis(**options(server))), entries=1_000, damage=damage)


def test_a_conversation_of_an_asynchronous_program(server: str) -> None:
    """With ``async``, ``await`` and ``async for``, the class is one for ``redis.asyncio``."""
    from redis.asyncio import Redis

    make = store_class(*AWAITED, ("for name in self", "async for name in self"))

    async def talk() -> list[str]:
        async with Redis(**options(server)) as client:
            store = make(client)
            transcript = await Transcript.aopen("b", store=store)
            transcript.append("Hi.")
            await transcript.acommit()
            assert len(await Transcript.aopen("b", store=store)) == 1
            keys: list[str] = await store.list("b")
            await store.delete("b")
            return keys

    assert asyncio.run(talk()) == ["b"]
