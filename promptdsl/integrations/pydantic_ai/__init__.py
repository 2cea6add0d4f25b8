"""Pydantic AI: convert ``ModelMessage``, both ways.

In Pydantic AI, requests and responses alternate: all messages between two responses are parts of
one request. A developer message is a system prompt whose ``metadata`` has the role. ``write.py``
writes messages, and ``read.py`` reads them; ``details.py`` has what both need.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from promptdsl import Message, Prompt, ProviderName, Rendered, render
from promptdsl.foundation.errors import require
from promptdsl.integrations import Converted

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

__all__ = ["from_pydantic_ai", "to_pydantic_ai"]


def to_pydantic_ai(
    rendered: Rendered, *, strict: bool = False
) -> "Converted[tuple[ModelMessage, ...]]":
    """Return a ``message_history``, and tools in the format that ``ExternalToolset`` takes.

    >>> from promptdsl import System, Timeline, User, render
    >>> from promptdsl.integrations.pydantic_ai import to_pydantic_ai
    >>> (request,) = to_pydantic_ai(render(Timeline(System("Be brief."), User("Hi.")))).messages
    >>> [part.part_kind for part in request.parts]
    ['system-prompt', 'user-prompt']

    All parts have the same ``timestamp``, so the same prompt gives the same history. Raises
    :class:`LossError` with ``strict=True`` if text, media or a tool is lost, and
    :class:`PromptError` if ``pydantic-ai-slim`` is not installed.
    """
    require("pydantic_ai.messages", "pydantic-ai")
    from promptdsl.integrations.pydantic_ai.write import write

    return write(rendered, strict=strict)


def from_pydantic_ai(
    messages: "Iterable[ModelMessage]", *, provider: ProviderName | None = None
) -> Converted[tuple[Message, ...]]:
    """Return the messages of ``result.all_messages()``, for a ``History``.

    >>> from pydantic_ai.messages import ModelRequest, UserPromptPart
    >>> from promptdsl.integrations.pydantic_ai import from_pydantic_ai
    >>> from_pydantic_ai([ModelRequest([UserPromptPart("Hi.")])]).messages[0].text
    'Hi.'

    A system prompt that follows a message of another role becomes a developer message;
    ``to_pydantic_ai`` writes it as a system prompt again. Pydantic AI uses only the last
    ``instructions`` of all requests. They come after the leading system prompts. With
    ``provider="openai_responses"`` they come before these, because Pydantic AI sends them so. A
    response without parts becomes a message, too.

    Raises :class:`DataError` for anything but requests and responses, and for data that is not
    JSON, :class:`TargetError` for an unknown provider, and :class:`PromptError` if
    ``pydantic-ai-slim`` is not installed.
    """
    require("pydantic_ai.messages", "pydantic-ai")
    from promptdsl.integrations.pydantic_ai.read import read

    if provider is not None:
        render(Prompt(), provider=provider)  # raises for an unknown provider
    return read(messages, provider)
