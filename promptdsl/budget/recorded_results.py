"""Recorded conversations whose results are cut, and what was done to them."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import attrs

from promptdsl.budget.capped_results import capped_message
from promptdsl.budget.dropped import Dropped, in_tokens
from promptdsl.budget.measure_protocol import Measure
from promptdsl.messages.conversation_cache import Recording
from promptdsl.messages.message import Message
from promptdsl.tokens.messages import message_tokens
from promptdsl.tree.group_nodes import ConversationNode
from promptdsl.tree.masks import HOLLOW
from promptdsl.tree.node import Node, walk
from promptdsl.tree.recorded import first_of, recording, remember
from promptdsl.tree.rewrite import copied, rewrite, with_content
from promptdsl.tree.turn_nodes import RecordedNode, RootNode

Change = Callable[[Message], Message]


@attrs.define(eq=False)
class EditedRecording(Recording):
    """The messages of a recording with other results; ``given`` are the same messages before."""


def capped_histories(root: RootNode, measure: Measure) -> RootNode:
    """Return a tree in which no recorded result is larger than its history allows."""

    def change(node: Node) -> Node:
        most = node.max_result_tokens if isinstance(node, ConversationNode) else None
        if most is None:
            return node
        cap = partial(capped_message, most=most, tokens=measure.tokens, facts=measure.facts)
        key = ("capped", most, measure.tokens, measure.facts)
        members = (
            edited_run(part, key, cap) if isinstance(part, RecordedNode) else part
            for part in node.content
        )
        return with_content(node, tuple(members))

    return rewrite(root, change, within=HOLLOW)


def edited_run(run: RecordedNode, key: object, change: Change) -> RecordedNode:
    """Return a run whose messages with results are changed, the same one if none of them is.

    The conversation remembers the changed messages under ``key``.
    """

    def fold(messages: Sequence[Message], before: EditedRecording | None) -> EditedRecording:
        done = before.items if before else ()
        if before and len(done) >= len(messages):
            return before
        new = [m if m.plain is not None else change(m) for m in messages[len(done) :]]
        edited = EditedRecording(tuple(messages), (*done, *new), run.mask, recording(run).start)
        edited.found = before.found if before else {}
        return edited

    edited, first = remember(run, key, fold), first_of(run)
    return with_items(run, edited.items[first : first + len(run.items)], edited)


def with_items(
    run: RecordedNode, items: tuple[Message, ...], known: EditedRecording
) -> RecordedNode:
    """Return a run with other messages in the place of its own; the same one if none differs."""
    if all(new is old for new, old in zip(items, run.items, strict=True)):
        return run
    edited = copied(run, run.content, run.mask)
    object.__setattr__(edited, "items", items)
    object.__setattr__(edited, "known", known)
    return edited


def edits_in(tree: RootNode, measure: Measure) -> Iterator[Dropped]:
    """Yield what was done to the results of each history that are in a tree."""
    for history, _ in walk(tree):
        if not isinstance(history, ConversationNode):
            continue
        saved = [
            message_tokens(old, measure.tokens, measure.facts)
            - message_tokens(new, measure.tokens, measure.facts)
            for part in history.content
            if isinstance(part, RecordedNode)
            for old, new in _edited(part)
        ]
        if saved:
            results = "a result is" if len(saved) == 1 else f"{len(saved)} results are"
            why = f"{results} cut to {in_tokens(history.max_result_tokens or 0)}"
            yield Dropped("history", "history", sum(saved), None, why, history.source)


def _edited(run: RecordedNode) -> Iterator[tuple[Message, Message]]:
    """Yield the messages of a run that were changed, each before and after."""
    known = recording(run)
    if isinstance(known, EditedRecording):
        first = first_of(run)
        before = known.given[first : first + len(run.items)]
        yield from (
            (old, new) for old, new in zip(before, run.items, strict=True) if new is not old
        )
