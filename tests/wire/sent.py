"""What a target gets of messages as the passes hand them over, and what it cannot be told."""

from typing import Any

from promptdsl import Block, Loss, Message, Prompt, TextBlock, ToolResultBlock
from tests.internals import TARGETS, Kind, Role, facts_for

PROVIDERS = frozenset(TARGETS)


def say(
    role: Role, *content: Block | str, kind: Kind = "written", name: str | None = None
) -> Message:
    """Return a message; a string is a text block.

    One without a name has no details at all: of those a plain text is written on a shorter way.
    """
    blocks = tuple(TextBlock(c) if isinstance(c, str) else c for c in content)
    details = {} if name is None else {"name": name}
    return Message(role, blocks, kind=kind, **details)


def answer(id: str, *content: Block | str) -> Message:
    """Return a tool message that answers one call."""
    blocks = tuple(TextBlock(c) if isinstance(c, str) else c for c in content)
    return say("tool", ToolResultBlock(id, blocks))


def written(target: str, prompt: Prompt) -> tuple[Any, tuple[Loss, ...]]:
    """Return payload and losses of a prompt; a target is a provider, a model, or one at another."""
    provider, _, model = target.partition(" ")
    names = (model or None, provider) if provider in PROVIDERS else (target, None)
    facts = facts_for(*names)
    return TARGETS[str(facts.provider)].adapter.write(prompt, facts)


def sent(target: str, *messages: Message, **request: Any) -> Any:
    """Return the payload of messages; ``request`` is what else there is in their prompt."""
    return written(target, Prompt(messages, **request))[0]


def lost(target: str, *messages: Message, **request: Any) -> list[tuple[str, str, str]]:
    """Return kind, subject and reason of every loss of messages."""
    losses = written(target, Prompt(messages, **request))[1]
    return [(loss.kind, loss.what, loss.why) for loss in losses]
