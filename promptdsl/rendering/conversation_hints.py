"""Hints about a conversation: it is empty or ended, or a message is empty or comes twice.

``Rendered.hints`` calls ``end_hints``, ``recording_hints`` and ``clearing_hints``. A batch calls
``asks_nothing``.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING

from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.errors import close_names
from promptdsl.foundation.frozen import is_list
from promptdsl.messages import Block, MediaBlock, TextBlock
from promptdsl.messages.details import CONVERSATION, JOINED
from promptdsl.messages.message import Message, open_calls
from promptdsl.messages.prompt import Loss, hint
from promptdsl.tree.masks import RECORDED
from promptdsl.tree.node import Child, Node, walk
from promptdsl.tree.part_nodes import MediaNode, TableNode, ToolResultNode
from promptdsl.tree.recorded import recordings
from promptdsl.tree.turn_nodes import (
    ClearResults,
    ConsolidatedNode,
    ConversationNode,
    FragmentNode,
    MergedNode,
    RecordedNode,
    RootNode,
    ToolTurnNode,
    TurnNode,
)

if TYPE_CHECKING:
    from promptdsl.budget.dropped import Dropped

SPEAKERS = ("user", "assistant", "tool")
"""The roles of the turns of a conversation."""
ASKING = ("user", "tool")
"""The roles of the turns that a model answers."""


def end_hints(
    messages: Sequence[Message], facts: ModelFacts, written_tree: RootNode
) -> Iterator[Loss]:
    """Yield the hint about a conversation that is empty, or that ends with an answer of the model.

    There is no hint in these cases:

    - the conversation has only an event, and no empty ``User``: the model answers the event;
    - an event, a developer turn or a grounding follows the answer;
    - the provider paused the answer: it is sent back unchanged;
    - calls are open, or the model continues an answer (``prefill``).
    """
    if open_calls(messages):
        return
    indexes = [
        index
        for index, message in enumerate(messages)
        if message.role in SPEAKERS and message.kind in CONVERSATION
    ]
    if not indexes:
        yield from _empty_conversation(messages, written_tree)
        return
    last_message = messages[indexes[-1]]
    # A message of merged answers has the ``finish_reason`` in its sources.
    if (
        last_message.role != "assistant"
        or (last_message.sources or (last_message,))[-1].finish_reason == "paused"
    ):
        return
    name, what = "ended_conversation", "the last message is the assistant's"
    if unsent := _empty_question(written_tree):
        yield hint(name, what, _UNSENT, source=unsent.source)
    elif not facts.prefill and last_message is messages[-1]:
        why = "this model may not continue it; write User(...) after it"
        yield hint(name, what, why, at=(indexes[-1],))


def _empty_conversation(messages: Sequence[Message], written_tree: RootNode) -> Iterator[Loss]:
    """Yield the hint about a request without a turn of the conversation."""
    name, what = "empty_conversation", "no conversation turn"
    if unsent := _empty_question(written_tree):
        yield hint(name, what, _UNSENT, source=unsent.source)
    elif all(message.kind != "event" for message in messages):
        yield hint(name, what, "nothing is asked; write User(...) in the Timeline")


_UNSENT = "this User has no text, so it is not sent"


def _empty_question(written_tree: RootNode) -> TurnNode | None:
    """Return the last turn of a prompt, if it is a ``User`` without a text."""
    turn = next(reversed([*_turns(written_tree)]), None)
    if isinstance(turn, TurnNode) and turn.role == "user" and not any(turn.content):
        return turn
    return None


def asks_nothing(stages: Mapping[str, RootNode], losses: Iterable[Loss]) -> bool:
    """Return whether no text or attachment of a user or a tool is sent, although one was written.

    The prompt has a ``User`` or a ``History`` then. White space alone is never sent. A history
    without a ``User`` asks something if its answers are sent.
    """
    media: Counter[object] = Counter()  # attachments of the user, by their lines
    has_recorded = False
    for turn in _merged_turns(stages["merge"]):
        if isinstance(turn, RecordedNode):
            for message in turn.items:
                kinds = Counter(map(_kind_of, message.content))
                has_recorded |= kinds.total() > kinds["blank"]
                if message.role not in ASKING:
                    continue
                if kinds["content"]:
                    return False
                media[turn.source] += kinds["media"]
        elif isinstance(turn, TurnNode) and turn.role in ASKING and turn.kind in CONVERSATION:
            for node, _ in walk(turn):
                if _is_sent(node):
                    return False
                if isinstance(node, MediaNode):
                    media[node.source] += 1
    for loss in losses:
        if loss.kind == "content":
            media[loss.source] -= loss.count
    if +media:  # an attachment that is not lost
        return False
    nodes = [node for node, _ in walk(stages["select"])]
    if any(isinstance(node, TurnNode) and node.role == "user" for node in nodes):
        return True
    has_history = any(isinstance(node, ConversationNode) for node in nodes)
    return has_history and (not has_recorded or bool(media))


def _merged_turns(tree: RootNode) -> Iterator[Child]:
    """Yield the turns of a prompt, and the turns in merged turns, from the last to the first."""
    for turn in reversed(tree.content):
        if isinstance(turn, MergedNode):
            yield from reversed(turn.content)
        else:
            yield turn


def _kind_of(block: Block) -> str:
    """Return the kind of a recorded block: ``content``, ``media`` or ``blank`` (not sent)."""
    if isinstance(block, MediaBlock):
        return "media"
    if isinstance(block, TextBlock) and not block.text.strip():
        return "blank"
    return "content"


def _is_sent(node: Node) -> bool:
    """Return whether a node is more than white space; the nodes in it do not count."""
    if isinstance(node, TableNode | ToolResultNode | ToolTurnNode):
        return True
    return bool("".join(_texts_of(node)).strip())


def _texts_of(node: Node) -> list[str]:
    """Return the texts of a node, without those of the nodes in it."""
    text: object = getattr(node, "text", "")
    return [child for child in (*node.content, text) if isinstance(child, str)]


def _text_in(turn: Node) -> str:
    """Return the texts of a turn, without headings, tags and gaps between them."""
    return "".join("".join(_texts_of(node)) for node, _ in walk(turn))


def _turns(tree: RootNode) -> Iterator[Node]:
    """Yield the histories and the turns of a conversation, also those in fragments."""
    child_stack: list[Child] = [*reversed(tree.content)]
    while child_stack:
        child = child_stack.pop()
        if isinstance(child, ConversationNode):
            yield child
        elif isinstance(child, FragmentNode):
            child_stack += reversed(child.content)
        elif isinstance(child, TurnNode) and child.role in SPEAKERS:
            yield child


def recording_hints(
    stages: Mapping[str, RootNode], messages: Sequence[Message], tools: Iterable[str]
) -> Iterator[Loss]:
    """Yield the hints about recordings: empty or repeated messages, and unknown names.

    ``tools`` are the names of the tools of the prompt.
    """
    if stages["fill"]._mask & RECORDED:
        for recording in recordings(stages["fill"]):
            yield from _repeated(recording)
    turns = [*_turns(stages["read"])]
    for turn, next_turn in zip_longest(turns, turns[1:]):
        if isinstance(turn, ConversationNode):
            yield from _in_conversation(turn, next_turn)
            yield from _unknown_pins(turn)
            yield from _unknown_tools(turn, {*tools})
    system = next(iter(stages["merge_system"].content), None)
    if isinstance(system, ConsolidatedNode) and messages:
        yield from _repeated_system(system, messages[0].text)


def _repeated(node: RecordedNode) -> Iterator[Loss]:
    """Yield a hint for an object that comes twice in a row, or a pair of objects that comes twice.

    A single object may be repeated: examples in a list may share an answer.
    """
    items: object = node.items
    if not is_list(items):
        return
    seen: set[tuple[int, int]] = set()
    for index, pair in enumerate(pairwise(map(id, items)), 1):
        if pair in seen or pair[0] == pair[1]:
            yield _twice(
                node, index, "it is the same object; perhaps the list was extended by itself"
            )
        seen.add(pair)


def _twice(node: Node, index: int, why: str) -> Loss:
    what = "a message that comes twice"
    return hint("repeated_message", what, why, f"history[{index}]", source=node.source)


def _in_conversation(node: ConversationNode, next_turn: Node | None) -> Iterator[Loss]:
    """Yield the hints about the messages of a recording, and about the turn after it."""
    ids: set[str] = set()
    question = ""
    for run in node.content:
        if not isinstance(run, RecordedNode):
            question = ""
            continue
        for index, message in enumerate(run.items, run.start):
            types = {block.type for block in message.content}
            if message.finish_reason != "interrupted" and not message.text and types <= {"text"}:
                what, why = f"an empty {message.role} message", "it is not sent"
                yield hint("empty_message", what, why, f"history[{index}]", source=node.source)
            count = message.metadata.get(JOINED)
            if message.kind == "recorded" and isinstance(count, int):
                what = f"{count} answers in a row"
                why = "they are sent as one turn, so that the results of all calls follow it"
                yield hint("joined_turns", what, why, f"history[{index}]", source=node.source)
            if message.id is not None:
                if message.id in ids:
                    yield _twice(node, index, f"its id {message.id!r} occurs twice")
                ids.add(message.id)
            if message.role == "user" and "tool_result" not in types:
                question = message.text
            elif message.role == "assistant" and "tool_use" not in types:
                question = ""
    if question and isinstance(next_turn, TurnNode) and next_turn.role == "user":
        if _text_in(next_turn) != question:
            return
        why = (
            "the History ends with the same question; leave it out of the History or of the "
            "Timeline"
        )
        yield hint("repeated_message", "a question that comes twice", why, source=next_turn.source)


def _unknown_pins(node: ConversationNode) -> Iterator[Loss]:
    """Yield a hint for each pinned id that no message has."""
    has_ids = isinstance(node.pin, frozenset)  # no function, and not None
    if not has_ids or not node.content:
        return
    pins: frozenset[str] = node.pin
    ids: set[str | None] = {run.options.id for run in node.content}
    messages = _messages_in(node)
    ids.update(message.id for message in messages)
    for id in sorted(pins - ids):
        why = "no message has this id"
        if id in {call.id for message in messages for call in message.calls}:
            why = "it is the id of a call, not of a message; pin the message that has the call"
        yield hint("unknown_name", f"pin={id!r}", why, source=node.source)


def _unknown_tools(node: ConversationNode, tools: set[str]) -> Iterator[Loss]:
    """Yield a hint for each name in ``clear_results`` that no tool has.

    Tools of the prompt and tools that were called count. Without any of these there is no hint.
    """
    if node.clear_results is None or not node.clear_results.exclude:
        return
    from promptdsl.budget.tool_results import as_sent

    names = tools.union(call.name for message in _messages_in(node) for call in message.calls)
    if not names:
        return
    for name in node.clear_results.exclude:
        if name not in names and name not in map(as_sent, names):
            why = "no tool of the prompt or of its history has this name"
            why += "".join(
                f"; did you mean {near_name!r}?" for near_name in close_names(name, names)[:1]
            )
            yield hint("unknown_name", f"exclude={name!r}", why, source=node.source)


def _messages_in(node: ConversationNode) -> list[Message]:
    """Return the recorded messages of a history."""
    runs = [run_node for run_node in node.content if isinstance(run_node, RecordedNode)]
    return [message for run in runs for message in run.items]


def clearing_histories(tree: RootNode) -> list[tuple[ConversationNode, ClearResults]]:
    """Return the histories of a tree that clear tool results, each with its rule."""
    return [
        (node, node.clear_results)
        for node in _turns(tree)
        if isinstance(node, ConversationNode) and node.clear_results is not None
    ]


def clearing_hints(
    histories: Iterable[tuple[ConversationNode, ClearResults]],
    limit: int,
    total: int | None,
    dropped: "Sequence[Dropped]",
) -> Iterator[Loss]:
    """Yield the hints about histories that clear nothing, or far more than a budget needs.

    ``limit`` is that of the budget, or else the context window of the model, in tokens. ``total``
    are the tokens that are sent, ``None`` without a budget. ``dropped`` are the parts that are not
    sent.
    """
    for node, rule in histories:
        drops = [drop for drop in dropped if drop.source == node.source]
        cleared = sum(drop.tokens for drop in drops if "cleared" in drop.why)
        if rule.at_least is not None and rule.at_least >= limit:
            what = f"at_least={rule.at_least:,}"
            why = (
                f"{limit:,} tokens cannot hold so much, so nothing is ever cleared; write less, "
                "or leave it out"
            )
            yield hint("unreached_clearing", what, why, source=node.source)
        elif not cleared:
            calls = sum(len(message.calls) for message in _messages_in(node))
            if 0 < calls <= rule.keep and any("no room" in drop.why for drop in drops):
                why = (
                    f"all {calls:,} results stay, so the budget drops complete rounds; "
                    "write a smaller keep="
                )
                yield hint("unreached_clearing", f"keep={rule.keep:,}", why, source=node.source)
        elif rule.at_least is not None and total is not None:
            # Clearing was needed, or half of the budget is used: then the setting is no mistake.
            if total + cleared > limit or total * 2 >= limit:
                continue
            what = f"at_least={rule.at_least:,}"
            why = (
                f"it clears every {rule.at_least:,} tokens, though only {total:,} of {limit:,} are "
                "sent; without at_least, results are cleared when a budget is too small"
            )
            yield hint("early_clearing", what, why, source=node.source)


def _repeated_system(system: ConsolidatedNode, text: str) -> Iterator[Loss]:
    """Yield the hint about recorded system text that the prompt writes again."""
    recorded = [
        turn for turn in system.content if isinstance(turn, TurnNode) and turn.kind == "recorded"
    ]
    recorded_text = "\n\n".join(map(_text_in, recorded)).strip()
    rest = text.replace(recorded_text, "", 1).strip()
    shorter, longer = sorted((recorded_text, rest), key=len)
    if shorter and recorded_text in text and f"\n{shorter}\n" in f"\n{longer}\n":
        what = "system text that comes twice"
        why = (
            "a History has it, and the prompt writes it again; leave the system message out of "
            "the list"
        )
        yield hint("repeated_system", what, why, source=recorded[0].source)
