"""Hints about a conversation: it is empty or ended, a message comes twice, or one is empty."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, Any

from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.errors import close_names
from promptdsl.foundation.frozen import is_list
from promptdsl.messages import Block, MediaBlock, TextBlock
from promptdsl.messages.details import JOINED
from promptdsl.messages.loss import Loss, hint
from promptdsl.messages.message import Message, open_calls
from promptdsl.messages.roles import CONVERSATION
from promptdsl.tree.group_nodes import ClearResults, ConversationNode, FragmentNode
from promptdsl.tree.masks import RECORDED
from promptdsl.tree.node import Child, Node, walk
from promptdsl.tree.part_nodes import MediaNode, TableNode, ToolResultNode
from promptdsl.tree.recorded import recordings
from promptdsl.tree.turn_nodes import (
    ConsolidatedNode,
    MergedNode,
    RecordedNode,
    RootNode,
    ToolTurnNode,
    TurnNode,
)

if TYPE_CHECKING:
    from promptdsl.budget.dropped import Dropped

SPEAKERS = ("user", "assistant", "tool")


def end_hints(messages: Sequence[Message], facts: ModelFacts, written: RootNode) -> Iterator[Loss]:
    """Yield the hint about a request without a conversation turn, or whose last one is the model's.

    An event may replace a question, if no empty ``User`` was written: the model is to react to it.
    A developer turn or a grounding may do so after an answer of the model. An answer that the
    provider paused is sent back as it is.
    """
    spoken = [
        n
        for n, message in enumerate(messages)
        if message.role in SPEAKERS and message.kind in CONVERSATION
    ]
    others = messages[spoken[-1] + 1 :] if spoken else messages
    answered = bool(spoken) and messages[spoken[-1]].role == "assistant"
    if (spoken and not answered) or open_calls(messages):
        return
    name, what = "empty_conversation", "no conversation turn"
    if answered:
        last = messages[spoken[-1]]
        # A message of merged answers has the reason in its sources.
        if (last.sources[-1] if last.sources else last).finish_reason == "paused":
            return
        name, what = "ended_conversation", "the last message is the assistant's"
    turn = next(reversed([*_turns(written)]), None)
    if isinstance(turn, TurnNode) and turn.role == "user" and not any(turn.content):
        why = "this User has no text, so it is not sent"
        yield hint(name, what, why, source=turn.source)
    elif answered and not (facts.prefill or others):
        why = "this model may not continue it; write User(...) after it"
        yield hint(name, what, why, at=(spoken[-1],))
    elif not spoken and not any(message.kind == "event" for message in others):
        yield hint(name, what, "nothing is asked; write User(...) in the Timeline")


def asks_nothing(stages: Mapping[str, RootNode], losses: Iterable[Loss]) -> bool:
    """Return whether a prompt has a ``User`` or a history, and nothing of a user or a tool is sent.

    White space is never sent. If a history is alone and its answers are sent, it asks something.
    """
    media: Counter[object] = Counter()  # attachments of the user, by their lines
    has_recorded = False
    for turn in _merged_turns(stages["merge"]):
        if isinstance(turn, RecordedNode):
            for message in turn.items:
                kinds = [_kind_of(block) for block in message.content]
                has_recorded |= any(kind != "blank" for kind in kinds)
                if message.role not in ("user", "tool"):
                    continue
                if "content" in kinds:
                    return False
                media[turn.source] += kinds.count("media")
        elif isinstance(turn, TurnNode) and turn.role in ("user", "tool"):
            for node, _ in walk(turn) if turn.kind in CONVERSATION else ():
                if _is_sent(node):
                    return False
                if isinstance(node, MediaNode):
                    media[node.source] += 1
    for loss in losses:
        if loss.kind == "content":
            media[loss.source] -= loss.count
    if any(count > 0 for count in media.values()):
        return False
    written = [node for node, _ in walk(stages["select"])]
    has_user = any(isinstance(node, TurnNode) and node.role == "user" for node in written)
    has_history = any(isinstance(node, ConversationNode) for node in written)
    return has_user or (has_history and (not has_recorded or bool(media)))


def _merged_turns(tree: RootNode) -> Iterator[Child]:
    """Yield the turns of a prompt, also those that were merged, from the last one on."""
    for part in reversed(tree.content):
        if isinstance(part, MergedNode):
            yield from reversed(part.content)
        else:
            yield part


def _kind_of(block: Block) -> str:
    """Return the kind of a recorded block: ``content``, ``media`` or ``blank`` (not sent)."""
    if isinstance(block, TextBlock):
        return "content" if block.text.strip() else "blank"
    return "media" if isinstance(block, MediaBlock) else "content"


def _is_sent(node: Node) -> bool:
    """Return whether a part of a turn is more than white space, without the parts in it."""
    if isinstance(node, TableNode | ToolResultNode | ToolTurnNode):
        return True
    texts = [
        child for child in (*node.content, getattr(node, "text", "")) if isinstance(child, str)
    ]
    return any(text.strip() for text in texts)


def _turns(tree: RootNode) -> Iterator[Node]:
    waiting: list[Child] = [*reversed(tree.content)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ConversationNode):
            yield part
        elif isinstance(part, FragmentNode):
            waiting += reversed(part.content)
        elif isinstance(part, TurnNode) and part.role in SPEAKERS:
            yield part


def recording_hints(
    stages: Mapping[str, RootNode], messages: Sequence[Message], tools: Iterable[str]
) -> Iterator[Loss]:
    """Yield the hints about recordings: empty or repeated messages, and unknown names.

    ``tools`` are the names of those that the prompt offers.
    """
    for recording in recordings(stages["fill"]) if stages["fill"]._mask & RECORDED else ():
        yield from _repeated(recording)
    turns = [*_turns(stages["read"])]
    for turn, following in zip_longest(turns, turns[1:]):
        if isinstance(turn, ConversationNode):
            yield from _in_conversation(turn, following)
            yield from _unknown_names(turn, {*tools})
    system = next(iter(stages["merge_system"].content), None)
    if isinstance(system, ConsolidatedNode):
        yield from _repeated_system(system, messages[0].text if messages else "")


def _repeated(node: RecordedNode) -> Iterator[Loss]:
    """Yield a hint for an object that comes twice in a row, or twice after the same object.

    An object alone may be repeated: examples in a list may share an answer.
    """
    items: object = node.items
    objects = [*map(id, items)] if is_list(items) else []
    seen: set[tuple[int, int]] = set()
    for index, pair in enumerate(pairwise(objects), 1):
        if pair in seen or pair[0] == pair[1]:
            yield _twice(node, index, "it is the same object: was the list extended by itself?")
        seen.add(pair)


def _twice(node: Node, index: int, why: str) -> Loss:
    what = "a message that comes twice"
    return hint("repeated_message", what, why, f"history[{index}]", source=node.source)


def _in_conversation(node: ConversationNode, following: Node | None) -> Iterator[Loss]:
    """Yield the hints about the messages of a recording, and about the turn behind it."""
    ids: set[str] = set()
    asked = ""
    for run in node.content:
        if not isinstance(run, RecordedNode):
            asked = ""
            continue
        for index, message in enumerate(run.items, run.start):
            types = {block.type for block in message.content}
            is_empty = types <= {"text"} and not message.text
            if is_empty and message.finish_reason != "interrupted":
                what, why = f"an empty {message.role} message", "it is not sent"
                yield hint("empty_message", what, why, f"history[{index}]", source=node.source)
            count = message.metadata.get(JOINED)
            if message.kind == "recorded" and isinstance(count, int):
                what = f"{count} answers in a row"
                why = "they are sent as one turn, so that the results of all calls follow it"
                yield hint("joined_turns", what, why, f"history[{index}]", source=node.source)
            if message.id is not None and message.id in ids:
                yield _twice(node, index, f"its id {message.id!r} occurs twice")
            ids.add(message.id or "")
            if message.role == "user" and "tool_result" not in types:
                asked = message.text
            elif message.role == "assistant" and "tool_use" not in types:
                asked = ""
    if not asked or not isinstance(following, TurnNode) or following.role != "user":
        return
    if _text_in(following) == asked:
        why = "the History ends with the same question; leave it out of one of the two"
        yield hint("repeated_message", "a question that comes twice", why, source=following.source)


def _unknown_names(node: ConversationNode, tools: set[str]) -> Iterator[Loss]:
    """Yield a hint for a pinned id that no message has, and for the name of an unknown tool.

    Without a tool in the prompt, the names of the calls are known; without a call, too, none is.
    """
    pins = node.pin if node.pin is not None and not callable(node.pin) else frozenset[str]()
    excluded = node.clear_results.exclude if node.clear_results else ()
    if not pins and not excluded:
        return
    from promptdsl.budget.cleared_results import as_sent

    messages: list[Message] = []
    ids: set[str | None] = set()
    for part in node.content:
        if isinstance(part, RecordedNode):
            messages += part.items
        else:
            ids.add(part.options.id)
    ids.update(message.id for message in messages)
    calls = [call for message in messages for call in message.calls]
    for id in sorted(pins - ids) if ids else ():
        why = "no message has this id"
        if id in {call.id for call in calls}:
            why = "it is the id of a call, not of a message; pin the message that has the call"
        yield hint("unknown_name", f"pin={id!r}", why, source=node.source)
    named = tools.union(call.name for call in calls)
    for name in excluded if named else ():
        if name not in named and name not in map(as_sent, named):
            why = "no tool of the prompt or of its history has this name"
            why += "".join(f"; did you mean {near!r}?" for near in close_names(name, named)[:1])
            yield hint("unknown_name", f"exclude={name!r}", why, source=node.source)


def clearing_histories(tree: RootNode) -> list[ConversationNode]:
    """Return the histories of a tree that clear results."""
    return [
        node
        for node in _turns(tree)
        if isinstance(node, ConversationNode) and node.clear_results is not None
    ]


def clearing_hints(
    histories: Iterable[ConversationNode],
    most: int,
    total: int | None,
    dropped: "Sequence[Dropped]",
) -> Iterator[Loss]:
    """Yield the hints about histories that clear nothing, or far more than a budget needs.

    ``most`` are the tokens of the budget, or of the window of the model without one. ``total`` are
    those that are sent, ``None`` without a budget, ``dropped`` the parts that are not sent.
    """
    for node in histories:
        options = node.clear_results or ClearResults()
        at_least = options.at_least
        parts = [part for part in dropped if part.source == node.source]
        cleared = sum(part.tokens for part in parts if "cleared" in part.why)
        if at_least is not None and at_least >= most:
            why = f"{most:,} tokens never hold so much to clear; write less, or leave it out"
            yield hint("unreached_clearing", f"at_least={at_least:,}", why, source=node.source)
        elif at_least is not None and cleared and total is not None:
            if total + cleared > most or total * 2 >= most:
                continue
            what = f"at_least={at_least:,}"
            why = (
                f"it clears every {at_least:,} tokens, though only {total:,} of {most:,} are sent; "
            )
            why += "without at_least, results are cleared when a budget is too small"
            yield hint("early_clearing", what, why, source=node.source)
        elif not cleared and any("no room" in part.why for part in parts):
            runs = (run for run in node.content if isinstance(run, RecordedNode))
            count = sum(len(message.calls) for run in runs for message in run.items)
            if 0 < count <= options.keep:
                why = f"all {count:,} results stay, so a budget drops rounds; keep fewer"
                yield hint("unreached_clearing", f"keep={options.keep:,}", why, source=node.source)


def _text_in(turn: Node) -> str:
    """Return the texts of a turn, without headings, tags and gaps around them."""
    nodes: list[Any] = [node for node, _ in walk(turn)]  # Any: some classes have a text
    texts = (text for node in nodes for text in (*node.content, getattr(node, "text", "")))
    return "".join(text for text in texts if isinstance(text, str))


def _repeated_system(system: ConsolidatedNode, text: str) -> Iterator[Loss]:
    """Yield the hint about recorded system text that the prompt writes again."""
    recorded = [
        turn for turn in system.content if isinstance(turn, TurnNode) and turn.kind == "recorded"
    ]
    recorded_text = "\n\n".join(map(_text_in, recorded)).strip()
    rest = (
        text.replace(recorded_text, "", 1).strip()
        if recorded_text and recorded_text in text
        else ""
    )
    if rest and (
        f"\n{recorded_text}\n" in f"\n{rest}\n" or f"\n{rest}\n" in f"\n{recorded_text}\n"
    ):
        what = "system text that comes twice"
        why = "a History has it and the prompt writes it; leave the system message out of the list"
        yield hint("repeated_system", what, why, source=recorded[0].source)
