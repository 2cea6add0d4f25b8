"""Reading a reply: the message in the response of any provider, an object of an SDK or data."""

from collections.abc import Mapping
from enum import Enum
from typing import Any

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.frozen import plain
from promptdsl.foundation.json import ABSENT, read_json
from promptdsl.foundation.source import author
from promptdsl.messages.message import Message
from promptdsl.providers.registry import TARGETS
from promptdsl.providers.shared.checks import mapping

_GEMINI_KEYS = (
    *("candidates", "prompt_feedback", "promptFeedback"),
    *("usage_metadata", "usageMetadata", "model_version", "modelVersion"),
)


def read_response(reply: object, *, structured: bool = False) -> Message:
    """Return the assistant message of a reply: the object an SDK returned, or its dictionary form.

    The message holds what the model said, why it stopped (``finish_reason``: ``stop``, ``length``,
    ``tool_use``, ``filtered``, ``refused``, ``paused``, or the provider's own word), what was
    counted (``token_usage``, in tokens: ``input`` with what came from a cache, ``output``,
    ``cache_read``, ``cache_write``, ``reasoning``), and ``structured_output`` where the SDK
    parsed the answer. With ``structured=True`` the answer's text is read as JSON instead; a
    message that only calls tools has none yet.

    >>> from promptdsl import read_response
    >>> reply = {
    ...     "type": "message",
    ...     "content": [{"type": "text", "text": "Rain."}],
    ...     "stop_reason": "end_turn",
    ... }
    >>> message = read_response(reply)
    >>> message.text, message.finish_reason
    ('Rain.', 'stop')

    Raises :class:`DataError` for the response of no provider, and for an answer that is not JSON
    when ``structured`` asks for it.
    """
    try:
        entries = mapping(reply)
        provider = _provider(entries)
        if provider is None:
            raise DataError(f"a response of no provider, it has {', '.join(entries) or 'nothing'}")
        message = TARGETS[provider].adapter.read_response(entries)
        if message.role != "assistant":
            raise DataError(f"a response is what the model said, not a {message.role} message")
        parsed = plain(_as_data(_parsed(reply)), "structured_output")
    except DataError as error:
        fix = error.fix or "give the object the client returned: read_response(reply)"
        raise DataError(error.what, fix=fix, at=(author(),)) from None
    if structured:
        return message.replace(structured_output=_answer(message))
    return message if parsed is None else message.replace(structured_output=parsed)


def _provider(entries: Mapping[str, Any]) -> str | None:
    """Return the provider of a response by its keys, ``None`` where they tell none."""
    if "choices" in entries:
        return "openai"
    if not entries.keys().isdisjoint(_GEMINI_KEYS):
        return "gemini"
    output = entries.get("output")
    if "stopReason" in entries or isinstance(output, Mapping):
        return "bedrock"
    if entries.get("object") == "response" or isinstance(output, list):
        return "openai_responses"
    is_message = entries.get("type") == "message" or "stop_reason" in entries
    return "anthropic" if is_message and "content" in entries else None


def _parsed(reply: Any) -> Any:
    """Return the value an SDK parsed the answer to, ``None`` where it did not."""
    choice = next(iter(getattr(reply, "choices", None) or ()), None)
    message = getattr(choice, "message", None)
    names = ("parsed", "output_parsed", "parsed_output")
    values = (getattr(holder, name, None) for holder in (message, reply) for name in names)
    return next((value for value in values if value is not None), None)


def _as_data(value: Any) -> Any:
    """Return a value of a type of the user's own as data: models, enumerations, lists of them."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, list | tuple):
        return [_as_data(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value


def _answer(message: Message) -> Any:
    """Return the JSON value of an answer's text, ``None`` while the model asks for tools.

    Raises :class:`DataError`, with the author's line, for a text that is not JSON.
    """
    text = message.text
    if message.calls and not text.strip():
        return None
    value = read_json(text)
    if value is ABSENT:
        reason = message.finish_reason
        why = f" (finish_reason {reason!r})" if reason else ""
        raise DataError(
            f"the answer is no JSON{why}: {text[:60]!r}",
            fix="ask for it with an Output(schema), and leave room for the whole answer",
            at=(author(),),
        )
    return value
