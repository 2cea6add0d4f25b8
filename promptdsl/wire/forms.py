"""The form of an answer, as OpenAI's two targets name and describe it."""

import re

from promptdsl.json_text import thawed
from promptdsl.prompts import OutputSchema
from promptdsl.schemas import is_closed
from promptdsl.wire.request import Param, Request
from promptdsl.wire.text import json_copy
from promptdsl.wire.tools import OPEN

_LONGEST_NAME = 64
_MISFIT = re.compile(r"[^a-zA-Z0-9_-]")


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
    form: Param = {"name": name, "schema": dict(output.schema)}
    form |= {} if output.description is None else {"description": output.description}
    copy: Param = json_copy({**form, "strict": True} if strict else form)
    return copy
