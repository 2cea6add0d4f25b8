"""The messages of an open model, which its chat template makes a text."""

from promptdsl.config.wire import ATTACHED, Wire
from promptdsl.config.wires.openai import WIRE as CHAT

WIRE = Wire(
    __name__,
    other_names=("hf", "transformers"),
    any_model=True,
    templated=True,
    contents=CHAT.contents,
    parts={
        **{kind: part._replace(recognised_by="") for kind, part in CHAT.parts.items()},
        **ATTACHED,
    },
    silent=CHAT.silent,
    wrappers=("function",),
    tool_schema=CHAT.tool_schema,
)
