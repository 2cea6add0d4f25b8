"""The form of an answer as text of the prompt, for targets that take no schema of it."""

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
    """Return how the form of an answer is sent, and why it is no setting of the request, if so.

    Raises :class:`OptionError` where its author wants it as a setting, and the target refuses it.
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
    """Return the text that asks for an answer of this form; the same for the same schema.

    The schema is on one line, and has no tags.
    """
    schema = thawed(output.schema)
    texts = [output.description, schema.get("description")]
    if output.description is not None:
        schema = {**schema, "description": "\n\n".join(str(it) for it in texts if it)}
    text = json.dumps(schema, ensure_ascii=False).replace("<", "\\u003c")
    return f"{REQUEST}\n\n{text}"


def prompted_turn(node: PromptedOutputNode) -> TurnNode:
    """Return the system text for the form of an answer, with the line of its author."""
    text = make(VerbatimNode, mask=TEXT, at=node, text=prompted_text(node.schema))
    return make_turn(
        TurnNode, (text,), SYSTEM, at=node, role="system", kind="written", options=DEFAULTS
    )
