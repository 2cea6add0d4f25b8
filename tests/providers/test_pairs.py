"""What each provider gets, and what is read of it, where two of a thing meet.

The tables in ``pairs/`` have it in full: the payload, each loss with its reason and its place, and
the place of each block. ``pairs/prompts.py`` has the prompts. Nothing writes these files: a test
that fails shows the lines that differ, and each new line is to be judged by the provider's rules.
"""

import pytest

from tests.folding import failures
from tests.providers.pairs.prompts import FILES, GROWING, PLACED
from tests.providers.pairs.tables import forgotten, read_again, read_events, read_reply, sent, table
from tests.providers.wire_tables.tables import case_ids, difference, named, shown


@pytest.mark.parametrize("file", FILES)
def test_cases(file: str) -> None:
    """Each prompt stands in its table, and nothing else does."""
    assert [*FILES[file]] == [*table(file)]


@pytest.mark.parametrize("id", case_ids(FILES))
def test_sent(id: str) -> None:
    """A prompt is sent as its table says: its payload, what is told of it, and its places."""
    file, name = named(id)
    actual = sent(FILES[file][name], placed=file in PLACED)
    expected = table(file)[name]
    assert shown(expected) == shown(actual), difference(expected, actual)


@pytest.mark.parametrize("name", table("readings"))
def test_read(name: str) -> None:
    """A payload is read as its table says, and goes back so."""
    row = table("readings")[name]
    input = {"provider": row["provider"], "given": row["given"]}
    actual = {**input, **read_again(row["given"], row["provider"])}
    assert shown(row) == shown(actual), difference(row, actual)


@pytest.mark.parametrize("name", table("replies"))
def test_replied(name: str) -> None:
    """A reply is read as its table says."""
    row = table("replies")[name]
    input = {"provider": row["provider"], "given": row["given"]}
    actual = {**input, **read_reply(row["given"], row["provider"])}
    assert shown(row) == shown(actual), difference(row, actual)


@pytest.mark.parametrize("name", table("streams"))
def test_streamed(name: str) -> None:
    """A stream is read as its table says, also where it is cut."""
    row = table("streams")[name]
    input = {"provider": row["provider"], "given": row["given"]}
    actual = {**input, **read_events(row["given"], row["provider"])}
    assert shown(row) == shown(actual), difference(row, actual)


@pytest.mark.parametrize("id", case_ids({name: FILES[name] for name in GROWING}))
def test_remembered(id: str) -> None:
    """A prompt that grows is sent as if it was written at once, with the same losses."""
    file, name = named(id)
    pair = FILES[file][name]
    assert [] == failures(pair.targets, lambda target: forgotten(pair, target))
