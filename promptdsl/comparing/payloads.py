"""The payload of any provider as a snapshot would keep its prompt."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import zip_longest
from typing import Any, get_args

import attrs

from promptdsl import (
    AdapterName,
    DataError,
    History,
    LibrarySection,
    ModelFacts,
    Prompt,
    PromptError,
    PromptRecord,
    ProviderId,
    ProviderName,
    Rendered,
    ToolResultBlock,
    UnknownBlock,
    read_payload,
    render,
)
from promptdsl.comparing.canonical import prompt_file
from promptdsl.comparing.escapes import shown
from promptdsl.comparing.snapshot_file import PromptFile, parse, serialise
from promptdsl.foundation.frozen import is_list, is_mapping
from promptdsl.foundation.source import author, door

TOLD_APART = [
    ProviderId(name) for name in get_args(AdapterName) if hasattr(History, f"from_{name}")
]
"""The providers that are told from a payload; one of ``openai_compatible`` looks like OpenAI's."""
_SHOWN_SIGN = re.compile(r'⟦⟦⟧((?:[a-z][a-z0-9_ .:-]*|"(?:[^"\\⟦⟧]|\\.)*"(?:-[0-9]+)?)⟧)')
"""The sign of a value that changes, shown as a text that has a literal bracket."""


@door
def payload_file(
    payload: Any,
    provider: ProviderName | None = None,  # Any: JSON data
) -> PromptFile:
    """Return the prompt of a payload as a snapshot keeps it, for its provider and model.

    A payload is a dictionary, or a list of messages. Its messages, tools, choice of a tool, form of
    the answer and model are kept; other keys, such as ``temperature``, are left out. Without a
    ``provider`` it is told from the payload. Signs in the payload of a snapshot, such as
    ``⟦date⟧``, stay signs.

    >>> from promptdsl.comparing import payload_file
    >>> messages = [{"role": "user", "content": "Hi"}]
    >>> file = payload_file({"system": "Be brief.", "messages": messages})
    >>> dict(file.header)["model"], [str(entry.title) for entry in file.entries]
    ('(anthropic)', ['system', 'user'])

    Raises :class:`DataError` for a payload that cannot be read, and for one whose provider cannot
    be told; :class:`TargetError` for an unknown provider.
    """
    rendered = payload_rendered(payload, provider)
    file = prompt_file(rendered)
    # Parsed again, it has no source lines: nobody wrote a recorded text there.
    read = parse(_SHOWN_SIGN.sub(r"⟦\1", serialise(file)))
    return attrs.evolve(read, total=file.total)


def payload_rendered(
    payload: Any,
    provider: ProviderName | None = None,  # Any: JSON data
) -> Rendered:
    """Return the prompt of a payload as it is rendered for its provider and model.

    Raises what :func:`payload_file` raises.
    """
    names = [payload.get("model"), payload.get("modelId")] if is_mapping(payload) else []
    model = next((name for name in names if isinstance(name, str) and name), None)
    if provider is None:
        provider, prompt = _told(payload, model)
    else:
        prompt = read_payload(payload, provider)
    return render(prompt, provider=provider, model=model)


def record_rendered(record: PromptRecord) -> Rendered:
    """Return the prompt of a record as it is rendered, with what the record knows of it.

    That are its pieces and their lines, its libraries, what was dropped, and its losses. Raises
    :class:`DataError` for a record without content, and what :func:`render` raises.
    """
    data, prompt = record.to_dict(), record.prompt
    facts, versions = data["model"], [LibrarySection(**row) for row in data["libraries"]]
    rendered = render(
        prompt,
        provider=facts["provider"],
        model=facts["model"],
        tool_choice=prompt.tool_choice,
        hints=False,
    )
    known: dict[str, object] = {
        "libraries": tuple(versions),
        "dropped": record.dropped,
        "losses": record.losses,
    }
    pairs = zip_longest(rendered.messages, prompt.messages)
    if all(one and two and one.content == two.content for one, two in pairs):
        known["_spans"] = record.spans
    vars(rendered).update(known)
    return rendered


def _told(payload: object, model: str | None) -> tuple[ProviderId, Prompt]:
    """Return the only provider whose reader knows the most of a payload, and the prompt."""
    if not (is_mapping(payload) or is_list(payload)):
        what = f"a payload is a dictionary or a list of messages, not {type(payload).__name__}"
        raise DataError(what, fix="give the arguments of a request, as JSON data", at=(author(),))
    prompts: dict[ProviderId, Prompt] = {}
    for name in TOLD_APART:
        with suppress(PromptError):
            prompts[name] = read_payload(payload, name)
    templated = [name for name in prompts if ModelFacts(name).wire.templated]
    if is_mapping(payload) and templated and ("prompt" in payload or _has_objects(payload)):
        # The text that the template wrote, or arguments as it takes them.
        return templated[0], prompts[templated[0]]
    if len(prompts) > 1:
        # Its reader takes messages in the form of others, too.
        prompts = {name: prompt for name, prompt in prompts.items() if name not in templated}
    strange = {name: sum(_strange_parts(prompt)) for name, prompt in prompts.items()}
    likely = [name for name, count in strange.items() if count == min(strange.values())]
    if len(likely) > 1 and model is not None:
        of_model = render(Prompt(), model=model).facts.provider
        likely = [name for name in likely if name == of_model] or likely
    # Of several with one adapter, the first has the usual dialect.
    by_adapter = {ModelFacts(name).wire.folder: name for name in reversed(likely)}
    likely = [name for name in likely if name in by_adapter.values()]
    if len(likely) == 1:
        return likely[0], prompts[likely[0]]
    first, *others = likely or TOLD_APART
    fix = f'name its provider: provider="{first}", or --for {first}; or {", ".join(others)}'
    what = "no provider has such messages"
    if likely:
        what = f"the payload may be one of {', '.join(likely[:-1])} or {likely[-1]}"
    elif is_mapping(payload):
        keys = [shown(str(key)[:40], one_line=True) for key in payload]
        more = f" and {len(keys) - 6} more" if len(keys) > 6 else ""
        what = f"no provider has a payload with the keys {', '.join(keys[:6]) or '(none)'}{more}"
    raise DataError(what, fix=fix, at=(author(),))


def _has_objects(payload: Mapping[str, object]) -> bool:
    """Return whether the arguments of calls are objects: in Chat they are texts of JSON."""
    messages = payload.get("messages")
    entries: list[Any] = [it for it in messages if is_mapping(it)] if is_list(messages) else []
    calls = [call for it in entries for call in it.get("tool_calls") or () if is_mapping(call)]
    functions = [call.get("function") for call in calls]
    return any(is_mapping(it) and is_mapping(it.get("arguments")) for it in functions)


def _strange_parts(prompt: Prompt) -> Iterator[bool]:
    """Yield for each part whether its reader did not know it, and kept it as it came."""
    # Only OpenAI's messages begin with system text.
    yield any(message.kind == "recorded_system" for message in prompt.messages[:1])
    yield from (tool.raw is not None for tool in prompt.tools)
    for message in prompt.messages:
        for block in message.content:
            inner = block.content if isinstance(block, ToolResultBlock) else ()
            yield from (isinstance(it, UnknownBlock) for it in (block, *inner))
