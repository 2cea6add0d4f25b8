"""Which reasoning may be replayed: whole, and only where the bytes before it still stand."""

from operator import attrgetter

from promptdsl.foundation.unicode import is_whole
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import Prompt
from promptdsl.messages.roles import FLEETING
from promptdsl.providers.shared.request import Place, Request
from promptdsl.providers.shared.two_sided import SPOKEN_KINDS


def is_sendable(request: Request, place: Place, *texts: str | None) -> bool:
    """Return whether reasoning can be replayed to the byte; a hint for a lone surrogate in it."""
    if all(is_whole(text) for text in texts if text):
        return True
    request.lose(place, "hint", "reasoning", "it holds a lone surrogate, which cannot be sent")
    return False


def stale_before(prompt: Prompt) -> int:
    """Return the index before which reasoning is bound to bytes that no longer stand.

    That holds for models that bind reasoning to the bytes before it, as Anthropic documents for
    preserved thinking.
    """
    messages = prompt.messages
    if prompt.trimmed:
        return len(messages)
    if _FLEETING.isdisjoint(map(_kind, messages)):
        return 0
    requests = [n for n, m in enumerate(messages) if m.kind in FLEETING]
    # The last question: a user's turn of the conversation that answers no calls.
    users = (n for n, m in enumerate(messages) if m.role == "user" and m.kind in SPOKEN_KINDS)
    asked = max((n for n in users if not _holds_result(messages[n])), default=-1)
    behind = requests[-1] > asked or messages[asked].kind == "trailed"
    return len(messages) if behind else asked


_kind = attrgetter("kind")
_FLEETING = frozenset(FLEETING)


def _holds_result(said: Message) -> bool:
    return said.plain is None and any(block.type == "tool_result" for block in said.content)
