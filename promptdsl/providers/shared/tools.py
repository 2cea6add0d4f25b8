"""Tools, the choice of one and the form of the answer: what providers write alike."""

import json
import re
from collections.abc import Callable
from typing import TypeVar

from promptdsl.foundation.frozen import thawed
from promptdsl.foundation.unicode import is_whole
from promptdsl.messages.loss import Loss
from promptdsl.messages.prompt import CHOICES, OutputSchema, ToolDefinition
from promptdsl.messages.schemas import is_closed
from promptdsl.providers.shared.clean import json_copy, utf8
from promptdsl.providers.shared.request import Mark, Param, Request

R = TypeVar("R", bound=Request)


def _itself(param: Param) -> Param:
    return param


def write_tools(
    request: R,
    origin: str,
    write: Callable[[R, ToolDefinition], Param],
    *,
    inside: Callable[[Param], Param] = _itself,
) -> list[Param]:
    """Return the tools of a prompt as ``write`` writes each, and note the marks after them.

    ``inside`` returns the mapping in a tool that holds the further keys it was read with. A tool
    that only another provider has is a ``content`` loss, a key that only another one has a hint.
    """
    params: list[Param] = []
    request.taken_names |= {tool.name for tool in request.prompt.tools}
    for tool in request.prompt.tools:
        if tool.raw is not None and tool.origin != origin:
            why = f"a tool of {tool.origin}, which no other provider has"
            request.lose(tool, "content", f"tool {tool.name!r}", why)
            continue
        if tool.raw is None:
            param = write(request, tool)
            said = (tool.description, thawed(tool.input_schema))
            _note_surrogates(request, tool, f"tool {tool.name!r}", *said)
            inside(param).update(_own_keys(request, tool, origin))
        else:
            param = json_copy(dict(tool.raw))
        if tool.cache:
            request.marks.append(Mark(param, tool.cache, -1, tool))
        request.offered.add(tool.name)
        params.append(param)
    return params


def loosen(
    request: Request,
    origin: str,
    params: list[Param],
    *,
    inside: Callable[[Param], Param] = _itself,
) -> None:
    """Take ``strict`` from the tools whose schema does not keep its rules: they would be refused.

    ``params`` are what :func:`write_tools` returned for this origin.
    """
    tools = (tool for tool in request.prompt.tools if tool.raw is None or tool.origin == origin)
    for tool, param in zip(tools, params, strict=True):
        own = inside(param) if tool.raw is None else {}
        if own.get("strict") is True and not is_closed(thawed(tool.input_schema)):
            own["strict"] = False
            request.lose(tool, "hint", "strict", OPEN)


OPEN = "the schema is not closed, as strict asks: sent without it"


def lose_tool_marks(request: Request) -> None:
    """Lose the marks after tools, where there may be none: nothing else is marked yet."""
    for mark in request.marks:
        request.lose(mark.subject, "hint", "cache mark", "there is none behind a tool")
    request.marks.clear()


def _note_surrogates(
    request: Request, subject: ToolDefinition | OutputSchema, what: str, *data: object
) -> None:
    """Note a hint where plain data holds a lone surrogate."""
    if not is_whole(json.dumps(data, ensure_ascii=False)):
        request.lose_surrogate(subject, what)


def _own_keys(request: Request, tool: ToolDefinition, origin: str) -> Param:
    """Return the further keys of a tool that its target has, too."""
    own, known = dict(tool.extra), tool.origin in (None, origin)
    for key in () if known else tool.extra:
        if not (key == "strict" and {origin, tool.origin} <= _HAVE_STRICT):
            request.lose(tool, "hint", f"key {key!r}", f"{origin} has none")
            del own[key]
    found: Param = json_copy(own)
    return found


_HAVE_STRICT = {"openai", "openai_responses", "anthropic", "bedrock"}
"""Where a tool can say that its calls have to fit its schema to the letter."""


def chosen(request: Request) -> tuple[str | None, str | None]:
    """Return the choice of tools, and the tool's name as it is sent where it names one.

    ``(None, None)`` where the prompt makes none, or one that cannot be sent: a hint.
    """
    choice = request.prompt.tool_choice
    if choice is None:
        return None, None
    if choice not in CHOICES and choice not in request.offered:
        why = "no tool of this name is sent"
    elif not request.offered:
        why = "no tool is sent to choose from"
    elif choice not in ("auto", "none") and not request.facts.forced_tools:
        why = "this model refuses to be forced to call"
    elif choice in CHOICES:
        return choice, None
    else:
        return "tool", request.tool_names.get(choice, choice)
    request.losses.append(Loss("hint", f"tool_choice {choice!r}", why))
    return None, None


_LONGEST_NAME = 64
_MISFIT = re.compile(r"[^a-zA-Z0-9_-]")


def form_schema(request: Request, output: OutputSchema, *said: str | None) -> Param:
    """Return the schema of a form as it is sent.

    A lone surrogate in it, or in ``said``, its name or description, is a hint. Raises
    :class:`DataError` for a schema too deep to be sent.
    """
    schema: Param = json_copy(dict(output.schema))
    _note_surrogates(request, output, "the output", thawed(output.schema), *said)
    return schema


def form_param(request: Request, output: OutputSchema) -> Param:
    """Return the name, the schema and what is said about a form.

    A name that has other letters or over 64 of them is mended, and ``strict`` is left out where the
    schema does not keep its rules: both are hints.
    """
    name = (_MISFIT.sub("_", output.name) or "_")[:_LONGEST_NAME]
    if name != output.name:
        why = f"it has other letters, or is too long: sent as {name}"
        request.lose(output, "hint", f"output name {output.name!r}", why)
    strict = output.strict and is_closed(thawed(output.schema))
    if strict != output.strict:
        request.lose(output, "hint", "strict", OPEN)
    form: Param = {"name": name, "schema": form_schema(request, output, output.description)}
    form |= {} if output.description is None else {"description": utf8(output.description)}
    return {**form, "strict": True} if strict else form
