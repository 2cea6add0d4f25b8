"""The rules that providers share for tools, the choice of a tool, and the form of the answer."""

from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, TypeVar

from promptdsl.config.wires import wire_of
from promptdsl.foundation.frozen import is_mapping, plain, thawed
from promptdsl.foundation.json import ENCODER
from promptdsl.foundation.unicode import is_whole
from promptdsl.messages.field_checks import optional
from promptdsl.messages.loss import Loss, hint
from promptdsl.messages.prompt import (
    CHOICES,
    OutputSchema,
    Prompt,
    RawSetting,
    StoredConversation,
    ToolDefinition,
)
from promptdsl.messages.schemas import is_closed
from promptdsl.providers.shared.blocks import ITEM
from promptdsl.providers.shared.checks import entry, mapping
from promptdsl.providers.shared.clean import json_copy, mended, utf8
from promptdsl.providers.shared.request import Mark, Param, Request

R = TypeVar("R", bound=Request)

_OPEN = "the schema is not closed, as strict requires: sent without it"


def write_tools(
    request: R,
    origin: str,
    write: Callable[[R, ToolDefinition], Param],
    *,
    inside: str = "",
    closes: bool = False,
) -> list[Param]:
    """Return the tools of a prompt, each written by ``write``, and note the marks after them.

    ``inside`` is the key of a tool under which its further keys are, where there is one. A tool
    that only another provider has is a ``content`` loss, a key of another provider is a hint. With
    ``closes``, ``strict`` goes from tools whose schema is not closed: they would be refused.
    """
    params: list[Param] = []
    tools, own = request.prompt.tools, {*request.facts.origins}
    if request.facts.behind is None:
        own.add(origin)
    request.taken_names |= {tool.name for tool in tools}
    are_whole = is_whole(ENCODER.encode([(it.description, it.input_schema) for it in tools]))
    for tool in tools:
        if tool.raw is not None and tool.origin not in own:
            reason = f"a tool of {tool.origin}, which no other provider has"
            request.lose(tool, "content", f"tool {tool.name!r}", reason)
            continue
        if tool.raw is None:
            param = write(request, tool)
            if not are_whole:
                texts = (tool.description, tool.input_schema)
                _note_surrogates(request, tool, f"tool {tool.name!r}", *texts)
            # Further keys go out where they were read, and where the provider has them, too.
            extra = {key: value for key, value in tool.extra.items() if key != ITEM}
            _note_keys_beside(request, tool, origin)
            if not request.facts.strict_tools and extra.pop("strict", None):
                why = f"{request.facts.provider} has no strict tools"
                request.hint(tool, "unsent_key", "key 'strict'", why)
            for key in [*extra] if tool.origin not in (None, *own) else ():
                both = wire_of(origin).strict_tools and wire_of(tool.origin).strict_tools
                # An empty value says nothing.
                if extra[key] in (None, {}):
                    del extra[key]
                elif not (key == "strict" and both):
                    request.hint(tool, "unsent_key", f"key {key!r}", f"{origin} has no such key")
                    del extra[key]
            fields: Param = param.get(inside, param)
            if extra:
                fields.update(json_copy(extra))
            if closes and fields.get("strict") is True and not is_closed(thawed(tool.input_schema)):
                fields["strict"] = False
                request.hint(tool, "strict_schema", "strict", _OPEN)
        else:
            param = json_copy(dict(tool.raw))
        if tool.cache:
            request.marks.append(Mark(param, tool.cache, -1, tool))
        request.offered.add(tool.name)
        params.append(param)
    return params


def _note_keys_beside(request: Request, tool: ToolDefinition, origin: str) -> None:
    """Record a hint for each key beside a recorded function, for a provider that has none there."""
    beside = tool.extra.get(ITEM)
    if tool.origin in (origin, *request.facts.origins) or not is_mapping(beside):
        return
    for key in beside:
        if key != "type":
            request.hint(tool, "unsent_key", f"key {key!r}", f"{origin} has no such key")


def lose_tool_marks(
    request: Request, reason: str = "the target takes no cache mark after a tool"
) -> None:
    """Lose the marks after tools, where there may be none: nothing else is marked yet."""
    for mark in request.marks:
        request.lose_mark(mark, reason)
    request.marks.clear()


def _note_surrogates(
    request: Request, subject: ToolDefinition | OutputSchema, what: str, *data: object
) -> None:
    """Record a hint where plain data contains a lone surrogate."""
    if not is_whole(ENCODER.encode(data)):
        request.lose_surrogate(subject, what)


def chosen(request: Request) -> tuple[str | None, str | None]:
    """Return the choice of a tool, and the name it is sent with where the choice names one.

    ``(None, None)`` where the prompt makes no choice. A choice that cannot be sent is a hint.
    """
    choice = request.prompt.tool_choice
    if choice is None:
        return None, None
    if choice not in CHOICES and choice not in request.offered:
        reason = "no tool of this name is sent"
    elif not request.offered:
        reason = "no tool is sent to choose from"
    elif choice not in ("auto", "none") and not request.facts.forced_tools:
        reason = "this model refuses to be forced to call"
    elif choice in CHOICES:
        return choice, None
    else:
        return "tool", request.tool_names.get(choice, choice)
    request.losses.append(hint("tool_choice", f"tool_choice {choice!r}", reason))
    return None, None


def recorded_choice(request: Request, origins: Container[str], choice: str | None) -> Any:  # JSON
    """Return the choice of a tool as it was recorded at this provider; ``None``: write it.

    ``choice`` is the one that can be sent. Names of tools that are sent under others are written.
    """
    prompt = request.prompt
    setting = prompt.raw_choice
    if setting is None or setting.meaning != prompt.tool_choice:
        return None
    is_sendable = choice is not None or prompt.tool_choice is None
    is_renamed = any(name != sent for name, sent in request.tool_names.items())
    if setting.origin in origins and is_sendable and not is_renamed:
        return json_copy(setting.raw)
    if setting.unsayable:
        why = f"only {setting.origin} has it, and no prompt can say it"
        request.losses.append(hint("tool_choice", setting.unsayable, why, "tool_choice"))
    return None


def recorded_output(request: Request, origins: Container[str], output: OutputSchema | None) -> Any:
    """Return the form of the answer as it was recorded at this provider; ``None``: write it.

    ``output`` is the one that can be sent.
    """
    prompt = request.prompt
    setting = prompt.raw_output
    if setting is None or setting.meaning != prompt.output:
        return None
    if setting.origin in origins and (output is not None or prompt.output is None):
        return json_copy(setting.raw)
    if setting.unsayable:
        why = f"only {setting.origin} has it, and no prompt can say it"
        request.losses.append(Loss("content", setting.unsayable, why, "output"))
    return None


def recorded_prompt(
    tools: Iterable[ToolDefinition],
    choice: RawSetting | str | None,
    output: RawSetting | None,
    stored: StoredConversation | None = None,
) -> Prompt:
    """Return a prompt of tools and settings that were read, without messages."""
    raw_choice = choice if isinstance(choice, RawSetting) else None
    meaning = choice if raw_choice is None else raw_choice.meaning
    schema = None if output is None else output.meaning
    return Prompt(
        tools=tuple(tools),
        tool_choice=meaning if isinstance(meaning, str) else None,
        output=schema if isinstance(schema, OutputSchema) else None,
        raw_choice=raw_choice,
        raw_output=output,
        stored=stored,
    )


def raw_choice(choice: object, origin: str, meaning: str | None, unsayable: str) -> RawSetting:
    """Return a choice of tools that is kept as it came."""
    return RawSetting(plain(choice, "tool_choice"), origin, meaning, unsayable)


def named_choice(choice: object, origin: str, name: str, *, is_all: bool) -> RawSetting | str:
    """Return the choice of one tool: its name, where that ``is_all`` that the choice says.

    No prompt can choose a tool with the name of a choice.
    """
    if name in CHOICES:
        return raw_choice(choice, origin, None, f"the choice of a tool called {name!r}")
    return name if is_all else raw_choice(choice, origin, name, "")


def sendable_output(
    request: Request, reason: str = "this model takes no output schema"
) -> OutputSchema | None:
    """Return the form of the answer, ``None`` where there is none or the model takes none."""
    output = request.prompt.output
    if output is None or request.facts.schema_output:
        return output
    request.lose(output, "content", "output schema", reason)
    return None


def form_schema(request: Request, output: OutputSchema, *texts: str | None) -> Param:
    """Return the schema of the answer as it is sent.

    A lone surrogate in the schema or in ``texts``, its name or description, is a hint.
    """
    schema: Param = json_copy(dict(output.schema))
    _note_surrogates(request, output, "the output", output.schema, *texts)
    return schema


def nameless_schema(request: Request, output: OutputSchema) -> Param:
    """Return the schema for a provider that takes no name, description or ``strict``: hints."""
    default = OutputSchema({})
    for key in ("name", "description", "strict"):
        value = getattr(output, key)
        if value != getattr(default, key):
            why = "the target has no place for it"
            request.hint(output, "output_schema", f"output {key} {value!r}", why)
    return form_schema(request, output)


def form_param(request: Request, output: OutputSchema) -> Param:
    """Return the name, schema, description and ``strict`` of the answer, as OpenAI takes them.

    A name with other characters or more than 64 is mended, and ``strict`` is left out where the
    schema is not closed; both are hints.
    """
    name = mended(output.name, 64)
    if name != output.name:
        reason = f"it has other letters, or is too long: sent as {name}"
        request.hint(output, "mended_name", f"output name {output.name!r}", reason)
    strict = output.strict and is_closed(thawed(output.schema))
    if strict != output.strict:
        request.hint(output, "strict_schema", "strict", _OPEN)
    form: Param = {"name": name, "schema": form_schema(request, output, output.description)}
    form |= {} if output.description is None else {"description": utf8(output.description)}
    return {**form, "strict": True} if strict else form


def pop_function(function: Param) -> tuple[str, str | None, Param]:
    """Return the name, the description and the schema of a recorded function of OpenAI's form.

    They are removed from it, but an empty schema stays: a tool may have one, or none.
    """
    name = entry(function, "name", str)
    del function["name"]
    description = optional(function.pop("description", None), "description")
    schema = mapping(function.get("parameters") or {})
    if function.get("parameters") != {}:
        function.pop("parameters", None)
    return name, description, schema


def read_output(form: object, path: str, origin: str) -> RawSetting | None:
    """Return the form of the answer as OpenAI has it, with the schema that it means.

    The schema of Chat is under the key ``json_schema``. One without a schema, such as any JSON
    object, means none.
    """
    entries = mapping(form or {})
    kind = entries.get("type")
    if not entries:
        return None
    if kind != "json_schema":
        unsayable = "" if kind == "text" else f"{path} {kind!r}"
        return RawSetting(plain(entries, path), origin, None, unsayable)
    is_nested = "json_schema" in entries
    inner = mapping(entries["json_schema"]) if is_nested else entries
    schema = inner.get("schema") if is_nested else entry(inner, "schema", Mapping)
    name = optional(inner.get("name"), "name")
    output = OutputSchema(
        mapping(schema or {}),
        "output" if name is None else name,
        optional(inner.get("description"), "description"),
        strict=inner.get("strict") is True,
    )
    raw = {**inner, "schema": output.schema} if schema is not None else inner
    return RawSetting({**entries, "json_schema": raw} if is_nested else raw, origin, output)
