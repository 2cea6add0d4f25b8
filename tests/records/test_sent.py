"""How each block of a record is sent: its role and its message in the payload."""

from typing import Any

import pytest

from promptdsl import *
from tests.folding import failures
from tests.internals import Written
from tests.providers.conversations import PNG
from tests.records.prompts import TARGETS, support

PICTURE = ImageBlock(MediaSource("base64", PNG, "image/png"))
TALK = [
    Message("user", "Look."),
    Message("assistant", (ReasoningBlock("I see."), ToolUseBlock("c", "look", "{}"))),
    Message("tool", (ToolResultBlock("c", (TextBlock("Here."), PICTURE)),)),
]


def sent(*content: Any, **target: Any) -> Any:
    """Return how the blocks of a prompt are sent, by message."""
    return render(Timeline(*content), **target).record().to_dict()["sent"]


def in_turn(message: int | None, role: str, **rest: Any) -> dict[str, Any]:
    """Return what a record has of a block that is sent."""
    return {"role": role, "message": message, **rest}


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        ("openai", [[in_turn(0, "system")], [in_turn(1, "developer")], [in_turn(2, "user")]]),
        ("anthropic", [[in_turn(None, "system")], [in_turn(0, "user")], [in_turn(0, "user")]]),
        ("gemini", [[in_turn(None, "system")], [in_turn(0, "user"), in_turn(0, "user")]]),
    ],
)
def test_the_role_that_is_sent(provider: str, expected: Any) -> None:
    """A block has the role that is sent, not the written one, and its message in the payload."""
    prompt = System("Be kind."), Grounding("a", "Ann."), User("Hi.")
    assert expected == sent(*prompt, provider=provider)


def test_a_block_that_is_not_sent() -> None:
    """A block that is not sent has nothing; a result says where each of its blocks goes."""
    assert [
        [in_turn(0, "user")],
        [None, in_turn(1, "assistant")],
        [in_turn(2, "tool", inner=[in_turn(2, "tool"), in_turn(3, "user")])],
    ] == sent(History(TALK), provider="openai")


@pytest.mark.parametrize("target", [{}, {"provider": "openai"}])
def test_what_cannot_be_sent(target: dict[str, Any]) -> None:
    """Without a target, or while calls are open, nothing is sent."""
    talk = TALK[:2] if target else TALK
    assert sent(History(talk), **target) is None


def test_the_blocks_are_those_of_the_locations() -> None:
    """At each target the blocks that are sent are those that have a location, with its role."""

    def wrong(provider: str) -> Any:
        rendered = support(provider=provider, model=TARGETS[provider], cache="auto")
        expected = {
            (place.message, place.block): (place.role, place.entry)
            for place in rendered.locations()
            if place.message is not None
        }
        data = rendered.record().to_dict()["sent"]
        blocks = [
            ((number, index), block)
            for number, message in enumerate(data)
            for index, block in enumerate(message)
        ]
        found = {at: (block["role"], block["message"]) for at, block in blocks if block}
        return [] if expected == found else [expected, found]

    assert [] == failures(TARGETS, wrong)


def test_a_payload_with_locations_is_not_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record asks for the locations once, and not again if they were asked for before."""
    calls: list[Any] = []
    locations = Written.locations

    def counted(written: Any) -> Any:
        calls.append(written)
        return locations(written)

    monkeypatch.setattr(Written, "locations", counted)
    rendered = render(Timeline(Grounding("a", "Ann."), User("Hi.")), provider="anthropic")
    first, second = rendered.record(), rendered.record()
    assert (1, first.to_dict()["sent"]) == (len(calls), second.to_dict()["sent"])


def test_without_content() -> None:
    """A record without content says how its blocks are sent, too."""
    rendered = support()
    bare, full = (rendered.record(content=content).to_dict() for content in (False, True))
    assert (bare["sent"], True) == (full["sent"], bool(full["sent"]))
