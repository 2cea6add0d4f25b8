"""Read recorded data: check its keys and values, and read the turns of payloads with two sides.

First come the checks, then keys that only other providers have, then the tables of the keys that a
provider has, and last the turns and replies.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import dropwhile, islice, pairwise, takewhile
from typing import Any, NamedTuple, TypeAlias, TypeVar, overload

import attrs

from promptdsl.config.wires import provider_formats, wire_of, wires
from promptdsl.foundation.errors import DataError, misspelt, nearest, shown, shown_name
from promptdsl.foundation.frozen import EMPTY, is_list, is_mapping, plain
from promptdsl.foundation.json import JsonObject, JsonValue
from promptdsl.foundation.unicode import exact
from promptdsl.messages import Block, TextBlock, ToolUseBlock, UnknownBlock
from promptdsl.messages.blocks import CLASSES
from promptdsl.messages.details import JOINED, NO_DETAILS, Details, named
from promptdsl.messages.field_checks import CACHES, Cache
from promptdsl.messages.message import Message, message
from promptdsl.messages.pairing import answers_before_assistant
from promptdsl.messages.prompt import Prompt
from promptdsl.providers.shared.request import Param

# Check recorded data. Each error names the wrong key and its location.

D = TypeVar("D")
R = TypeVar("R")


def located(location: str, reader: Callable[[D], R], data: D) -> R:
    """Return the result of a reader; its :class:`DataError` names the location."""
    try:
        return reader(data)
    except DataError as error:
        raise DataError(f"{location}: {error.what}", fix=error.fix) from None


def located_items(location: str, reader: Callable[[object], R], data: object) -> Iterator[R]:
    """Yield the result of a reader for each item of a list; errors name ``location[index]``."""
    for index, item in enumerate(items(data, location)):
        yield located(f"{location}[{index}]", reader, item)


def items(data: object, location: str) -> Sequence[Any]:  # Any: recorded data
    """Return the items of a list; raises :class:`DataError` for any other value."""
    if is_list(data):
        return data
    fix = (
        "read it with json.loads first" if isinstance(data, str | bytes) else "give the list itself"
    )
    raise DataError(f"{location!r} must be a list, not {type(data).__name__}", fix=fix)


def mapping(data: object) -> Param:
    """Return a mapping as a new dictionary; raises :class:`DataError` for any other value.

    Response objects of SDKs, which are often among recorded messages, become dictionaries, too.
    """
    if is_mapping(data):
        return dict(data)
    # ``warnings``: an SDK would warn about a value that it parsed to a type of the user.
    options = {"mode": "json", "exclude_none": True, "by_alias": True, "warnings": False}
    for name, keywords in (("model_dump", options), ("to_dict", {})):
        dump = None if isinstance(data, type) else getattr(data, name, None)
        try:
            dumped: object = dump(**keywords) if callable(dump) else None
        except Exception as error:
            raise DataError(f"{type(data).__name__} cannot be read: {error}") from None
        if is_mapping(dumped):
            return dict(dumped)
    raise DataError(f"a dictionary is needed, not {type(data).__name__}")


@overload
def required(fields: Mapping[str, object], key: str, kind: type[str]) -> str: ...
@overload
def required(
    fields: Mapping[str, object], key: str, kind: type = object
) -> Any: ...  # Any: a mapping, or a value that the caller checks
def required(fields: Mapping[str, object], key: str, kind: type = object) -> object:
    """Return the value of a key; raises :class:`DataError` if it is missing or has another type."""
    if key not in fields:
        fix = misspelt(key, fields) or nearest(key, map(shown_name, fields))
        raise DataError(f"{key!r} is needed", fix=fix)
    value = fields[key]
    if not isinstance(value, kind):
        raise DataError(f"{key!r} must be {_NAMES_OF_TYPES[kind]}, not {type(value).__name__}")
    return value


_NAMES_OF_TYPES: Mapping[type, str] = {str: "a string", list: "a list", Mapping: "a dictionary"}


def with_nulls(data: object, nulls: Mapping[str, Sequence[str]]) -> Any:  # Any: JSON
    """Return data with the keys that a request needs even if their value is null.

    ``mapping`` reads an object of an SDK without nulls, so these keys may be missing. ``nulls`` has
    these keys by type of object.
    """
    if is_list(data):
        return [with_nulls(item, nulls) for item in data]
    if not is_mapping(data):
        return data
    fields = {key: with_nulls(value, nulls) for key, value in data.items()}
    return {
        **fields,
        **{key: None for key in nulls.get(str(data.get("type")), ()) if key not in data},
    }


def read_mark(control: object) -> Cache | None:
    """Return the time to live of a cache mark, ``None`` for no mark.

    Raises :class:`DataError` for an unknown time to live.
    """
    ttl = None if control is None else mapping(control).get("ttl", "default")
    if ttl not in (None, *CACHES):
        raise DataError(f"unknown 'ttl' {shown(ttl)}", fix="'5m' or '1h'")
    return ttl


def usage(*, total: object = None, **counts: object) -> Mapping[str, int] | None:
    """Return the token counts of a response, ``None`` if it has none.

    - ``input`` counts all tokens of the request, ``cache_read`` those that came from a cache, and
      ``cache_write`` those that were written to a cache.
    - ``output`` counts all tokens of the answer, ``reasoning`` those of its reasoning.
    - ``total`` is the count of the provider, or else the sum of input and output.
    """
    token_counts = {name: count for name, count in counts.items() if type(count) is int}
    if type(total) is int or token_counts.keys() >= {"input", "output"}:
        token_counts["total"] = (
            total if type(total) is int else token_counts["input"] + token_counts["output"]
        )
    return token_counts or None


def openai_usage(
    token_counts: object, input_name: str = "prompt", output_name: str = "completion"
) -> Mapping[str, int] | None:
    """Return the token counts in OpenAI's format.

    Its keys begin with ``input_name`` and ``output_name``, such as ``prompt_tokens``.
    """
    counts = mapping(token_counts or {})
    input_details = mapping(counts.get(f"{input_name}_tokens_details") or {})
    output_details = mapping(counts.get(f"{output_name}_tokens_details") or {})
    return usage(
        total=counts.get("total_tokens"),
        input=counts.get(f"{input_name}_tokens"),
        output=counts.get(f"{output_name}_tokens"),
        cache_read=input_details.get("cached_tokens"),
        cache_write=input_details.get("cache_write_tokens"),
        reasoning=output_details.get("reasoning_tokens"),
    )


def total(*counts: object) -> int | None:
    """Return the sum of the counts that are integers, ``None`` if there is none."""
    integers = [count for count in counts if type(count) is int]
    return sum(integers) if integers else None


# Recognise and refuse keys and parts that only other providers have.


@cache
def _owners(origin: str) -> Mapping[object, Sequence[tuple[str, str]]]:
    """Return the types of parts that only other providers than ``origin`` have.

    Each type has pairs: a key by which the part is recognised, and the provider that has the part.
    """
    own_parts = wire_of(origin).parts
    owners: dict[object, list[tuple[str, str]]] = {}
    for wire in provider_formats():
        for kind, part in wire.parts.items():
            if part.recognised_by and kind not in own_parts:
                owners.setdefault(kind, []).append((part.recognised_by, wire.name))
    return owners


def refuse_part(part: Mapping[str, object], origin: str) -> None:
    """Raise :class:`DataError` for a part that another provider has and ``origin`` does not."""
    if owner := owner_of(part, origin):
        raise DataError(f"there is no part of type {part['type']!r} here", fix=looks_like(owner))


def owner_of(part: Mapping[str, object], origin: str = "") -> str | None:
    """Return another provider than ``origin`` that has such a part, ``None`` if there is none."""
    kind = part.get("type")
    owners = _owners(origin).get(kind, ()) if isinstance(kind, str) else ()
    return next((owner for key, owner in owners if key in part), None)


def owner_of_message(fields: Mapping[str, object]) -> tuple[str, str] | None:
    """Return a key of a message that only one provider has, and this provider, or ``None``."""
    return next((owned for owned in _keys_of_one_provider() if fields.get(owned[0])), None)


@cache
def _keys_of_one_provider() -> Sequence[tuple[str, str]]:
    """Return the keys of messages that only one provider has, each with this provider."""
    return [(key, wire.name) for wire in provider_formats() for key in wire.own_keys]


def why_unknown(block: UnknownBlock, *origins: str) -> str:
    """Return why an unknown block is not sent, empty if it comes from one of the origins."""
    if block.origin is not None:
        return "" if block.origin in origins else f"only {block.origin} knows it"
    if owner := owner_of(block.data):
        return looks_like(owner)
    close = nearest(str(block.data.get("type"))[:60], CLASSES)
    if close.startswith("did"):  # "did you mean": there is a similar type
        return f"no block has this type: {close}"
    return "no block has this type; read the data of a provider with History.from_openai, and so on"


def looks_like(owner: str) -> str:
    """Return the advice for data that another provider has."""
    return f"this looks like {owner}: History.from_{owner}"


# The table of the keys of a provider, and the search for keys that are not in the table.
#
# The table has the keys of answers and of recorded messages. A reader reads a key in a ``shape``,
# or keeps it under its name. A key in ``no_content`` is an id, a date or the like, and says nothing
# about the content: it is left out of an answer, but unread in a recorded message. The page of the
# provider lists these keys. Any other key is unread: :attr:`Message.extra` keeps it, and when the
# message is sent there is a hint ``unread_key``.


@attrs.frozen(eq=False)
class Shape:
    """The keys of an object that are read: their names, and the shapes of some of their values.

    With ``rest``, the block keeps all further keys.
    """

    names: frozenset[str]
    inner: Mapping[str, "Inner"]
    rest: bool = False

    def also(self, *names: str, **inner: "Inner") -> "Shape":
        """Return the shape with further keys."""
        return Shape(self.names.union(names, inner), {**self.inner, **inner}, self.rest)


Inner: TypeAlias = Shape | Callable[[Mapping[str, Any]], Shape | None]
"""The shape of an object, or a function of the object that returns its shape.

The function returns ``None`` if all keys are read."""

KeyLocation: TypeAlias = tuple[Any, str | int]  # Any: the location of the container, or None
"""The location of a value: the location of its container, and its key or index there."""


def shape(*names: str, rest: bool = False, **inner: Inner) -> Shape:
    """Return the shape of an object: ``names`` are read completely, ``inner`` by their shape."""
    return Shape(frozenset(names).union(inner), inner, rest)


def _as_mapping(value: object) -> Mapping[str, Any]:
    return value if is_mapping(value) else mapping(value)


class ReadKeys(NamedTuple):
    """The table of keys of a provider."""

    payload: Mapping[str, Inner]
    """The keys of a request that are read. A list of messages is the value of the last key."""
    response: Shape = shape()
    """The keys of a response, except the keys of the message in it."""
    no_content: Collection[str] = ()
    """The keys of a response that have no content, at any location."""
    repeated: Collection[str] = ()
    """The keys of a response that repeat its request."""
    fields_of: Callable[[object], Mapping[str, Any]] = _as_mapping
    """Returns a mapping with its keys spelled as in these tables."""

    def unread_of_response(self, response: object, answer: JsonObject = EMPTY) -> JsonObject:
        """Return the values of the unread keys of a response. Keys without content are left out.

        ``answer`` are the values of the unread keys of the message in the response.
        """
        outer = self.unread(response, self.response)
        if not (outer or answer):
            return EMPTY
        unread = {**outer, **answer}
        no_content = self.no_content
        return {path: unread[path] for path in unread if path.rpartition(".")[2] not in no_content}

    def unread(self, value: object, inner: Inner) -> JsonObject:
        """Return the values of the unread keys of a recorded message, by their location in it."""
        if not value or type(value) is str:
            return EMPTY
        objects = value if is_list(value) else (value,)
        if all(is_mapping(item) and _reads_all(item, inner) for item in objects):
            return EMPTY
        search = KeySearch(self.fields_of)
        searched: object = value
        search.find(searched, inner, None)
        values = (pair for pairs in search.values.values() for pair in pairs)
        return {path_of(location): _as_json(content) for location, content in values} or EMPTY

    def details_of(self, value: object, inner: Inner, name: str | None = None) -> Details:
        """Return the details of a recorded message: a name, and the values of unread keys."""
        unread = self.unread(value, inner)
        if unread:
            return Details(name=name, extra=unread)
        return NO_DETAILS if name is None else named(name)


def _reads_all(value: Mapping[str, Any], inner: Inner) -> bool:
    """Return whether all keys of an object are in its shape. This is faster than a search."""
    shape = inner if isinstance(inner, Shape) else inner(value)
    if shape is None:
        return True
    if not (shape.rest or value.keys() <= shape.names):
        return False
    for key, content in value.items():
        if type(content) is str or key not in shape.inner or not content:
            continue
        deeper = shape.inner[key]
        contents = content if is_list(content) else (content,)
        for item in contents:
            if type(item) is not str and not (is_mapping(item) and _reads_all(item, deeper)):
                return False
    return True


def _as_json(value: object) -> JsonValue:
    """Return a value as JSON, or the name of its type if JSON cannot express it."""
    try:
        return plain(value, "extra")
    except DataError:
        return f"<{type(value).__name__}>"


class KeySearch:
    """A search for unread keys.

    ``values`` has the location and the value of each unread key, by the keys that lead to it.
    """

    def __init__(self, fields_of: Callable[[object], Mapping[str, Any]]) -> None:
        self.values: dict[tuple[str, ...], list[tuple[KeyLocation, object]]] = {}
        self.fields_of = fields_of

    def find(self, value: object, inner: Inner, location: KeyLocation | None) -> None:
        """Note the unread keys in a value. It goes as deep as the shape, not as the value."""
        if is_list(value):
            for index, item in enumerate(value):
                # Another thread of the author may change the data at this moment.
                with suppress(DataError, TypeError, RuntimeError):
                    if not (is_mapping(item) and _reads_all(item, inner)):
                        self.find(item, inner, (location, index))
            return
        if isinstance(value, str) or not value:
            return
        fields = self.fields_of(value)
        shape = inner if isinstance(inner, Shape) else inner(fields)
        if shape is None:
            return
        for key, content in fields.items():
            if key in shape.inner:
                if type(content) is not str:
                    self.find(content, shape.inner[key], (location, key))
            elif not shape.rest and key not in shape.names and _has_content(content):
                name = shown_name(key)[:60]
                names = [step for step in _steps(location) if isinstance(step, str)]
                self.values.setdefault((*names, name), []).append(((location, name), content))


def _has_content(content: object) -> bool:
    """Return whether content is something else than ``None`` or an empty text, list or mapping."""
    is_json = content is None or isinstance(content, str) or is_list(content) or is_mapping(content)
    return not is_json or bool(content)


def _steps(location: KeyLocation | None) -> Iterator[str | int]:
    """Return the keys and indices that lead to a location, from the outside in."""
    steps: list[str | int] = []
    while location is not None:
        location, step = location
        steps.append(step)
    return reversed(steps)


def path_of(location: KeyLocation | None) -> str:
    """Return a location as a path such as ``messages[0].content``."""
    path = ""
    for step in _steps(location):
        path += f".{step}" if isinstance(step, str) else f"[{step}]"
    return path.removeprefix(".")


# The keys of Chat and of chat templates.

MESSAGE_KEYS = ("role", "content", "name")
"""The keys of every message."""
ANSWER_KEYS = ("reasoning_content", "reasoning", "refusal")
"""The further keys of an answer, next to its calls."""
FUNCTION = shape("name", "arguments", "parsed_arguments")
_CALL = shape("id", "type", function=FUNCTION, custom=shape("name", "input"))
_FLAT_CALL = shape("id", "call_id", "type", "name", "arguments")


def call_keys(call: Mapping[str, Any]) -> Shape:
    """Return the keys of a call in a message of Chat, or of a chat template."""
    is_flat = "name" in call and "function" not in call
    return _FLAT_CALL if is_flat else _CALL


# Read payloads with two sides: their turns and replies.
#
# Each result at the beginning of a user turn becomes a separate message.


def payload_of(data: object) -> Mapping[str, object]:
    """Return a payload unchanged, and a list of messages as a payload."""
    return data if is_mapping(data) else {"messages": data}


def read_turns(
    data: object,
    read_content: Callable[[object], tuple[Block, ...]],
    read_settings: Callable[[Mapping[str, object]], Prompt],
    keys: ReadKeys,
) -> Prompt:
    """Return the prompt of a payload with a separate system text, or of a list of messages.

    Raises :class:`DataError` with the location of what cannot be read.
    """
    payload = payload_of(data)
    system_text = payload.get("system")
    system = located("system", read_content, () if system_text is None else system_text)
    details = keys.details_of(system_text, keys.payload["system"])
    messages = [message("system", system, kind="recorded", details=details)] if system else []

    def read_turn(data: object) -> list[Message]:
        fields = mapping(data)
        if owned := owner_of_message(fields):
            raise DataError(f"a message has no key {owned[0]!r} here", fix=looks_like(owned[1]))
        role = required(fields, "role", str)
        content = read_content(required(fields, "content"))
        details = keys.details_of(fields, keys.payload["messages"])
        if role == "system":
            return [message("developer", content, kind="recorded_system", details=details)]
        if role == "assistant":
            return [message("assistant", content, kind="recorded", details=details)]
        if role != "user":
            raise DataError(f"unknown 'role' {role!r}", fix="one of user, assistant, system")
        return user_messages(content, details)

    for turn in located_items("messages", read_turn, required(payload, "messages")):
        messages += turn
    return attrs.evolve(read_settings(payload), messages=tuple(joined_answers(messages)))


def joined_answers(messages: Sequence[Message], *, always: bool = False) -> list[Message]:
    """Return messages in which answers in a row are one message if results for all follow them.

    Services join such turns (recorded at Anthropic in 2026). With ``always``, an answer directly
    after an answer with calls is always joined with it. ``metadata`` has the number of joined
    answers.
    """
    roles = [turn.role for turn in messages]
    if not any(before == role == "assistant" for before, role in pairwise(roles)):
        return [*messages]
    turns: list[Message] = []
    run: list[Message] = []
    for index, turn in enumerate(messages):
        if run and turn.role == "assistant" and (always or _is_open(run, turn, messages, index)):
            run.append(turn)
            continue
        turns += _joined_answer(run)
        calls = turn.role == "assistant" and turn._plain is None and bool(turn.calls)
        run = [turn] if calls else []
        turns += [] if calls else [turn]
    return [*turns, *_joined_answer(run)]


def _is_open(
    run: Sequence[Message], turn: Message, messages: Sequence[Message], index: int
) -> bool:
    """Return whether an answer is joined with the run of answers before it.

    Each answer of the run must have a call whose result comes after all answers, and no call may
    have the id of a call in the answer.
    """
    ids = [{call.id for call in answer.calls} for answer in run]
    turn_ids = {call.id for call in turn.calls}
    rest = dropwhile(lambda message: message.role == "assistant", islice(messages, index, None))
    answered = {*answers_before_assistant(rest)}
    return all(turn_ids.isdisjoint(before) and not answered.isdisjoint(before) for before in ids)


def _joined_answer(run: Sequence[Message]) -> list[Message]:
    """Return a list with the message that a run of answers makes, empty for an empty run."""
    if len(run) < 2:
        return [*run]
    blocks = tuple(block for answer in run for block in answer.content)
    extra = {
        f"[{n}].{key}": answer.extra[key] for n, answer in enumerate(run) for key in answer.extra
    }
    name = next((answer.name for answer in run if answer.name), None)
    details = Details(name=name, extra=extra, metadata={JOINED: len(run)})
    return [message("assistant", blocks, kind="recorded", details=details)]


def user_messages(content: tuple[Block, ...], details: Details = NO_DETAILS) -> list[Message]:
    """Return the messages of a user turn: one for each result at its beginning, one for the rest.

    The last message has the ``details`` of the turn.
    """
    results = list(takewhile(lambda block: block.type == "tool_result", content))
    rest = content[len(results) :]
    messages = [message("tool", (block,), kind="recorded") for block in results]
    if rest or not results:
        return [*messages, message("user", rest, kind="recorded", details=details)]
    *before, last = messages
    return [*before, message("tool", last.content, kind="recorded", details=details)]


FINISH_REASONS: Mapping[str, str | None] = {
    raw: word or None
    for wire in wires()
    for word, raws in wire.finish_reasons.items()
    for raw in raws
}
"""By a provider's word for why it stopped, our word. ``None`` means: the answer has not ended yet.

The words are those in the SDKs."""


def reply_message(
    blocks: tuple[Block, ...],
    raw: str | None,
    token_usage: Mapping[str, object] | None,
    *,
    name: str | None = None,
    finish_reason: str | None = None,
    extra: JsonObject = EMPTY,
) -> Message:
    """Return the message of a reply with its token counts and its finish reason.

    ``raw`` is the provider's word for the finish reason. If our word is another one, the message
    has both. An unknown word stays as it is. ``finish_reason`` is our word if the caller knows it.

    A refusal is always ``refused``, and an end with calls is ``tool_use``: Gemini and Responses
    have no word for it, and Chat has ``stop`` if the request names the tool
    (vllm-project/vllm#25054).

    ``extra`` are the values of the unread keys.
    """
    raw = None if raw is None else exact(raw)
    word = finish_reason or FINISH_REASONS.get(raw or "", raw)
    if any(isinstance(block, TextBlock) and block.extra.get("refusal") for block in blocks):
        word = "refused"
    elif word == "stop" and any(isinstance(block, ToolUseBlock) for block in blocks):
        word = "tool_use"
    details = Details(
        name=name,
        token_usage=token_usage,
        finish_reason=word,
        raw_finish_reason=None if raw == word else raw,
        extra=extra,
    )
    return message("assistant", blocks, kind="recorded", details=details)
