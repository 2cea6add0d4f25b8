"""Read a reply: return the message in a response, an object of an SDK or a dictionary.

After ``read_response`` come its structured output and ids, then the advice about what is no reply,
and at the end how the provider of a reply or an event is recognised by its keys.
"""

from collections.abc import Mapping
from contextlib import suppress
from enum import Enum
from functools import cache, partial
from typing import cast

from promptdsl.config.models import check_provider
from promptdsl.config.wires import provider_formats, wire_of
from promptdsl.foundation.answers import has_shape, read_answer
from promptdsl.foundation.errors import DataError, OptionError, TargetError, shown, shown_name
from promptdsl.foundation.frozen import is_list, list_or_empty, mapping_or_empty, plain
from promptdsl.foundation.json import Absent, JsonValue
from promptdsl.foundation.source import author, public_api
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import OutputSchema
from promptdsl.messages.provider_names import ProviderName
from promptdsl.messages.schemas import resolved
from promptdsl.providers.registry import TARGETS
from promptdsl.providers.shared.checks import mapping


@public_api
def read_response(
    reply: object,
    *,
    structured: bool | OutputSchema | None = False,
    provider: ProviderName | None = None,
    id: str | None = None,
) -> Message:
    """Return the assistant message of a reply: the object that an SDK returned, or a dictionary.

    Next to the content of the model, the message has:

    - ``finish_reason`` is why the model stopped: ``stop``, ``length``, ``tool_use``, ``filtered``,
      ``refused``, ``paused``, ``error``, or an unknown word as the provider sent it.
      ``raw_finish_reason`` is the provider's word if it is another one.
    - ``token_usage`` has the token counts: ``input`` (also from a cache), ``output``,
      ``cache_read``, ``cache_write``, ``reasoning`` and ``total``.
    - ``metadata["response_id"]`` is the provider's id of the reply.
    - ``structured_output`` is the value if the SDK parsed the answer.

    The options:

    - With ``structured=True``, ``structured_output`` is the JSON value in the text of the answer:
      the complete text, the value in a code fence, or the only object or list in the prose. A
      message that only calls tools has none. If there may be several values, write the schema
      instead, such as ``rendered.output``: the value with its type and its required keys is read.
    - ``provider`` names the server that sent the reply, such as ``deepseek``. Content that only
      this server takes is sent back to this server only. By default the provider is recognised by
      the keys of the reply, and a reply of Chat may come from any server.
    - ``id`` is the id of the message, with which a ``History`` can pin it and a transcript can find
      it.

    A stream is read with :func:`read_stream`.

    >>> from promptdsl import read_response
    >>> content = [{"type": "text", "text": "Rain."}]
    >>> reply = {"type": "message", "content": content, "stop_reason": "end_turn"}
    >>> message = read_response(reply)
    >>> message.text, message.finish_reason
    ('Rain.', 'stop')

    Raises :class:`DataError` for a reply that no provider sends or that ``provider`` does not send,
    and for an error without an answer. If ``structured`` asks for a value, it also raises it for an
    answer with none or with several, and for a refusal. Raises :class:`TargetError` for an unknown
    provider.
    """
    asked = cast("object", structured)
    if not isinstance(asked, bool | OutputSchema | None):
        fix = "write True, or a schema such as rendered.output"
        raise OptionError(f"structured={shown(structured)}", fix=fix, at=(author(),))
    named = named_provider(provider)
    if id is not None and (not isinstance(id, str) or not id):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise OptionError(f"id={shown(id)}", fix="write a text that is not empty", at=(author(),))
    try:
        fields = mapping(reply)
        sender = provider_of(fields)
        if sender is None:
            keys = ", ".join(map(shown_name, fields)) or "none"
            raise DataError(f"no provider sends a response with these keys: {keys}")
        message = with_response_id(TARGETS[sent_by(sender, named)].read_response(fields), fields)
        message = message if id is None else message.replace(id=id)
        if message.role != "assistant":
            raise DataError(f"a response is a message of the model, not a {message.role} message")
        parsed = plain(_as_data(_parsed(reply)), "structured_output")
    except DataError as error:
        fix = advice_about(reply) or error.fix or "give the object the client returned"
        raise DataError(error.what, fix=fix, at=(author(),)) from None
    if structured is None or structured is False:
        return message if parsed is None else message.replace(structured_output=parsed)
    if message.calls and not message.text.strip():
        return message
    try:
        return message.replace(structured_output=_answer_of(message, structured))
    except DataError as error:
        raise DataError(error.what, fix=error.fix, at=(author(),)) from None


def _parsed(reply: object) -> object:
    """Return the value to which an SDK parsed the answer of a reply, ``None`` if it did not."""
    choice = next(iter(getattr(reply, "choices", None) or ()), None)
    for container in (getattr(choice, "message", None), reply):
        for name in ("parsed", "output_parsed", "parsed_output"):
            value = getattr(container, name, None)
            if value is not None:
                return value
    return None


def _answer_of(message: Message, structured: OutputSchema | bool) -> JsonValue:
    """Return the JSON value in an answer; raises :class:`DataError` if there is none."""
    reason = f" (finish_reason {message.finish_reason!r})" if message.finish_reason else ""
    if message.is_refusal:
        what = f"the model refused to answer{reason}: {message.text[:60]!r}"
        raise DataError(what, fix="ask for something else, or show the refusal")
    fits = None
    if isinstance(structured, OutputSchema):
        fits = partial(has_shape, schema=resolved(structured.schema, structured.schema))
    answer = read_answer(message.text, fits)
    if isinstance(answer, Absent):
        raise DataError(
            f"the answer is not JSON{reason}: {message.text[:60]!r}",
            fix="ask for it with an Output(schema), and allow tokens for the complete answer",
        )
    return answer


def with_response_id(message: Message, fields: Mapping[str, object]) -> Message:
    """Return the message of a reply, with the provider's id of the reply if there is one."""
    id = response_id(fields)
    if id is None:
        return message
    return message.replace(metadata={**message.metadata, "response_id": id})


def response_id(fields: Mapping[str, object]) -> str | None:
    """Return the provider's id of a reply, ``None`` without one. Replies of Bedrock have none."""
    ids = map(fields.get, ("id", "response_id", "responseId"))
    return next((id for id in ids if isinstance(id, str) and id), None)


def named_provider(provider: str | None) -> str | None:
    """Return the provider that an author named; raises :class:`TargetError` if it is unknown."""
    try:
        if provider is not None:
            check_provider(provider)
    except TargetError as error:
        raise error.located(author()) from None
    return provider


def sent_by(sender: str, named: str | None) -> str:
    """Return the provider of a reply: ``named``, or ``sender`` if no provider is named.

    ``sender`` is the provider whose format the reply has. Raises :class:`DataError` if the named
    provider sends replies in another format.
    """
    if named is None or wire_of(named).provider_format == sender:
        return named or sender
    problem = f"{named} sends replies in another format: this one looks like {sender}"
    raise DataError(problem, fix="name the provider or the server that sent it, or leave it out")


def advice_about(reply: object, reader: str = "read_response") -> str:
    """Return the advice for an object that is not a reply, or an empty string."""
    if isinstance(reply, Message):
        return "it is a message already"
    if isinstance(reply, str):
        return 'a text alone is Message("assistant", text)'
    if hasattr(reply, "__await__"):
        from promptdsl.foundation.remedies import close

        close(reply)
        return f"await the client: {reader}(await client...)"
    if hasattr(reply, "__aiter__"):
        loop = "reading = aread_stream(stream); async for event in reading: ..."
        advice = f"read an asynchronous stream by {loop}; then reading.message"
        return "read its message: reading.message" if hasattr(reply, "__iter__") else advice
    if hasattr(reply, "__enter__") and not hasattr(reply, "__iter__"):
        return "open it: with ... as stream: reading = read_stream(stream)"
    first: object = reply[0] if is_list(reply) and reply else reply
    fields: Mapping[str, object] = {}
    with suppress(DataError):
        fields = mapping(first)
    provider = event_provider(fields)
    # If the events of a provider are complete responses, a single one is a response.
    is_event = provider != "" and (first is not reply or wire_of(provider).event != ())
    is_iterator = hasattr(reply, "__iter__") and hasattr(reply, "close")
    if is_event or is_iterator or "stream" in fields or hasattr(reply, "__next__"):
        loop = "reading = read_stream(stream); for event in reading: ..."
        return f"read a stream by {loop}; then reading.message"
    if "role" in fields:
        return "it is a message: read it with a History, such as History.from_openai([message])"
    return "the request failed: read reply['error']" if fields.get("error") else ""


def event_provider(event: Mapping[str, object]) -> str:
    """Return the provider that sends such an event, an empty string for an unknown one."""
    signs = [f"{key}: {shown_name(event.get(key))}" for key in ("type", "object")]
    for key, value in event.items():
        name = shown_name(key)
        signs.append(f"key: {name}")
        for item in list_or_empty(value):
            signs += [f"{name}[]: {shown_name(inner)}" for inner in mapping_or_empty(item)]
    for wire in provider_formats():
        if any(sign.startswith(wire.event) for sign in signs):
            return wire.name
    provider = provider_of(event)
    if provider is None or wire_of(provider).event:
        return ""
    return provider


def provider_of(fields: Mapping[str, object]) -> str | None:
    """Return the provider whose responses have these keys, ``None`` if no provider has them.

    A key that only one provider has is checked before pairs of keys that others may have, too.
    """
    for sign, provider in _signs():
        if all(_has(fields, key, value) for key, value in sign.items()):
            return provider
    return None


@cache
def _signs() -> list[tuple[Mapping[str, object], str]]:
    """Return the keys by which responses are recognised, single keys first, with the provider."""
    signs = [(sign, wire.name) for wire in provider_formats() for sign in wire.response]
    return sorted(signs, key=lambda known: len(known[0]))


def _has(fields: Mapping[str, object], key: str, wanted: object) -> bool:
    """Return whether there is a key with a value, or with a value of a type."""
    value = fields.get(key)
    is_right = isinstance(value, wanted) if isinstance(wanted, type) else value == wanted
    return key in fields and is_right


def _as_data(value: object) -> object:
    """Return a value of a type of the user as data: a model, an enumeration, or a list of them."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    if isinstance(value, Enum):
        return value.value
    return [_as_data(item) for item in value] if is_list(value) else value
