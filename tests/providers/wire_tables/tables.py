"""The wire tables: reading them, and what the package writes and reads, in their form."""

import base64
import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any, cast

import attrs

from promptdsl import *
from tests.providers.wire_tables.prompts import FOLDER, TARGETS, Case
from tests.renders import lossy_payload, reported

WIDTH = 100


@cache
def table(name: str) -> Any:
    """Return what stands in a file."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def found(case: Case) -> dict[str, Any]:
    """Return what is written of a case, and what is read of that again, by the targets alike.

    Of most cases the tools are left out, which are the same for all of them.
    """
    results = {target: _result(case, target) for target in case.targets}
    payloads = {target: _written(result) for target, result in results.items()}
    read = {
        target: reading(lossy_payload(result), provider_of(target))
        for target, result in results.items()
        if isinstance(result, Rendered)
    }
    if not case.tools:
        payloads, read = _without_tools(payloads), _without_tools(read)
    return {"written": _grouped(payloads), "read": _grouped(read)}


def _without_tools(by_target: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    for payload in by_target.values():
        for key in _TOOLS:
            payload.pop(key, None)
            payload.get("config", {}).pop(key, None)
    return dict(by_target)


_TOOLS = ("tools", "toolConfig")


def _grouped(by_target: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by the targets that have the same one."""
    groups: dict[str, list[str]] = {}
    for target, value in by_target.items():
        groups.setdefault(json.dumps(value), []).append(target)
    return {" = ".join(targets): by_target[targets[0]] for targets in groups.values()}


def _result(case: Case, target: str) -> Rendered | PromptError:
    try:
        result = rendered(case, target)
        lossy_payload(result)
    except PromptError as error:
        return error
    return result


def rendered(case: Case, target: str) -> Rendered:
    """Return a case rendered for a target."""
    return render(case.tree(), **TARGETS[target], **case.options)


def _written(result: Rendered | PromptError) -> dict[str, Any]:
    if isinstance(result, PromptError):
        return _refused(result)
    lost = [f"{loss.kind}: {loss.what}{_times(loss.count)}" for loss in reported(result)]
    return {**as_json(lossy_payload(result)), **({"lost": lost} if lost else {})}


def _times(count: int) -> str:
    return f" ({count} times)" if count > 1 else ""


def _refused(error: PromptError) -> dict[str, str]:
    return {"refused": f"{type(error).__name__}: {error.what}"}


def provider_of(target: str) -> str:
    """Return the provider that a target is of."""
    return target.partition(",")[0]


def reading(payload: Any, provider: str) -> dict[str, Any]:
    """Return what is read of a payload as data, or the error; what it does not say is left out."""
    try:
        prompt = read_payload(payload, provider)
    except PromptError as error:
        return _refused(error)
    fields = {
        "messages": [message_data(message) for message in prompt.messages],
        "tools": [_tool(tool, provider) for tool in prompt.tools],
        "tool_choice": prompt.tool_choice,
        "output": prompt.output and _fields(prompt.output),
    }
    return {key: value for key, value in fields.items() if value not in (None, [])}


def reply(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is read of a response as data, or the error; ``structured`` asks for a form."""
    try:
        message = read_response(row["given"], structured=row.get("structured", False))
    except PromptError as error:
        return _refused(error)
    return message_data(message)


def message_data(message: Message) -> dict[str, Any]:
    """Return a message as data, its content under its role.

    Nothing tells a text from its block, and nothing that it is recorded, as all that are read are.
    """
    data = message.to_dict()
    blocks = [_block(block) for block in data.pop("content")]
    plain = len(blocks) == 1 and isinstance(blocks[0], str)
    rest = {key: value for key, value in data.items() if (key, value) not in _USUAL}
    role = rest.pop("role")
    return {role: blocks[0] if plain else blocks, **as_json(rest)}


_USUAL = [("kind", "recorded")]


def _block(block: dict[str, Any]) -> Any:
    if block.keys() == {"type", "text"} and block["type"] == "text":
        return block["text"]
    if block["type"] == "tool_result" and isinstance(block.get("content"), list):
        return {**as_json(block), "content": [_block(inner) for inner in block["content"]]}
    return as_json(block)


def _tool(tool: ToolDefinition, provider: str) -> dict[str, Any]:
    """Return a tool as data; one of the provider it was read from does not say so."""
    data = _fields(tool)
    if data.get("origin") == _ORIGINS.get(provider, provider):
        del data["origin"]
    return data


_ORIGINS = {"openai_compatible": "openai"}


def _fields(value: Any) -> dict[str, Any]:
    fields = [field for field in attrs.fields(type(value)) if field.name != "at"]
    held = {field.name: getattr(value, field.name) for field in fields}
    defaults = {field.name: field.default for field in fields}
    return {
        name: as_json(field_value)
        for name, field_value in held.items()
        if field_value != defaults[name]
    }


def as_json(value: Any) -> Any:
    """Return a value as JSON has it, bytes under ``$base64``."""
    if isinstance(value, bytes):
        return {"$base64": base64.b64encode(value).decode()}
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, Any]", value)
        return {key: as_json(inner) for key, inner in entries.items()}
    if isinstance(value, list | tuple):
        return [as_json(inner) for inner in cast("list[Any]", value)]
    return value


def difference(expected: object, actual: object) -> str:
    """Return the lines in which two values differ, as they are written in a table."""
    before, after = (shown(value).split("\n") for value in (expected, actual))
    return "\n".join(difflib.unified_diff(before, after, "table", "package", lineterm="", n=4))


def shown(value: Any, indent: int = 0, free_width: int = WIDTH) -> str:
    """Return JSON text as the tables have it: as much in a line as fits, brackets close at once."""
    line = json.dumps(value)
    if len(line) <= free_width or not isinstance(value, dict | list) or not value:
        return line
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}{_filled([*_items(value, indent + 2)], indent + 2)}{closing}"


def _items(value: Any, indent: int) -> Iterator[str]:
    free_width = WIDTH - indent - 4
    if isinstance(value, list):
        for item in value:
            yield shown(item, indent, free_width)
    else:
        for key, item in cast("dict[str, Any]", value).items():
            head = f"{json.dumps(key)}: "
            yield head + shown(item, indent, free_width - len(head))


def _filled(items: list[str], indent: int) -> str:
    """Return items one behind another; one that does not fit on the last line begins a new one."""
    lines = [items[0]]
    for before, item in pairwise(items):
        fits = indent + len(lines[-1]) + len(item) < WIDTH - 4 and "\n" not in before + item
        lines[-1:] = [f"{lines[-1]}, {item}"] if fits else [f"{lines[-1]},", item]
    return f"\n{' ' * indent}".join(lines)


def case_ids(files: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the ids of the cases of files: each the name of the file and that of the case."""
    return [f"{file}: {name}" for file, cases in files.items() for name in cases]


def named(id: str) -> tuple[str, str]:
    """Return the name of the file and that of the case."""
    file, _, name = id.partition(": ")
    return file, name
