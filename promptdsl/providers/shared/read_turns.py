"""Read payloads with two sides, their turns and replies.

Each result at the beginning of a user turn becomes a message.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import dropwhile, islice, pairwise, takewhile

import attrs

from promptdsl.config.wires import wires
from promptdsl.foundation.errors import DataError
from promptdsl.foundation.frozen import EMPTY, is_mapping
from promptdsl.foundation.json import JsonObject
from promptdsl.foundation.unicode import exact
from promptdsl.messages import Block, TextBlock, ToolUseBlock
from promptdsl.messages.details import JOINED, NO_DETAILS, Details
from promptdsl.messages.message import Message, message
from promptdsl.messages.pairing import first_answers
from promptdsl.messages.prompt import Prompt
from promptdsl.providers.shared.checks import located, located_items, mapping, required
from promptdsl.providers.shared.other_providers import looks_like, owner_of_message
from promptdsl.providers.shared.read_keys import ReadKeys


def payload_of(data: object) -> Mapping[str, object]:
    """Return a payload unchanged, and a list of messages as a payload."""
    return data if is_mapping(data) else {"messages": data}


def read_turns(
    data: object,
    read_content: Callable[[object], tuple[Block, ...]],
    read_settings: Callable[[Mapping[str, object]], Prompt],
    keys: ReadKeys,
) -> Prompt:
    """Return the prompt of a payload with a separate system text, or of a list of messages."""
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

    Services join such turns (recorded at Anthropic in 2026). With ``always``, any answer directly
    after calls is joined with them. The metadata have the number of joined answers.
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
        turns += _one_answer(run)
        calls = turn.role == "assistant" and turn._plain is None and bool(turn.calls)
        run = [turn] if calls else []
        turns += [] if calls else [turn]
    return [*turns, *_one_answer(run)]


def _is_open(
    run: Sequence[Message], turn: Message, messages: Sequence[Message], index: int
) -> bool:
    """Return whether each answer in a run has a call whose result comes after all the answers."""
    ids = [{call.id for call in answer.calls} for answer in run]
    own_calls = {call.id for call in turn.calls}
    rest = dropwhile(lambda message: message.role == "assistant", islice(messages, index, None))
    answered = {*first_answers(rest)}
    return all(own_calls.isdisjoint(before) and not answered.isdisjoint(before) for before in ids)


def _one_answer(run: Sequence[Message]) -> list[Message]:
    """Return a run of answers as a list with one message, empty for an empty run."""
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
    """Return the messages of a user turn: one for each result at its beginning, and the rest.

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
"""Our word by the word of a provider, as the SDKs list them; ``None`` for no end yet."""


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

    ``raw`` is the provider's word for the reason. It is kept, too, if our word is another one. An
    unknown word is also our word. A refusal is always ``refused``, and an end with calls is
    ``tool_use``: Gemini and Responses have no word for it, and Chat has ``stop`` if the request
    names the tool (vllm-project/vllm#25054). ``finish_reason`` is used instead of ``raw``.
    ``extra`` are the values under keys that are in no table of the provider.
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
