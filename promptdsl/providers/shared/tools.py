"""The rules that providers share for tools, the choice of a tool and the output schema."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, TypeVar

import attrs

from promptdsl.config.schema_rules import SchemaRules, rules_of
from promptdsl.config.wires import wire_of
from promptdsl.foundation.errors import shown
from promptdsl.foundation.frozen import is_mapping, plain, thawed
from promptdsl.foundation.json import ENCODER, JsonDict, JsonObject
from promptdsl.foundation.unicode import is_valid_unicode
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
from promptdsl.messages.schemas import at_root, is_closed, sizes_of
from promptdsl.providers.shared.blocks import ITEM
from promptdsl.providers.shared.checks import mapping, required
from promptdsl.providers.shared.clean import json_copy, mended, utf8
from promptdsl.providers.shared.request import Mark, Param, Request
from promptdsl.providers.shared.schemas import (
    Fitted,
    changed_words_reason,
    described,
    fitted,
    why_open,
)

R = TypeVar("R", bound=Request)


def write_tools(
    request: R,
    origin: str,
    write: Callable[[R, ToolDefinition], Param],
    *,
    inside: str = "",
    closes: bool = False,
) -> list[Param]:
    """Return the tools of a prompt, each written by ``write``, and note their cache marks.

    ``inside`` is the key of a tool for its further keys, if there is one. A tool that only another
    provider has is a ``content`` loss, a key of another provider is a hint. With ``closes``,
    ``strict`` is removed from tools whose schema is not closed, because they would be refused.
    """
    params: list[Param] = []
    tools, own_origins = request.prompt.tools, {*request.facts.origins}
    if request.facts.behind is None:
        own_origins.add(origin)
    request.taken_names |= {tool.name for tool in tools}
    encoded = ENCODER.encode([(tool.description, tool.input_schema) for tool in tools])
    are_valid = is_valid_unicode(encoded)
    rules = rules_of(request.facts.tool_schemas)
    all_may_change = rules is not None and rules.may_change(encoded)
    output = request.prompt.sent_output
    held = Counter[str]() if output is None else Counter(sizes_of(output.schema))
    for tool in tools:
        if tool.raw is not None and tool.origin not in own_origins:
            reason = f"only {tool.origin} has this tool"
            request.lose(tool, "content", f"tool {tool.name!r}", reason)
            continue
        if tool.raw is None:
            if not are_valid:
                texts = (tool.description, tool.input_schema)
                _note_surrogates(request, tool, f"tool {tool.name!r}", *texts)
            _hint_outer_keys(request, tool, origin)
            extra = _keys_to_send(request, tool, origin, own_origins)
            sent_tool, is_strict = tool, extra.get("strict") is True
            schema = tool.input_schema
            has_root_word = rules is not None and not schema.keys().isdisjoint(rules.root)
            may_change = all_may_change or has_root_word
            # A tool that was recorded at this provider was accepted unchanged.
            if tool.origin not in own_origins and (
                is_strict or may_change or not is_object(schema)
            ):
                sent_tool, is_strict = _fitted_tool(
                    request, tool, held, strict=is_strict, closes=closes
                )
            elif closes and is_strict and not is_closed(thawed(tool.input_schema)):
                why = "strict is left out: the schema is not closed, but strict requires it"
                request.hint(tool, "strict_schema", f"the schema of the tool {tool.name!r}", why)
                is_strict = False
            param = write(request, sent_tool)
            if extra.get("strict") is True and not is_strict:
                del extra["strict"]
            if extra:
                param.get(inside, param).update(json_copy(extra))
        else:
            param = json_copy(dict(tool.raw))
        if tool.cache:
            request.marks.append(Mark(param, tool.cache, -1, tool))
        request.offered.add(tool.name)
        params.append(param)
    return params


def is_object(schema: JsonObject) -> bool:
    """Return whether a schema is that of an object, or empty: a tool without arguments."""
    return not schema or schema.get("type") == "object"


def _as_object(schema: JsonObject) -> tuple[JsonObject, list[str]]:
    """Return a schema of an object, which all services require, and texts for the description.

    A reference is followed. Any other schema is put into the description, and any object is taken.
    """
    root: JsonDict = at_root(schema)
    if root.setdefault("type", "object") == "object":
        return root, []
    any_object: JsonDict = {"type": "object", "properties": {}}
    return any_object, [f"schema: {ENCODER.encode(root)}"]


def _keys_to_send(
    request: Request, tool: ToolDefinition, origin: str, own_origins: Container[str | None]
) -> dict[str, Any]:  # Any: JSON
    """Return the further keys of a tool that its provider has, or that were read from it."""
    extra = {key: value for key, value in tool.extra.items() if key != ITEM}
    if not request.facts.strict_tools and extra.pop("strict", None):
        why = f"{request.facts.provider} has no strict tools"
        request.hint(tool, "unsent_key", "key 'strict'", why)
    for key in [*extra] if tool.origin is not None and tool.origin not in own_origins else ():
        both = wire_of(origin).strict_tools and wire_of(tool.origin).strict_tools
        # An empty value means nothing.
        if extra[key] in (None, {}):
            del extra[key]
        elif not (key == "strict" and both):
            request.hint(tool, "unsent_key", f"key {key!r}", f"{origin} has no such key")
            del extra[key]
    return extra


def _fitted_tool(
    request: Request, tool: ToolDefinition, held: Counter[str], *, strict: bool, closes: bool
) -> tuple[ToolDefinition, bool]:
    """Return a tool with a schema that the target takes, and whether it can be strict.

    ``held`` are the sizes of the strict schemas so far. A hint lists all changes.
    """
    schema, texts = tool.input_schema, list[str]()
    changed: dict[str, None] = {}
    if not is_object(schema):
        schema, texts = _as_object(schema)
        changed |= dict.fromkeys(["type"] if texts else ())
    rules, reason = rules_of(request.facts.tool_schemas), ""
    fits = [fitted(schema, rules)] if rules else []
    if strict:
        before = fits[-1].schema if fits else schema
        strict_rules = rules_of(request.facts.strict_schemas)
        fit = fitted(before, strict_rules)
        reason = why_open(fit) if closes else fit.why_open
        reason = reason or _beyond_request(fit, strict_rules, held)
        # A tool that cannot be strict is sent like any other tool.
        fits += [] if reason else [fit]
    for fit in fits:
        schema = fit.schema
        texts += fit.texts
        changed |= dict.fromkeys(fit.changed)
    whys: list[str] = []
    if changed:
        whys.append(changed_words_reason(changed))
    if reason:
        whys.append(f"strict is left out: {reason}")
    if whys:
        name = "tool_schema" if changed else "strict_schema"
        request.hint(tool, name, f"the schema of the tool {tool.name!r}", "; ".join(whys))
    description = described(tool.description, texts) if texts else tool.description
    sent = attrs.evolve(tool, input_schema=schema, description=description)
    return sent, strict and not reason


def _beyond_request(fit: Fitted, rules: SchemaRules | None, held: Counter[str]) -> str:
    """Return why a request has too many strict tools for this one, empty if it has not.

    ``held`` are the sizes of the strict schemas so far, to which this one is added.
    """
    if rules is None or "tools" not in rules.limits:
        return ""
    total = held + Counter({**sizes_of(fit.schema), "tools": 1})
    for name in ("tools", "optional", "unions"):
        if total[name] > rules.limits[name]:
            return f"the strict schemas of a request have at most {rules.limits[name]} {name}"
    held.update(total - held)
    return ""


def _hint_outer_keys(request: Request, tool: ToolDefinition, origin: str) -> None:
    """Record a hint for each key next to a recorded function, if the provider has no such key."""
    outer_keys = tool.extra.get(ITEM)
    if tool.origin in (origin, *request.facts.origins) or not is_mapping(outer_keys):
        return
    for key in outer_keys:
        if key != "type":
            request.hint(tool, "unsent_key", f"key {key!r}", f"{origin} has no such key")


def lose_tool_marks(
    request: Request, reason: str = "the target takes no cache mark after a tool"
) -> None:
    """Record that the cache marks of tools are not sent. No other mark is noted yet."""
    for mark in request.marks:
        request.lose_mark(mark, reason)
    request.marks.clear()


def _note_surrogates(
    request: Request, subject: ToolDefinition | OutputSchema, what: str, *data: object
) -> None:
    """Record a hint if plain data contains a lone surrogate."""
    if not is_valid_unicode(ENCODER.encode(data)):
        request.lose_surrogate(subject, what)


def chosen(request: Request) -> tuple[str | None, str | None]:
    """Return the choice of a tool, and the sent name of the tool if the choice names one.

    Returns ``(None, None)`` if the prompt has no choice. A choice that cannot be sent is a hint.
    """
    choice = request.prompt.tool_choice
    if choice is None:
        return None, None
    if choice not in CHOICES and choice not in request.offered:
        reason = "no tool of this name is sent"
    elif not request.offered:
        reason = "no tool is sent to choose from"
    elif choice not in ("auto", "none") and not request.facts.forced_tools:
        reason = "this model cannot be forced to call a tool"
    elif choice in CHOICES:
        return choice, None
    else:
        return "tool", request.tool_names.get(choice, choice)
    request.losses.append(hint("tool_choice", f"tool_choice {choice!r}", reason))
    return None, None


def recorded_choice(request: Request, origins: Container[str], choice: str | None) -> Any:  # JSON
    """Return the choice of a tool as it was recorded here, ``None`` if it must be written.

    ``choice`` is the choice that can be sent. It must be written if tools have other names now.
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
        why = f"only {setting.origin} has it, and a prompt cannot express it"
        request.losses.append(hint("tool_choice", setting.unsayable, why, "tool_choice"))
    return None


def recorded_output(request: Request, origins: Container[str], output: OutputSchema | None) -> Any:
    """Return the output schema as it was recorded here, ``None`` if it must be written.

    ``output`` is the output schema that can be sent.
    """
    prompt = request.prompt
    setting = prompt.raw_output
    if setting is None or setting.meaning != prompt.output:
        return None
    if setting.origin in origins and (output is not None or prompt.output is None):
        return json_copy(setting.raw)
    if setting.unsayable:
        why = f"only {setting.origin} has it, and a prompt cannot express it"
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
    """Return a choice of tools that is kept as it was recorded."""
    return RawSetting(plain(choice, "tool_choice"), origin, meaning, unsayable)


def named_choice(choice: object, origin: str, name: str, *, is_all: bool) -> RawSetting | str:
    """Return the choice of one tool: its name if that ``is_all`` the information in the choice.

    A prompt cannot choose a tool whose name is a choice, such as ``auto``.
    """
    if name in CHOICES:
        return raw_choice(choice, origin, None, f"the choice of a tool called {name!r}")
    return name if is_all else raw_choice(choice, origin, name, "")


def sendable_output(
    request: Request, reason: str = "this model takes no output schema"
) -> OutputSchema | None:
    """Return the output schema if it is a setting of the request.

    It may be text in the messages instead. It is a loss if the model takes no output schema.
    """
    output = request.prompt.sent_output
    if output is None or request.facts.schema_output:
        return output
    request.lose(output, "content", "output schema", reason)
    return None


def sent_schema(
    request: Request, output: OutputSchema, *texts: str | None, fit: Fitted | None
) -> Param:
    """Return the output schema as it is sent, with a hint that lists what was changed to fit.

    A lone surrogate in the schema or in ``texts``, its name or description, is a hint.
    """
    _note_surrogates(request, output, "the output", output.schema, *texts)
    if fit is None:
        return json_copy(dict(output.schema))
    if fit.texts:
        fit.schema["description"] = described(fit.schema.get("description"), fit.texts)
    if fit.changed:
        request.hint(
            output, "output_schema", "the output schema", changed_words_reason(fit.changed)
        )
    return json_copy(fit.schema)


def fitted_output(request: Request, output: OutputSchema) -> Fitted | None:
    """Return the output schema with the keywords that the target takes, if it has rules."""
    rules = rules_of(request.facts.strict_schemas)
    return fitted(output.schema, rules) if rules else None


def nameless_schema(request: Request, output: OutputSchema) -> Param:
    """Return the output schema without name, description and ``strict``; a hint for each."""
    default = OutputSchema({})
    for key in ("name", "description", "strict"):
        value = getattr(output, key)
        if value != getattr(default, key):
            why = "the target has no field for it"
            request.hint(output, "output_schema", f"output {key} {value!r}", why)
    return sent_schema(request, output, fit=fitted_output(request, output))


def output_param(request: Request, output: OutputSchema) -> Param:
    """Return the name, schema, description and ``strict`` of the output, in OpenAI's format.

    A name with other characters or more than 64 is mended, with a hint. If the schema cannot be
    strict, it is sent unchanged and without ``strict``, with a hint.
    """
    name = mended(output.name, 64)
    if name != output.name:
        reason = f"it has characters that are refused, or is too long: sent as {name}"
        request.hint(output, "mended_name", f"output name {output.name!r}", reason)
    rules = rules_of(request.facts.strict_schemas)
    fit = fitted(output.schema, rules) if output.strict else None
    reason = why_open(fit) if fit else ""
    if reason:
        fit = None
        request.hint(output, "strict_schema", "strict", f"{reason}: sent without it")
    schema = sent_schema(request, output, output.description, fit=fit)
    output_format: Param = {"name": name, "schema": schema}
    output_format |= {} if output.description is None else {"description": utf8(output.description)}
    return {**output_format, "strict": True} if fit else output_format


def pop_function(function: Param) -> tuple[str, str | None, Param]:
    """Return the name, the description and the schema of a function in OpenAI's format.

    They are removed from it, except an empty schema, because a tool may have one, or none.
    """
    name = required(function, "name", str)
    del function["name"]
    description = optional(function.pop("description", None), "description")
    schema = mapping(function.get("parameters") or {})
    if function.get("parameters") != {}:
        function.pop("parameters", None)
    return name, description, schema


def read_output(output_format: object, path: str, origin: str) -> RawSetting | None:
    """Return an output format of OpenAI as it was recorded, with its output schema.

    At Chat the schema is under the key ``json_schema``. A format without a schema, such as any JSON
    object, has no output schema.
    """
    entries = mapping(output_format or {})
    kind = entries.get("type")
    if not entries:
        return None
    if kind != "json_schema":
        unsayable = "" if kind == "text" else f"{path} {shown(kind)}"
        return RawSetting(plain(entries, path), origin, None, unsayable)
    is_nested = "json_schema" in entries
    inner = mapping(entries["json_schema"]) if is_nested else entries
    schema = inner.get("schema") if is_nested else required(inner, "schema", Mapping)
    name = optional(inner.get("name"), "name")
    output = OutputSchema(
        mapping(schema or {}),
        "output" if name is None else name,
        optional(inner.get("description"), "description"),
        strict=inner.get("strict") is True,
    )
    raw = {**inner, "schema": output.schema} if schema is not None else inner
    return RawSetting({**entries, "json_schema": raw} if is_nested else raw, origin, output)
