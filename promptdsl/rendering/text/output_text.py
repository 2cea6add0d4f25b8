"""The output schema as text of the prompt, for targets that take no output schema."""

import json

from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.errors import OptionError
from promptdsl.foundation.frozen import thawed
from promptdsl.messages.prompt import OutputMode, OutputSchema
from promptdsl.tree.masks import SYSTEM, TEXT
from promptdsl.tree.node import DEFAULTS, make
from promptdsl.tree.part_nodes import VerbatimNode
from promptdsl.tree.rewrite import make_turn
from promptdsl.tree.turn_nodes import OutputNode, PromptedOutputNode, TurnNode

REQUEST = "Answer with one JSON value that fits this JSON schema, and with nothing else:"


def mode_of(node: OutputNode, facts: ModelFacts) -> tuple[OutputMode, str]:
    """Return how the output schema is sent, and the reason if it is text of the prompt.

    Raises :class:`OptionError` if the author wants a setting of the request, and the target takes
    none.
    """
    mode = node.schema.mode
    if mode == "prompted":
        return "prompted", ""
    if facts.provider is None:
        return "native", ""
    from promptdsl.providers.shared.schemas import why_not_native

    why = why_not_native(node.schema, facts)
    if why and mode == "native":
        fix = "leave mode out, so that it is sent as text where it has to be"
        raise OptionError(f"Output(mode='native'): {why}", fix=fix, at=(node.source,))
    return ("prompted", why) if why else ("native", "")


def prompted_text(output: OutputSchema) -> str:
    """Return the text that asks for an answer that fits a schema; equal for equal schemas.

    The schema is on one line, and has no tags.
    """
    schema = thawed(output.schema)
    texts = [output.description, schema.get("description")]
    if output.description is not None:
        schema = {**schema, "description": "\n\n".join(str(text) for text in texts if text)}
    text = json.dumps(schema, ensure_ascii=False).replace("<", "\\u003c")
    return f"{REQUEST}\n\n{text}"


def prompted_turn(node: PromptedOutputNode) -> TurnNode:
    """Return the system turn with the output schema as text, with the line of its author."""
    text = make(VerbatimNode, mask=TEXT, at=node, text=prompted_text(node.schema))
    return make_turn(
        TurnNode, (text,), SYSTEM, at=node, role="system", kind="written", options=DEFAULTS
    )
