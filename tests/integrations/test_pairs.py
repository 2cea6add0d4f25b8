"""What goes to LiteLLM and the Agents SDK and comes from them, where two of a thing meet.

The tables in ``pairs/`` have it in full. Nothing writes them: each line that differs is judged.
"""

import pytest

from tests.integrations.pairs.libraries import CROSSED, MODULES, crossed
from tests.integrations.pairs.tables import SENT, read_items, read_litellm, sent, table
from tests.providers.wire_tables.tables import difference, shown


def test_cases() -> None:
    """The table of what is sent has each prompt, and nothing else."""
    assert [*SENT] == [*table("litellm_sent")]


@pytest.mark.parametrize("id", SENT)
def test_sent_to_litellm(id: str) -> None:
    """LiteLLM gets what the table has for a prompt, with its losses."""
    expected, actual = table("litellm_sent")[id], sent(id)
    assert shown(expected) == shown(actual), difference(expected, actual)


@pytest.mark.parametrize("name", table("litellm_read"))
def test_read_of_litellm(name: str) -> None:
    """LiteLLM's messages are read, and go back, as the table says."""
    row = table("litellm_read")[name]
    given = {"origin": row["origin"], "given": row["given"]}
    actual = {**given, **read_litellm(row["given"], row["origin"])}
    assert shown(row) == shown(actual), difference(row, actual)


@pytest.mark.parametrize("name", table("agents"))
def test_items_of_the_agents_sdk(name: str) -> None:
    """The items of the Agents SDK are read, and go back, as the table says."""
    row = table("agents")[name]
    given = {"instructions": row["instructions"], "given": row["given"]}
    actual = {**given, **read_items(row["given"], row["instructions"])}
    assert shown(row) == shown(actual), difference(row, actual)


@pytest.mark.parametrize(
    "library", [pytest.param(name, marks=pytest.mark.sdk(MODULES[name])) for name in MODULES]
)
@pytest.mark.parametrize("id", CROSSED)
def test_there_and_back(library: str, id: str) -> None:
    """A library gets of a prompt what its table says, and the same is read of it again."""
    expected, actual = table(library)[id], crossed(library, id)
    assert shown(expected) == shown(actual), difference(expected, actual)
