"""The timeline around a single node, or around a prompt that was read from a payload.

``root_around`` is the function that ``render`` calls if its argument is not a ``Timeline``.
"""

from collections.abc import Coroutine, Iterable, Mapping
from functools import partial
from itertools import pairwise
from types import ModuleType
from typing import cast

from promptdsl.components.block import finish
from promptdsl.components.scope import detached, innermost, is_unused
from promptdsl.components.turns import timeline_of
from promptdsl.config.wires import wire_of, wires
from promptdsl.foundation.errors import ContentError, ScopeError
from promptdsl.foundation.source import author
from promptdsl.messages.details import READERS
from promptdsl.messages.field_checks import kind_of
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import Prompt
from promptdsl.rendering.result import Rendered
from promptdsl.tree.masks import FAILED, OPEN, RECORDED, REQUEST, SECTION, TOOL, TURN
from promptdsl.tree.node import Node, label, named_label
from promptdsl.tree.turn_nodes import CacheBreakpointNode, FragmentNode, RootNode


def _root_of_prompt(prompt: Prompt) -> RootNode:
    """Return the root node of the timeline that an author would write for a prompt."""
    from promptdsl.components.history import History
    from promptdsl.components.tool_definitions import Output, Tool

    with detached():
        definitions: list[Node] = [*map(Tool, prompt.tools)]
        # An output schema that is text is in the messages already.
        if prompt.sent_output is not None:
            definitions.append(Output(prompt.sent_output))
        messages = [*prompt.messages]
        for index, (previous, message) in enumerate(pairwise(prompt.messages), 1):
            # Two system messages in a row would be merged. With this role and kind, the second is
            # sent as a system message of its own, as it was read.
            if previous.role == message.role == "system" and message.kind == "recorded":
                messages[index] = message.replace(role="developer", kind="recorded_system")
        # The messages before a provider's compaction were sent, too: keep them.
        history = History(messages, keep_compacted=True)
        # Their source line is the author's call of ``render``, not a line of this file. Some nodes
        # are frozen: only ``object.__setattr__`` can set their fields.
        for node in (*definitions, history, *history.content):
            object.__setattr__(node, "_code", author())
            object.__setattr__(node, "_offset", -1)
        timeline = timeline_of((*definitions, history), author())
        timeline.transformation = partial(_as_sent, prompt)
        return cast("RootNode", finish(timeline))


def root_around(tree: object) -> RootNode:
    """Return the root node of the timeline around a node, or around a prompt that was read.

    Raises :class:`ContentError` for any other object, and for a node that cannot be a prompt.
    Raises :class:`ScopeError` for a node that is open, or in an open block.
    """
    if isinstance(tree, Prompt):
        return _root_of_prompt(tree)
    if not isinstance(tree, Node):
        raise ContentError(
            f"a prompt must be a Timeline, a turn, a Section or a Fragment, not {kind_of(tree)}",
            fix=_advice(tree),
            at=(author(),),
        )
    # A block that an error ended has both bits of FAILED; an open block has OPEN alone.
    is_open = tree._mask & FAILED == OPEN
    if is_open:
        raise ScopeError(
            f"this {label(tree)} is still open, it cannot be rendered yet",
            fix="call render() after its block",
            at=(author(), tree.source),
        )
    block = _open_block_with(tree)
    if block is not None:
        raise ScopeError(
            f"this {label(tree)} is already part of {named_label(block)} that is still open",
            fix="build it under `with detached():`, or call render() after the block",
            at=(author(), tree.source, block.source),
        )
    node = finish(tree)
    is_prompt = node._mask & (TURN | REQUEST | SECTION | RECORDED) or isinstance(node, FragmentNode)
    if not is_prompt:
        belongs_in_timeline = node._mask & TOOL or isinstance(node, CacheBreakpointNode)
        kinds = "a Timeline, a turn, a Section or a Fragment"
        raise ContentError(
            f"a prompt must be {kinds}, not {named_label(node)}",
            fix="write it in a Timeline" if belongs_in_timeline else "put it in a User or a System",
            at=(author(), node.source),
        )
    with detached():
        return cast("RootNode", finish(timeline_of((node,), author())))


def _open_block_with(node: Node) -> Node | None:
    """Return the open block that contains a node, ``None`` if there is none."""
    # Only an unused component can be in an open block: a block freezes its content when it ends.
    open_block = innermost() if is_unused(node) else None
    while open_block is not None:
        block, open_block = open_block.component, open_block.enclosing
        if block is not None and id(node) in map(id, block.content):
            return block
    return None


def _advice(tree: object) -> str:
    """Return what to write instead of an object that is not a prompt; a coroutine is closed."""
    from promptdsl.foundation.remedies import is_reply

    fix = "pass the prompt, for example a Timeline"
    if is_reply(tree):
        fix = "write Timeline(History([read_response(reply)]))"
    elif tree is None:
        fix = "write `return prompt` in the function that builds it"
    elif isinstance(tree, Coroutine):
        # Nobody can await it after this error. Closing it prevents another warning of Python.
        cast("Coroutine[object, object, object]", tree).close()
        fix = "await it: render(await build(...))"
        if getattr(cast("object", tree), "__qualname__", None) == "arender":
            fix = "await it: await arender(prompt)"
    elif isinstance(tree, Rendered):
        fix = "it is rendered already: read its messages, or call for_target(provider)"
    elif isinstance(tree, Message):
        fix = "write Timeline(History([message]))"
    elif isinstance(tree, ModuleType):
        fix = f"pass the prompt in it: render({tree.__name__}.prompt)"
    elif type(tree).__module__.startswith("langchain"):
        fix = "read it with promptdsl.integrations: History(from_langchain(messages).messages)"
    elif isinstance(tree, str):
        fix = "write User(text)"
    elif isinstance(tree, Mapping):
        is_payload = any(wire.messages_key in tree for wire in wires())
        fix = "write read_payload(payload, provider)" if is_payload else "write History([message])"
    elif isinstance(tree, type):
        fix = f"call it: {tree.__name__}(...)"
    elif callable(tree):
        fix = "call the function that builds the prompt"
    elif isinstance(tree, bytes | bytearray):
        fix = "decode it: render(User(Value(data.decode())))"
    elif isinstance(tree, Iterable):
        fix = _advice_on_items(next(iter(cast("Iterable[object]", tree)), None))
    return fix


def _advice_on_items(first: object) -> str:
    """Return what to write instead of a list, by its first item."""
    if isinstance(first, Mapping):
        reader = next((method for key, method in READERS.items() if key in first), "from_openai")
        return f"write Timeline(History.{reader}(messages))"
    if isinstance(first, Message):
        return "write Timeline(History(messages))"
    if isinstance(first, list | tuple):
        return "write Timeline(*[Turn(role, text) for role, text in turns])"
    if type(first).__module__.startswith("langchain"):
        return _advice(first)
    return "write Timeline(*turns)"


def _as_sent(prompt: Prompt, _model: str | None, provider: str | None) -> Mapping[str, object]:
    """Return the settings of a prompt that was read: separate messages stay separate.

    The calls of a stored conversation are not in the prompt, so calls are not paired.
    """
    is_unpaired = prompt.unpaired_at in wire_of(provider).origins
    if prompt.stored is not None or is_unpaired:
        return {"merge_consecutive": False, "tool_pairing": "keep"}
    return {"merge_consecutive": False}
