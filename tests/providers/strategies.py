"""Conversations a renderer would hand over: every call answered, roles hold what they may hold."""

from typing import Any, TypeAlias

from hypothesis import strategies as st

from promptdsl import Message
from tests.providers.conversations import answer, call, say

Run: TypeAlias = tuple[Message, ...]


def rounds_of(
    said: st.SearchStrategy[Any], ids: st.SearchStrategy[list[str]]
) -> st.SearchStrategy[Run]:
    """Return rounds: an answer with a call for each of some ids, and their results."""
    return st.builds(
        lambda said, ids: (
            say("assistant", *said, *map(call, ids)),
            *(answer(id, "x") for id in ids),
        ),
        st.lists(said, max_size=2),
        ids,
    )


def turns_of(
    content: st.SearchStrategy[Any],
    rounds: st.SearchStrategy[Run],
    kinds: st.SearchStrategy[Any],
    *,
    mapped: bool = True,
) -> st.SearchStrategy[list[Run]]:
    """Return runs of turns; ``mapped`` ones among them are events and request-only."""
    kept = st.lists(content, max_size=2)
    users = st.builds(lambda content: (say("user", *content),), kept)
    answers = st.builds(lambda content: (say("assistant", *content),), kept)
    instructions = st.builds(
        lambda content, kind: (say("developer", *content, kind=kind),), kept, kinds
    )
    others = st.builds(
        lambda content, kind: (say("user", *content, kind=kind),),
        kept,
        st.sampled_from(["event", "request"]),
    )
    turns = st.one_of(users, answers, rounds, instructions)
    return st.lists(turns | others if mapped else turns, max_size=6)


def joined(*units: list[Run]) -> Run:
    """Return the messages of several runs of turns."""
    return tuple(message for run in units for unit in run for message in unit)
