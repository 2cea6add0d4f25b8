"""What holds for all that is written: it is taken, read back, and nothing vanishes.

Each function returns what fails for the prompts of a table, by their names.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from promptdsl import *
from tests.folding import failures, unequal
from tests.internals import valid_unicode as utf8
from tests.providers.conversations import answered
from tests.providers.every_target import SERVICES, read, strings_in, write
from tests.providers.recorder import Clients

Prompts = Mapping[str, Prompt]


def as_json(payload: object) -> str:
    """Return a payload as text; bytes, which boto3 takes, as their repr."""
    return json.dumps(payload, default=repr)


def refused(
    prompts: Prompts, facts: ModelFacts, check: Callable[[Any, ModelFacts], None]
) -> list[str]:
    """Return what a check says of what is written."""
    return failures(prompts, lambda name: check(write(prompts[name], facts)[0], facts))


def unlawful(
    prompts: Prompts, facts: ModelFacts, dumps: Callable[[object], str] = as_json
) -> list[str]:
    """Return where what is written, read and written again is not the same bytes."""

    def wrong(name: str) -> str:
        prompt = prompts[name]
        payload, _ = write(prompt, facts)
        again = attrs.evolve(read(payload, facts), lone_text=prompt.lone_text)
        return unequal(dumps(payload), dumps(write(again, facts)[0]))

    return failures(prompts, wrong)


def unlawful_rendered(rendered: Rendered, facts: ModelFacts) -> list[str]:
    """Return where a prompt that is read again is not sent as the same bytes by ``render``."""
    target: Any = {"provider": facts.provider, "model": facts.model}
    config = rendered.config
    options = {"lone_text": config.lone_text, "merge_separator": config.merge_separator}
    target["transformation"] = options

    def wrong(_: str) -> str:
        payload = rendered.payload()
        again = render(read_payload(payload, str(facts.provider)), **target).payload()
        return unequal(as_json(payload), as_json(again))

    # It does not know the templates of tests.
    return failures(["rendered"], wrong) if facts.template is None else []


def changed_on_its_way(prompts: Prompts, facts: ModelFacts, clients: Clients) -> list[str]:
    """Return where the body that a client sends is not the body of the payload."""
    service = SERVICES[str(facts.provider)]

    def wrong(name: str) -> str:
        payload, _ = write(prompts[name], facts)
        return unequal(service.body(payload), service.send and service.send(clients, payload))

    return failures(prompts, wrong)


def out_of_order(prompts: Prompts, facts: ModelFacts) -> list[str]:
    """Return the first text of each prompt that is not in its payload, behind the ones before."""

    def wrong(name: str) -> str | None:
        payload: Any = write(prompts[name], facts)[0]
        first = {key: payload[key] for key in ("system", "config") if key in payload}
        strings = iter([*strings_in({**first, **payload})])
        texts = (text for message in prompts[name].messages for text in _words_of(message))
        return next((text for text in texts if text.strip() and text not in strings), None)

    return failures(prompts, wrong)


def vanished(prompts: Prompts, facts: ModelFacts) -> list[str]:
    """Return the texts that are neither in the payload nor in a loss."""
    return failures(prompts, lambda name: _missing(prompts[name], *write(prompts[name], facts)))


def verdict(reader: Callable[[Any], object], data: object) -> str:
    """Return whether data is read or refused."""
    try:
        reader(data)
    except DataError:
        return "refused"
    return "read"


def all_answered(recordings: Prompts) -> Prompts:
    """Return recorded conversations up to their last turns that are not the model's."""
    return {name: answered(prompt) for name, prompt in recordings.items()}


def _missing(prompt: Prompt, payload: object, losses: Any) -> list[str]:
    payload_text = "\n".join(strings_in(payload))
    lost_messages = {id(loss.message) for loss in losses if loss.kind in ("content", "role")}
    # Where it is text a fence cannot be left: its closing is escaped, which is no loss.
    fenced = payload_text.replace("&lt;/developer>", "</developer>")
    return [
        text
        for message in prompt.messages
        for text in _texts_of(message)
        if text not in payload_text and text not in fenced and id(message) not in lost_messages
    ]


def _texts_of(message: Message) -> list[str]:
    """Return the texts of a message that are more than white space, as they can be sent."""
    texts = [utf8(text)[0].strip() for text in _words_of(message)]
    return [text for text in texts if text]


def _words_of(message: Message) -> list[str]:
    """Return the texts of a message, those in results among them."""
    blocks: list[Any] = []
    for block in message.content:
        blocks += block.content if isinstance(block, ToolResultBlock) else (block,)
    return [block.text for block in blocks if isinstance(block, TextBlock)]
