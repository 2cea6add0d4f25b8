"""The token counts that a budget asks for, as a protocol.

Its one implementation is ``Measuring`` in ``rendering/measure.py``, a floor above.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from promptdsl.config.model_facts import ModelFacts
from promptdsl.messages.roles import Role
from promptdsl.tokens.tools import tools_frame
from promptdsl.tree.masks import SECTION, SYSTEM
from promptdsl.tree.node import Node
from promptdsl.tree.turn_nodes import RecordedNode, ToolNode, among_turns


class Measure(Protocol):
    """Counts parts of a prompt in the tokens of its budget, as ``Measuring`` does."""

    @property
    def facts(self) -> ModelFacts:
        """The facts of the target."""
        ...

    @property
    def reply(self) -> int:
        """The tokens an answer begins with."""
        ...

    def frame(self, role: Role) -> int:
        """Return the tokens around a message of a role."""
        ...

    def turn(self, node: Node, wanted: Collection[int] = ()) -> tuple[int, Mapping[int, int]]:
        """Return the tokens of an entry of a timeline, and by id those of ``wanted`` nodes in it.

        Each with the gap before it; a turn with the frame around its message.
        """
        ...

    def messages(self, run: RecordedNode) -> Sequence[int]:
        """Return the tokens of each message of a run, its frame included."""
        ...


def frame_tokens(tree: Node, measure: Measure) -> int:
    """Return the tokens around all messages: frames of the system text, the tools, the reply."""
    told = any(not isinstance(c, str) and c.mask & (SYSTEM | SECTION) for c in tree.content)
    return measure.reply + (measure.frame("system") if told else 0) + tools_frame_of(tree, measure)


def tools_frame_of(tree: Node, measure: Measure) -> int:
    """Return the tokens a target has for having tools, beside these."""
    equipped = any(isinstance(node, ToolNode) for node in among_turns(tree))
    return tools_frame(measure.facts) if equipped else 0
