"""What a target gets of messages as the passes hand them over, and what it cannot be told."""

from typing import Any

from promptdsl import Loss, Message, Prompt
from tests.internals import TARGETS, facts_for

PROVIDERS = frozenset(TARGETS)


def written(target: str, prompt: Prompt) -> tuple[Any, tuple[Loss, ...]]:
    """Return payload and losses of a prompt; a target is a provider, a model, or one at another."""
    provider, _, model = target.partition(" ")
    names = (model or None, provider) if provider in PROVIDERS else (target, None)
    facts = facts_for(*names)
    return TARGETS[str(facts.provider)].write(prompt, facts)


def sent(target: str, *messages: Message, **request: Any) -> Any:
    """Return the payload of messages; ``request`` is what else there is in their prompt."""
    return written(target, Prompt(messages, **request))[0]


def lost(target: str, *messages: Message, **request: Any) -> list[tuple[str, str, str]]:
    """Return kind, subject and reason of every loss of messages."""
    losses = written(target, Prompt(messages, **request))[1]
    return [(loss.kind, loss.what, loss.why) for loss in losses]
