"""Recorded conversations whose tool results are cut or cleared, and the reports of that."""

from collections.abc import Iterator
from functools import partial
from operator import is_not

from promptdsl.budget.capped_results import capped_messages
from promptdsl.budget.cleared_results import Clearing, clearing_of
from promptdsl.budget.dropped import Dropped, in_tokens
from promptdsl.budget.edited_history import EditedHistory, edited_run, uncleared
from promptdsl.budget.histories import measure_history
from promptdsl.budget.measure_protocol import Measure
from promptdsl.budget.pins import Ranges, pinned_messages, pinned_ranges
from promptdsl.messages.message import Message
from promptdsl.tokens.messages import message_tokens
from promptdsl.tree.group_nodes import ConversationNode
from promptdsl.tree.masks import OPAQUE
from promptdsl.tree.node import Node, walk
from promptdsl.tree.recorded import first_of, recording
from promptdsl.tree.rewrite import clears_early, replace, rewrite, with_content
from promptdsl.tree.turn_nodes import RecordedNode, RootNode


def capped_histories(root: RootNode, measure: Measure) -> RootNode:
    """Return a tree in which no recorded result is longer than its history allows."""

    def change(node: Node) -> Node:
        if not isinstance(node, ConversationNode) or node.max_result_tokens is None:
            return node
        most, tokens, facts = node.max_result_tokens, measure.tokens, measure.facts
        cap = partial(capped_messages, most=most, tokens=tokens, facts=facts)
        members = [*node.content]
        for index, member in enumerate(members):
            if isinstance(member, RecordedNode):
                members[index] = edited_run(member, ("capped", most, tokens, facts), cap)
        return with_content(node, tuple(members))

    return rewrite(root, change, within=OPAQUE)


def cleared_histories(
    root: RootNode, measure: Measure
) -> tuple[RootNode, list[tuple[Node | None, Dropped]]]:
    """Return a tree with results that are cleared without a budget, and a report of each history.

    A history clears results without a budget if its ``clear_results`` has ``at_least``.
    """
    reports: list[tuple[Node | None, Dropped]] = []

    def change(node: Node) -> Node:
        if not isinstance(node, ConversationNode) or not clears_early(node):
            return node
        tokens, structure = measure_history(node, measure)
        pinned: Ranges = ()
        if node.pin is not None:
            # A function ``pin`` is called once for each message.
            node = replace(node, pin=frozenset(pinned_messages(node)))
            pinned = pinned_ranges(node, structure.exchanges, structure.rounds, len(tokens))
        clearing = clearing_of(node, tokens, structure.rounds, measure, step=0, pinned=pinned)
        clear_before = clearing.clear_before(len(tokens))
        if clear_before:
            why = clearing.summary(clear_before, [(0, clear_before)])
            saved = clearing.saved[clear_before]
            at, gone = node.source, (node,)
            dropped = Dropped("history", "history", saved, None, why, at, gone=gone)
            reports.append((None, dropped))
        return clearing.applied(clear_before)

    return rewrite(root, change, within=OPAQUE), reports


def planned_clearing(
    node: ConversationNode, measure: Measure, *, step: int, pinned: Ranges
) -> Clearing:
    """Return how a budget clears the results of a history, in steps of ``step`` tokens.

    Results that are cleared without a budget are cleared already. Messages in ``pinned`` stay.
    """
    before = uncleared(node)
    tokens, structure = measure_history(before, measure)
    return clearing_of(before, tokens, structure.rounds, measure, step=step, pinned=pinned)


def edits_in(tree: RootNode, measure: Measure) -> Iterator[Dropped]:
    """Yield a report of the cut results of each history in a tree."""
    count_of = partial(message_tokens, tokens=measure.tokens, facts=measure.facts)
    for history, _ in walk(tree):
        if not isinstance(history, ConversationNode):
            continue
        runs = (part for part in history.content if isinstance(part, RecordedNode))
        edited = [pair for run in runs for pair in _edited(run)]
        if edited:
            old, new = zip(*edited, strict=True)
            saved = sum(map(count_of, old)) - sum(map(count_of, new))
            count = sum(map(_cut_results, old, new))
            results = "a result is" if count == 1 else f"{count} results are"
            why = f"{results} cut to {in_tokens(history.max_result_tokens or 0)}"
            yield Dropped("history", "history", saved, None, why, history.source, gone=old)


def _cut_results(old: Message, new: Message) -> int:
    return sum(map(is_not, old.content, new.content))


def _edited(run: RecordedNode) -> Iterator[tuple[Message, Message]]:
    """Yield each message of a run whose results are cut, before and after."""
    known, first, items = recording(run), first_of(run), run.items
    if isinstance(known, EditedHistory) and known.made_of is not None:
        # A cleared result is no cut result.
        before = known.messages[first : first + len(items)]
        items = [new if new is old else None for old, new in zip(before, items, strict=True)]
        first += known.start - known.made_of.start
        known = known.made_of
    if isinstance(known, EditedHistory):
        before = known.messages[first : first + len(items)]
        pairs = zip(before, items, known.items[first : first + len(items)], strict=True)
        yield from ((old, new) for old, left, new in pairs if new is left and new is not old)
