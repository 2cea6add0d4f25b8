"""The payload of any provider, read back as a prompt and as the snapshot of this prompt."""

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
from promptdsl.foundation.source import author, public_api

RECOGNISED = [
    ProviderId(name) for name in get_args(AdapterName) if hasattr(History, f"from_{name}")
]
"""The providers that are recognised; a payload for ``openai_compatible`` looks like OpenAI's."""
_SHOWN_SIGN = re.compile(r'⟦⟦⟧((?:[a-z][a-z0-9_ .:-]*|"(?:[^"\\⟦⟧]|\\.)*"(?:-[0-9]+)?)⟧)')
"""The sign of a value that changes, after its bracket was shown as a literal one."""


@public_api
def payload_file(
    payload: Any,
    provider: ProviderName | None = None,  # Any: JSON data
) -> PromptFile:
    """Return the snapshot of the prompt in a payload, for its provider and model.

    A payload is a dictionary, or a list of messages. Its messages, tools, tool choice, output
    schema and model are kept; other keys, such as ``temperature``, are left out. Without
    ``provider``, the provider is recognised by the payload. Signs in the payload of a snapshot,
    such as ``⟦date⟧``, stay signs.

    >>> from promptdsl.comparing import payload_file
    >>> messages = [{"role": "user", "content": "Hi"}]
    >>> file = payload_file({"system": "Be brief.", "messages": messages})
    >>> dict(file.header)["model"], [str(entry.title) for entry in file.entries]
    ('(anthropic)', ['system', 'user'])

    Raises :class:`DataError` for a payload that cannot be read or whose provider is not clear, and
    :class:`TargetError` for an unknown provider.
    """
    rendered = payload_rendered(payload, provider)
    file = prompt_file(rendered)
    # Parsed again, it has no source lines: no line of this program wrote the texts.
    read = parse(_SHOWN_SIGN.sub(r"⟦\1", serialise(file)))
    return attrs.evolve(read, total=file.total)


def payload_rendered(
    payload: Any,
    provider: ProviderName | None = None,  # Any: JSON data
) -> Rendered:
    """Return the prompt of a payload, rendered for its provider and model.

    Raises what :func:`payload_file` raises.
    """
    names = [payload.get("model"), payload.get("modelId")] if is_mapping(payload) else []
    model = next((name for name in names if isinstance(name, str) and name), None)
    if provider is None:
        provider, prompt = _recognised(payload, model)
    else:
        prompt = read_payload(payload, provider)
    return render(prompt, provider=provider, model=model)


def record_rendered(record: PromptRecord) -> Rendered:
    """Return the prompt of a record, rendered again, with further facts from the record.

    These are the spans and their source lines, the libraries, the dropped parts, the losses and the
    hints. Raises :class:`DataError` for a record without content, and what :func:`render` raises.
    """
    data, prompt = record.to_dict(), record.prompt
    facts, versions = data["model"], [LibrarySection(**row) for row in data["libraries"]]
    rendered = render(
        prompt,
        provider=facts["provider"],
        model=facts["model"],
        tool_choice=prompt.tool_choice,
        transformation={"json_keys": _json_keys(data["settings"])},
        hints=False,
    )
    facts_of_record: dict[str, object] = {
        "libraries": tuple(versions),
        "dropped": record.dropped,
        "losses": record.losses,
        "hints": record.hints,
    }
    pairs = zip_longest(rendered.messages, prompt.messages)
    if all(new and old and new.content == old.content for new, old in pairs):
        facts_of_record["_spans"] = record.spans
    vars(rendered).update(facts_of_record)
    return rendered


def _json_keys(settings: Any) -> Any:  # Any: JSON
    """Return the order of keys that a record was sent with; older records do not have it."""
    setting = settings.get("json_keys", {"value": None}) if is_mapping(settings) else None
    if is_mapping(setting) and "value" in setting:
        return setting["value"]
    what = "not a record: its settings do not say the value of json_keys"
    raise DataError(what, fix="give what PromptRecord.to_dict() returned", at=(author(),))


def _recognised(payload: object, model: str | None) -> tuple[ProviderId, Prompt]:
    """Return the provider whose reader understands most of a payload, and the prompt it reads."""
    if not (is_mapping(payload) or is_list(payload)):
        what = f"a payload is a dictionary or a list of messages, not {type(payload).__name__}"
        raise DataError(what, fix="give the arguments of a request, as JSON data", at=(author(),))
    prompts: dict[ProviderId, Prompt] = {}
    for name in RECOGNISED:
        with suppress(PromptError):
            prompts[name] = read_payload(payload, name)
    templated = [name for name in prompts if ModelFacts(name).wire.templated]
    if is_mapping(payload) and templated and ("prompt" in payload or _has_objects(payload)):
        # It has the text of a chat template, or call arguments as chat templates take them.
        return templated[0], prompts[templated[0]]
    if len(prompts) > 1:
        # The reader of chat templates also takes messages in other formats.
        prompts = {name: prompt for name, prompt in prompts.items() if name not in templated}
    strange = {name: sum(_strange_parts(prompt)) for name, prompt in prompts.items()}
    likely = [name for name, count in strange.items() if count == min(strange.values())]
    if len(likely) > 1 and model is not None:
        of_model = render(Prompt(), model=model).facts.provider
        likely = [name for name in likely if name == of_model] or likely
    # If several providers have the same adapter, the first has its usual dialect.
    by_adapter = {ModelFacts(name).wire.folder: name for name in reversed(likely)}
    likely = [name for name in likely if name in by_adapter.values()]
    if len(likely) == 1:
        return likely[0], prompts[likely[0]]
    first, *others = likely or RECOGNISED
    fix = f'name the provider: provider="{first}", or --for {first}; or {", ".join(others)}'
    what = "no provider has such messages"
    if likely:
        what = f"the payload may be one of {', '.join(likely[:-1])} or {likely[-1]}"
    elif is_mapping(payload):
        keys = [shown(str(key)[:40], one_line=True) for key in payload]
        more = f" and {len(keys) - 6} more" if len(keys) > 6 else ""
        what = f"no provider has a payload with the keys {', '.join(keys[:6]) or '(none)'}{more}"
    raise DataError(what, fix=fix, at=(author(),))


def _has_objects(payload: Mapping[str, object]) -> bool:
    """Return whether the arguments of calls are objects; OpenAI Chat has JSON texts there."""
    messages = payload.get("messages")
    rows: list[Any] = [row for row in messages if is_mapping(row)] if is_list(messages) else []
    calls = [call for row in rows for call in row.get("tool_calls") or () if is_mapping(call)]
    functions = [call.get("function") for call in calls]
    return any(is_mapping(call) and is_mapping(call.get("arguments")) for call in functions)


def _strange_parts(prompt: Prompt) -> Iterator[bool]:
    """Yield for each tool and block whether the reader did not know it and kept it as it was."""
    # Only OpenAI's messages begin with system text.
    yield any(message.kind == "recorded_system" for message in prompt.messages[:1])
    yield from (tool.raw is not None for tool in prompt.tools)
    for message in prompt.messages:
        for block in message.content:
            inner = block.content if isinstance(block, ToolResultBlock) else ()
            yield from (isinstance(child, UnknownBlock) for child in (block, *inner))
