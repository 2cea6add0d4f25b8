"""The timeline around a part alone, or around a prompt that was read from a payload."""

from typing import cast

from promptdsl.components.block import finish
from promptdsl.components.scope import detached
from promptdsl.components.timeline import write_timeline
from promptdsl.foundation.errors import ContentError
from promptdsl.foundation.source import author
from promptdsl.messages.prompt import Prompt
from promptdsl.tree.group_nodes import FragmentNode
from promptdsl.tree.masks import RECORDED, REQUEST, SECTION, TOOL, TURN
from promptdsl.tree.node import Node
from promptdsl.tree.turn_nodes import CacheBreakpointNode, RootNode


def root_around(tree: object) -> RootNode:
    """Return the timeline of a part alone, or of a prompt that was read from a payload."""
    if isinstance(tree, Prompt):
        return _root_of_prompt(tree)
    if not isinstance(tree, Node):
        kind = type(tree).__name__
        fix = "give it the prompt, for example a Timeline"
        if tree is None:
            fix = "return the prompt from the function that builds it"
        elif callable(tree):
            fix = "call the function that builds the prompt"
        elif isinstance(tree, list | tuple):
            fix = "write Timeline(*turns)"
        elif isinstance(tree, str):
            fix = "write User(text)"
        raise ContentError(
            f"render() takes a Timeline, a turn, a Section or a Fragment, not {kind}",
            fix=fix,
            at=(author(),),
        )
    node = finish(tree)
    if not node.mask & (TURN | REQUEST | SECTION | RECORDED) and not isinstance(node, FragmentNode):
        beside = node.mask & TOOL or isinstance(node, CacheBreakpointNode)
        raise ContentError(
            "render() takes a Timeline, a turn, a Section or a Fragment",
            fix="write it in a Timeline" if beside else "put it in a User or a System",
            at=(author(), node.source),
        )
    with detached():
        return cast("RootNode", finish(write_timeline((node,), author())))


def _root_of_prompt(prompt: Prompt) -> RootNode:
    """Return the Timeline that an author would write for a prompt."""
    from promptdsl.components.history import History
    from promptdsl.components.tool_definitions import Output, Tool

    with detached():
        equipment = [*map(Tool, prompt.tools), *map(Output, filter(None, (prompt.output,)))]
        content = (*equipment, History(prompt.messages))
        for component in content:
            component.code, component.offset = author(), -1
        return cast("RootNode", finish(write_timeline(content, author())))
