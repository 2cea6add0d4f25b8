"""Which reasoning may be sent again: unchanged, and only while the bytes before it are the same."""

from operator import attrgetter

from promptdsl.foundation.unicode import is_whole
from promptdsl.messages.prompt import Prompt
from promptdsl.messages.roles import FLEETING
from promptdsl.providers.shared.request import Place, Request
from promptdsl.providers.shared.two_sided import SPOKEN_KINDS

_kind = attrgetter("kind")
_FLEETING = frozenset(FLEETING)


def is_sendable(request: Request, place: Place, *texts: str | None) -> bool:
    """Return whether reasoning can be sent byte for byte; a lone surrogate in it is a hint."""
    if all(is_whole(text) for text in texts if text):
        return True
    request.lose(place, "hint", "reasoning", "it has a lone surrogate, which cannot be sent")
    return False


def stale_before(prompt: Prompt) -> int:
    """Return the index before which the bytes that reasoning is bound to have changed.

    That holds for models that bind reasoning to the bytes before it, as Anthropic documents for
    preserved thinking.
    """
    messages = prompt.messages
    if prompt.trimmed:
        return len(messages)
    if _FLEETING.isdisjoint(map(_kind, messages)):
        return 0
    last_request = max(n for n, message in enumerate(messages) if message.kind in FLEETING)
    # The last question: a user's turn of the conversation that answers no calls.
    asked = -1
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.role == "user" and message.kind in SPOKEN_KINDS:
            blocks = message.content if message.plain is None else ()
            if not any(block.type == "tool_result" for block in blocks):
                asked = index
                break
    is_after = last_request > asked or messages[asked].kind == "trailed"
    return len(messages) if is_after else asked
