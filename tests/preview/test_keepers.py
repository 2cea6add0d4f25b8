"""Keepers: which processes they end, and when."""

import asyncio
import sys
from collections.abc import Callable

import pytest

from tests.internals import BORN, NURSERY_DIED, NurseryKeeper, frame

CHILD = 4_194_999
"""The id of a process that cannot exist: it is above the maximum of Linux, 4,194,304."""
NURSERY = f"import os; os.write(1, {frame(BORN, str(CHILD).encode())!r})"
"""A nursery that reports a child and ends."""


@pytest.mark.skipif(sys.platform == "win32", reason="needs process groups")
def test_a_dead_child_is_killed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the nursery died, no later call kills the group of the child: its id may be reused."""
    killed: list[int] = []
    record: Callable[[int, int], None] = lambda group, _: killed.append(group)  # noqa: E731
    monkeypatch.setattr("os.killpg", record)

    async def run() -> None:
        keeper = NurseryKeeper((sys.executable, "-c", NURSERY))
        await keeper.start(b"")
        assert NURSERY_DIED == (await keeper.receive())[1]
        assert [CHILD] == killed
        await keeper.close()

    asyncio.run(run())
    assert [CHILD] == killed
