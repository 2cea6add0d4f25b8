"""One table of conversations through all adapters: taken, read back, sent, and nothing lost."""

from typing import Any

import pytest

from promptdsl import Message, Prompt, TextBlock, ToolResultBlock
from tests.adapters.conversations import PROMPTS, RECORDED, needs_recorded
from tests.adapters.every_target import FACTS, SERVICES, as_json, check, read, strings_in, write
from tests.internals import TARGETS
from tests.internals import whole as utf8

every_target = pytest.mark.parametrize("target", FACTS)
every_prompt = pytest.mark.parametrize("name", PROMPTS)
# A block no type of this version knows is sent as it came, so no checker knows it either.
KNOWN = [name for name in PROMPTS if name != "unknown blocks"]
RECORDINGS = {name: TARGETS["openai"].adapter.read(said) for name, said in RECORDED.items()}


def answered(prompt: Prompt) -> Prompt:
    """Return a recorded conversation up to its last turn that is not the model's."""
    messages = prompt.messages
    last = max(n for n, message in enumerate(messages) if message.role != "assistant")
    return Prompt(messages[: last + 1])


def texts_of(message: Message) -> list[str]:
    """Return the texts of a message that are more than white space, as they can be sent."""
    blocks: list[Any] = []
    for block in message.content:
        blocks += block.content if isinstance(block, ToolResultBlock) else (block,)
    texts = [utf8(block.text)[0].strip() for block in blocks if isinstance(block, TextBlock)]
    return [text for text in texts if text]


def missing(prompt: Prompt, payload: object, losses: Any) -> list[str]:
    """Return the texts that are neither in a payload nor in the losses of their message."""
    sent = "\n".join(strings_in(payload))
    told = {id(loss.message) for loss in losses if loss.kind in ("content", "role")}
    # Where it is text a fence cannot be left: its closing is escaped, which is no loss.
    fenced = sent.replace("&lt;/developer>", "</developer>")
    return [
        text
        for message in prompt.messages
        for text in texts_of(message)
        if text not in sent and text not in fenced and id(message) not in told
    ]


@every_target
@pytest.mark.parametrize("name", KNOWN)
def test_accepted(name: str, target: str) -> None:
    """What is written is what the SDK's types and the service's rules ask."""
    check(write(PROMPTS[name], FACTS[target])[0], FACTS[target])


@every_target
@every_prompt
def test_law(name: str, target: str) -> None:
    """What is written, read and written again is the same bytes."""
    facts = FACTS[target]
    payload, _ = write(PROMPTS[name], facts)
    assert as_json(payload) == as_json(write(read(payload, facts), facts)[0])


@every_target
@every_prompt
def test_nothing_vanishes(name: str, target: str) -> None:
    """Every text is in the payload, or in the losses."""
    prompt = PROMPTS[name]
    assert [] == missing(prompt, *write(prompt, FACTS[target]))


@pytest.mark.parametrize("name", [name for name in KNOWN if name not in ("nothing", "only system")])
@pytest.mark.parametrize("provider", [name for name, service in SERVICES.items() if service.send])
def test_sent(name: str, provider: str) -> None:
    """The real client takes the payload, and sends every text that is in it."""
    service, facts = SERVICES[provider], FACTS[provider if provider in FACTS else "responses"]
    payload, _ = write(PROMPTS[name], facts)
    body = "\n".join(strings_in(service.send(payload)))  # type: ignore[misc]
    assert [] == [text for text in strings_in(payload) if text not in body]


@needs_recorded
@every_target
@pytest.mark.parametrize("name", RECORDED)
def test_recorded(name: str, target: str) -> None:
    """A recorded conversation is accepted, keeps the law, and all its texts."""
    prompt, facts = answered(RECORDINGS[name]), FACTS[target]
    payload, losses = write(prompt, facts)
    check(payload, facts)
    assert as_json(payload) == as_json(write(read(payload, facts), facts)[0])
    assert [] == missing(prompt, payload, losses)
