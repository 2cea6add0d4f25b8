"""The form of an answer: its schema, and how OpenAI's two targets name and describe it."""

import json
import re

from promptdsl.encoding import is_whole
from promptdsl.json_text import thawed
from promptdsl.prompts import OutputSchema
from promptdsl.schemas import is_closed
from promptdsl.wire.request import Param, Request
from promptdsl.wire.text import json_copy, utf8
from promptdsl.wire.tools import OPEN

_LONGEST_NAME = 64
_MISFIT = re.compile(r"[^a-zA-Z0-9_-]")


def form_schema(request: Request, output: OutputSchema, *said: str | None) -> Param:
    """Return the schema of a form as it is sent.

    A lone surrogate in it, or in ``said``, its name or description, is a hint. Raises
    :class:`DataError` for a schema too deep to be sent.
    """
    schema: Param = json_copy(dict(output.schema))
    texts = (json.dumps(thawed(output.schema), ensure_ascii=False), *filter(None, said))
    if not all(map(is_whole, texts)):
        why = "it has no UTF-8 form: U+FFFD is sent"
        request.lose("hint", "a lone surrogate in the output", why, subject=output)
    return schema


def form_param(request: Request, output: OutputSchema) -> Param:
    """Return the name, the schema and what is said about a form.

    A name that has other letters or over 64 of them is mended, and ``strict`` is left out where the
    schema does not keep its rules: both are hints.
    """
    name = (_MISFIT.sub("_", output.name) or "_")[:_LONGEST_NAME]
    if name != output.name:
        why = f"it has other letters, or is too long: sent as {name}"
        request.lose("hint", f"output name {output.name!r}", why, subject=output)
    strict = output.strict and is_closed(thawed(output.schema))
    if strict != output.strict:
        request.lose("hint", "strict", OPEN, subject=output)
    form: Param = {"name": name, "schema": form_schema(request, output, output.description)}
    form |= {} if output.description is None else {"description": utf8(output.description)}
    return {**form, "strict": True} if strict else form
