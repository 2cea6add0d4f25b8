"""The rules that providers share for tools, the choice of a tool and the output schema.

For each of the three, the functions that write it come before those that read it.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, TypeVar, cast

import attrs

from promptdsl.config.wire import SchemaRules, rules_of
from promptdsl.config.wires import wire_of
from promptdsl.foundation.errors import shown
from promptdsl.foundation.frozen import is_mapping, plain, thawed
from promptdsl.foundation.json import ENCODER, JsonDict, JsonObject
from promptdsl.foundation.unicode import is_valid_unicode
from promptdsl.messages.field_checks import optional_string
from promptdsl.messages.prompt import (
    FIXED_CHOICES,
    Loss,
    OutputSchema,
    Prompt,
    RawSetting,
    StoredConversation,
    ToolDefinition,
    hint,
)
from promptdsl.messages.schemas import at_root, is_closed, sizes_of
from promptdsl.providers.shared.blocks import ITEM, json_copy, mended, utf8
from promptdsl.providers.shared.reading import mapping, required
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
    inner_key: str = "",
    closes: bool = False,
) -> list[Param]:
    """Return the tools of a prompt, each written by ``write``, and note their cache marks.

    ``inner_key`` is the key of a tool under which its further keys are, if there is one. A tool
    that only another provider has is a ``content`` loss. A key that only another provider has is a
    hint. With ``closes``, a tool whose schema is not closed is sent without ``strict``, because the
    provider would refuse it.
    """
    params: list[Param] = []
    accepted_origins = {*request.facts.origins}
    if request.facts.behind is None:
        accepted_origins.add(origin)
    request.taken_names |= {tool.name for tool in request.prompt.tools}
    strict_sizes = Counter[str]()
    if request.prompt.sent_output is not None:
        strict_sizes.update(sizes_of(request.prompt.sent_output.schema))
    for tool in request.prompt.tools:
        is_recorded = tool.origin in accepted_origins
        if tool.raw is not None and not is_recorded:
            reason = f"only {tool.origin} has this tool"
            request.lose(tool, "content", f"tool {tool.name!r}", reason)
            continue
        if tool.raw is not None:
            param: Param = json_copy(dict(tool.raw))
        else:
            encoded = ENCODER.encode((tool.description, tool.input_schema))
            if not is_valid_unicode(encoded):
                request.lose_surrogate(tool, f"tool {tool.name!r}")
            _hint_outer_keys(request, tool, origin)
            extra = _keys_to_send(request, tool, origin, is_recorded=is_recorded)
            strict = is_strict = extra.get("strict") is True
            fitted_tool = tool
            if is_recorded:
                # This provider accepted the schema when it was recorded.
                is_strict = strict and not (closes and _is_open(request, tool))
            elif strict or _may_change(request, tool, encoded):
                fitted_tool, is_strict = _fitted_tool(
                    request, tool, strict_sizes, strict=strict, closes=closes
                )
            param = write(request, fitted_tool)
            if strict and not is_strict:
                del extra["strict"]
            param.get(inner_key, param).update(json_copy(extra))
        if tool.cache:
            request.marks.append(Mark(param, tool.cache, -1, tool))
        request.offered_tools.add(tool.name)
        params.append(param)
    return params


def is_object(schema: JsonObject) -> bool:
    """Return whether a schema is the schema of an object, or empty: a tool without arguments."""
    return not schema or schema.get("type") == "object"


def _may_change(request: Request, tool: ToolDefinition, encoded: str) -> bool:
    """Return whether a schema may have to change.

    Most schemas need no change. Without this check, 20 tools are written 2 ms slower.
    """
    rules = rules_of(request.facts.tool_schemas)
    has_root_word = not tool.input_schema.keys().isdisjoint(rules.root)
    return has_root_word or not is_object(tool.input_schema) or rules.may_change(encoded)


def _is_open(request: Request, tool: ToolDefinition) -> bool:
    """Return whether the schema of a strict tool is not closed, and record a hint if so."""
    if is_closed(thawed(tool.input_schema)):
        return False
    why = "strict is left out: the schema is not closed, but strict requires it"
    request.hint(tool, "strict_schema", f"the schema of the tool {tool.name!r}", why)
    return True


def _as_object(schema: JsonObject) -> Fitted:
    """Return the schema of an object, which all services require, and texts for the description.

    A reference at the root is resolved. A schema of any other type becomes a text for the
    description, and the schema of any object replaces it.
    """
    if is_object(schema):
        return Fitted(thawed(schema))
    root: JsonDict = at_root(schema)
    if root.setdefault("type", "object") == "object":
        return Fitted(root)
    any_object: JsonDict = {"type": "object", "properties": {}}
    return Fitted(any_object, ("type",), texts=(f"schema: {ENCODER.encode(root)}",))


def _keys_to_send(
    request: Request, tool: ToolDefinition, origin: str, *, is_recorded: bool
) -> dict[str, Any]:  # Any: JSON
    """Return the further keys of a tool that the target takes; record a hint for each other key.

    It takes the keys that were recorded there, or that the author wrote. Another provider's keys
    are hints, but for ``strict`` if both providers have it.
    """
    extra = dict(tool.extra)
    extra.pop(ITEM, None)
    if not request.facts.strict_tools and extra.pop("strict", None):
        why = f"{request.facts.provider} has no strict tools"
        request.hint(tool, "unsent_key", "key 'strict'", why)
    if is_recorded or tool.origin is None:
        return extra
    both_strict = wire_of(origin).strict_tools and wire_of(tool.origin).strict_tools
    keys_to_send: dict[str, Any] = {}
    for key, value in extra.items():
        if value in (None, {}):  # such a key says nothing
            continue
        if key == "strict" and both_strict:
            keys_to_send[key] = value
        else:
            request.hint(tool, "unsent_key", f"key {key!r}", f"{origin} has no such key")
    return keys_to_send


def _fitted_tool(
    request: Request, tool: ToolDefinition, sizes: Counter[str], *, strict: bool, closes: bool
) -> tuple[ToolDefinition, bool]:
    """Return a tool with a schema that the target takes, and whether it can be strict.

    ``sizes`` are the sizes of the strict schemas so far. A hint lists all changes.
    """
    fits = [_as_object(tool.input_schema)]
    fits.append(fitted(fits[0].schema, rules_of(request.facts.tool_schemas)))
    reason = ""
    if strict:
        rules = rules_of(request.facts.strict_schemas)
        fit = fitted(fits[1].schema, rules)
        reason = why_open(fit) if closes else fit.why_open
        reason = reason or _beyond_request(fit, rules, sizes)
        # A tool that cannot be strict is sent like any other tool.
        if not reason:
            fits.append(fit)
    texts = [text for fit in fits for text in fit.texts]
    changed = dict.fromkeys(word for fit in fits for word in fit.changed)
    subject = f"the schema of the tool {tool.name!r}"
    why_left_out = f"strict is left out: {reason}"
    if changed:
        why = changed_words_reason(changed)
        if reason:
            why = f"{why}; {why_left_out}"
        request.hint(tool, "tool_schema", subject, why)
    elif reason:
        request.hint(tool, "strict_schema", subject, why_left_out)
    description = described(tool.description, texts) if texts else tool.description
    fitted_tool = attrs.evolve(tool, input_schema=fits[-1].schema, description=description)
    return fitted_tool, strict and not reason


def _beyond_request(fit: Fitted, rules: SchemaRules, sizes: Counter[str]) -> str:
    """Return why one more strict tool is too much for the request, empty if it is not.

    ``sizes`` are the sizes of the strict schemas so far. If the tool fits, its sizes are added.
    """
    if "tools" not in rules.limits:
        return ""
    total = sizes + Counter({**sizes_of(fit.schema), "tools": 1})
    for name in ("tools", "optional", "unions"):
        if total[name] > rules.limits[name]:
            return f"the strict schemas of a request have at most {rules.limits[name]} {name}"
    sizes.update(total - sizes)
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
    """Record that the cache marks of tools are not sent. At this time there are no other marks."""
    for mark in request.marks:
        request.lose_mark(mark, reason)
    request.marks.clear()


def _note_surrogates(
    request: Request, subject: ToolDefinition | OutputSchema, what: str, *values: object
) -> None:
    """Record a hint if plain data contains a lone surrogate."""
    if not is_valid_unicode(ENCODER.encode(values)):
        request.lose_surrogate(subject, what)


def chosen(request: Request) -> tuple[str | None, str | None]:
    """Return the choice of a tool, and the name in the payload of the tool that it chooses.

    The name is ``None`` if the choice is a word such as ``auto``. Returns ``(None, None)`` if the
    prompt has no choice, or if the choice cannot be sent, which is a hint.
    """
    choice = request.prompt.tool_choice
    if choice is None:
        return None, None
    if choice not in FIXED_CHOICES and choice not in request.offered_tools:
        reason = "no tool of this name is sent"
    elif not request.offered_tools:
        reason = "no tool is sent to choose from"
    elif choice not in ("auto", "none") and not request.facts.forced_tools:
        reason = "this model cannot be forced to call a tool"
    elif choice in FIXED_CHOICES:
        return choice, None
    else:
        return "tool", request.tool_names.get(choice, choice)
    request.losses.append(hint("tool_choice", f"tool_choice {choice!r}", reason))
    return None, None


def recorded_choice(request: Request, origins: Container[str], choice: str | None) -> Any:  # JSON
    """Return the choice of a tool as this provider recorded it, ``None`` if it must be written.

    ``choice`` is the choice that can be sent. It must be written if a tool has another name in the
    payload than in the prompt.
    """
    prompt = request.prompt
    setting = prompt.raw_choice
    if setting is None or setting.meaning != prompt.tool_choice:
        return None
    is_sendable = choice is not None or prompt.tool_choice is None
    is_renamed = any(name != payload_name for name, payload_name in request.tool_names.items())
    if setting.origin in origins and is_sendable and not is_renamed:
        return json_copy(setting.raw)
    if setting.unsayable:
        why = f"only {setting.origin} has it, and a prompt cannot express it"
        request.losses.append(hint("tool_choice", setting.unsayable, why, "tool_choice"))
    return None


def recorded_output(request: Request, origins: Container[str], output: OutputSchema | None) -> Any:
    """Return the output schema as this provider recorded it, ``None`` if it must be written.

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
    """Return a prompt without messages, with the tools and the settings that a reader found."""
    raw_choice = schema = None
    if isinstance(choice, RawSetting):
        raw_choice, choice = choice, cast("str | None", choice.meaning)
    if output is not None:
        schema = cast("OutputSchema | None", output.meaning)
    return Prompt(
        tools=tuple(tools),
        tool_choice=choice,
        output=schema,
        raw_choice=raw_choice,
        raw_output=output,
        stored=stored,
    )


def raw_choice(choice: object, origin: str, meaning: str | None, lost_setting: str) -> RawSetting:
    """Return a choice of tools that is kept as it was recorded.

    ``meaning`` is the choice of a prompt that is nearest. ``lost_setting`` names what only
    ``origin`` can express, empty if there is nothing.
    """
    return RawSetting(plain(choice, "tool_choice"), origin, meaning, lost_setting)


def named_choice(choice: object, origin: str, name: str, *, is_all: bool) -> RawSetting | str:
    """Return the choice of one tool: its name if the choice says nothing else (``is_all``).

    A prompt cannot choose a tool whose name is a word for a choice, such as ``auto``.
    """
    if name in FIXED_CHOICES:
        return raw_choice(choice, origin, None, f"the choice of a tool called {name!r}")
    return name if is_all else raw_choice(choice, origin, name, "")


def sendable_output(
    request: Request, reason: str = "this model takes no output schema"
) -> OutputSchema | None:
    """Return the output schema if it is a setting of the request, otherwise ``None``.

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
    """Return the output schema for the payload; a hint lists the keywords that changed.

    A lone surrogate is a hint, in the schema or in ``texts``: its name and its description.
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


def fitted_output(request: Request, output: OutputSchema) -> Fitted:
    """Return the output schema with the keywords that the target takes."""
    return fitted(output.schema, rules_of(request.facts.strict_schemas))


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

    A name has at most 64 letters, digits, ``_`` and ``-``. Any other name is changed, with a hint.
    A schema that cannot be strict is sent unchanged and without ``strict``, with a hint.
    """
    name = mended(output.name, 64)
    if name != output.name:
        reason = f"it has characters that are refused, or is too long: sent as {name}"
        request.hint(output, "mended_name", f"output name {output.name!r}", reason)
    fit = None
    if output.strict:
        fit = fitted_output(request, output)
        reason = why_open(fit)
        if reason:
            fit = None
            request.hint(output, "strict_schema", "strict", f"{reason}: sent without it")
    schema = sent_schema(request, output, output.description, fit=fit)
    output_format: Param = {"name": name, "schema": schema}
    if output.description is not None:
        output_format["description"] = utf8(output.description)
    if fit:
        output_format["strict"] = True
    return output_format


def pop_function(function: Param) -> tuple[str, str | None, Param]:
    """Remove and return the name, the description and the schema of a function of OpenAI.

    An empty schema stays in ``function``: a tool may have an empty schema or none, and both are
    returned as an empty schema.
    """
    name = required(function, "name", str)
    del function["name"]
    description = optional_string(function.pop("description", None), "description")
    schema = mapping(function.get("parameters") or {})
    if function.get("parameters") != {}:
        function.pop("parameters", None)
    return name, description, schema


def read_output(output_format: object, path: str, origin: str) -> RawSetting | None:
    """Return an output format of OpenAI as it was recorded, with its output schema.

    Chat has the schema under the key ``json_schema``. The format ``json_object`` has no schema.
    """
    fields = mapping(output_format or {})
    kind = fields.get("type")
    if not fields:
        return None
    if kind != "json_schema":
        lost_setting = "" if kind == "text" else f"{path} {shown(kind)}"
        return RawSetting(plain(fields, path), origin, None, lost_setting)
    if "json_schema" in fields:
        output, raw = _read_schema(mapping(fields["json_schema"]))
        return RawSetting({**fields, "json_schema": raw}, origin, output)
    required(fields, "schema", Mapping)
    output, raw = _read_schema(fields)
    return RawSetting(raw, origin, output)


def _read_schema(fields: Param) -> tuple[OutputSchema, Param]:
    """Return the output schema in an output format, and the format with a frozen schema."""
    schema, name = fields.get("schema"), optional_string(fields.get("name"), "name")
    if name is None:
        name = "output"
    description = optional_string(fields.get("description"), "description")
    strict = fields.get("strict") is True
    output = OutputSchema(mapping(schema or {}), name, description, strict=strict)
    if schema is not None:
        fields = {**fields, "schema": output.schema}
    return output, fields
