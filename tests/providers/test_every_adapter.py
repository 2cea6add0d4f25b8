"""One table of conversations through all adapters: taken, read back, sent, and nothing lost."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.providers.conversations import PDF, PNG, PROMPTS, media
from tests.providers.every_target import (
    FACTS,
    MADE_FACTS,
    check,
    check_rules,
    needing_sdk,
    write,
)
from tests.providers.gemini_check import normal
from tests.providers.laws import (
    Prompts,
    all_answered,
    changed_on_its_way,
    out_of_order,
    refused,
    unlawful,
    unlawful_rendered,
    vanished,
)
from tests.providers.prompts import ANY_PROMPTS, TRANSFORMATIONS
from tests.providers.recorder import Clients
from tests.searching import examples

ALL_FACTS = {**FACTS, **MADE_FACTS}
every_target = pytest.mark.parametrize("target", FACTS)
all_abilities = pytest.mark.parametrize("target", ALL_FACTS)
all_typed_abilities = pytest.mark.parametrize(
    "target", [needing_sdk(str(facts.provider), name) for name, facts in ALL_FACTS.items()]
)
# A block no type of this version knows is sent as it came, so no checker knows it either.
KNOWN = {name: prompt for name, prompt in PROMPTS.items() if name != "unknown blocks"}
SENT = {name: KNOWN[name] for name in KNOWN if name not in ("nothing", "only system")}


def known_to(target: str) -> Prompts:
    """Return the prompts whose every block the checker of a target knows."""
    return PROMPTS if ALL_FACTS[target].provider in ("gemini", "bedrock") else KNOWN


@all_abilities
def test_by_the_rules(target: str) -> None:
    """What is written of every prompt is as the service's rules ask."""
    assert [] == refused(known_to(target), ALL_FACTS[target], check_rules)


@all_typed_abilities
def test_accepted(target: str) -> None:
    """What is written of every prompt is what the SDK's types and the service's rules ask."""
    assert [] == refused(known_to(target), ALL_FACTS[target], check)


@all_abilities
def test_law(target: str) -> None:
    """What is written of every prompt, read and written again is the same bytes."""
    assert [] == unlawful(PROMPTS, ALL_FACTS[target])


@every_target
@examples(300, 3)
@given(tree=ANY_PROMPTS, transformation=TRANSFORMATIONS, cache=st.sampled_from([None, "auto"]))
def test_law_for_any_prompt(target: str, tree: Timeline, transformation: Any, cache: Any) -> None:
    """What is sent of any prompt, read and rendered again is the same bytes."""
    facts = FACTS[target]
    options: Any = {"provider": facts.provider, "model": facts.model, "cache": cache}
    rendered = render(tree, transformation=transformation, **options)
    prompt = Prompt(
        *(rendered.messages, rendered.tools, rendered.tool_choice, rendered.output),
        lone_text=rendered.config.lone_text,
    )
    assert ([], []) == (unlawful({"it": prompt}, facts), unlawful_rendered(rendered, facts))


@pytest.mark.parametrize("role", ["developer", "system"])
@every_target
def test_attachments_in_any_role(target: str, role: str) -> None:
    """Attachments in events and request-only turns are sent as those of a user turn are."""

    def payload_for(mapped: str) -> Any:
        picture = ImageBlock(media("base64", PNG, "image/png"))
        report = DocumentBlock(media("base64", PDF, "application/pdf"), "Report")
        tree = Timeline(
            System("s"),
            Event("Seen", picture),
            Grounding("g", "See", picture, report),
            User("q"),
            Ephemeral(report, position="end"),
        )
        roles = {"role_mapping": {"event": mapped, "ephemeral": mapped}}
        return write(Prompt(render(tree, transformation=roles).messages), FACTS[target])[0]

    assert payload_for("user") == payload_for(role)


@every_target
def test_nothing_vanishes(target: str) -> None:
    """Every text of every prompt is in the payload, or in the losses."""
    assert [] == vanished(PROMPTS, FACTS[target])


SENDING = {
    "openai marking": SENT,
    "responses gpt-5.6-sol": SENT,
    "anthropic instructed": SENT,
    "gemini signing": SENT,
    "bedrock able": PROMPTS,
}


@pytest.mark.parametrize(
    "target", [needing_sdk(str(ALL_FACTS[target].provider), target) for target in SENDING]
)
def test_sent(target: str, clients: Clients) -> None:
    """The real client takes every payload, and sends it unchanged."""
    assert [] == changed_on_its_way(SENDING[target], ALL_FACTS[target], clients)


@pytest.mark.sdk("google.genai")
def test_sent_to_vertex(clients: Clients) -> None:
    """Vertex, which takes fewer keys, is sent the same payload."""
    facts = ALL_FACTS["gemini signing"]
    names = ("parallel calls", "repeated ids", "media", "reasoning")
    payloads = [write(PROMPTS[name], facts)[0] for name in names]
    assert [*map(normal, payloads)] == [*map(clients.vertex, payloads)]


def test_texts_in_order(recordings: Prompts) -> None:
    """Every text of a recorded conversation is on the wire, in its order, to the byte."""
    targets = ("openai", "responses", "anthropic", "gemini", "bedrock")
    assert [[]] * len(targets) == [
        out_of_order(all_answered(recordings), FACTS[target]) for target in targets
    ]


@every_target
def test_some_recorded(target: str, few_recordings: Prompts) -> None:
    """A recorded conversation obeys the rules, keeps the law, and all its texts."""
    few = all_answered(few_recordings)
    assert ([], [], []) == (
        refused(few, FACTS[target], check_rules),
        unlawful(few, FACTS[target]),
        vanished(few, FACTS[target]),
    )


@pytest.mark.slow
@all_abilities
def test_recorded(target: str, recordings: Prompts) -> None:
    """Every recorded conversation keeps the law, and all its texts."""
    every = all_answered(recordings)
    assert ([], []) == (unlawful(every, ALL_FACTS[target]), vanished(every, ALL_FACTS[target]))


@pytest.mark.slow
@all_typed_abilities
def test_recorded_accepted(target: str, recordings: Prompts) -> None:
    """What is written of every recorded conversation is what types and rules ask."""
    assert [] == refused(all_answered(recordings), ALL_FACTS[target], check)
