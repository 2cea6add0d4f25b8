"""The tokens that a request had, and that were dropped, cut or cleared in a later one."""

from collections.abc import Iterator
from typing import TypeAlias

from promptdsl.budget.dropped import Dropped, described
from promptdsl.foundation.source import Source
from promptdsl.messages.message import Message
from promptdsl.rendering.reports.report_input import ReportInput
from promptdsl.tree.group_nodes import ConversationNode
from promptdsl.tree.node import walk
from promptdsl.tree.turn_nodes import RecordedNode

RecordedAddress: TypeAlias = tuple[Source | None, int]
"""The line of a history, and the index of a message in it."""


def newly_dropped(before: ReportInput, after: ReportInput) -> int:
    """Return the tokens of the first request that were dropped, cut or cleared in the second.

    A recorded message counts with the tokens that the first request sent of it. What is only in the
    second prompt does not count, nor what the first request had dropped, too.
    """
    if not after.dropped():
        return 0
    olds, news = dict(_recorded(before)), dict(_recorded(after))
    counts, new_counts = _sent_counts(before), _sent_counts(after)
    total = sum(
        max(count - new_counts.get(address, 0), 0)
        for address, count in counts.items()
        if address in news and olds.get(address) == news[address]
    )
    parts = {(described(node), node.source) for node, _ in walk(before.stages["read"])}
    dropped = {(part.what, part.path): part.tokens for part in before.dropped()}
    for part in after.dropped():
        if (part.what, part.source) in parts and not _is_recorded(part):
            total += max(part.tokens - dropped.get((part.what, part.path), 0), 0)
    return total


def _recorded(report_input: ReportInput) -> Iterator[tuple[RecordedAddress, Message]]:
    """Yield the recorded messages of a prompt before any is dropped, by address."""
    for run, _ in walk(report_input.stages["read"]):
        if isinstance(run, RecordedNode):
            for number, message in enumerate(run.items, run.start):
                yield (run.source, number), message


def _sent_counts(report_input: ReportInput) -> dict[RecordedAddress, int]:
    """Return the tokens of the recorded messages that are sent, by address."""
    counts, by_address, start = report_input.counts(), dict[RecordedAddress, int](), 0
    for node, entry in zip(report_input.tree.content, report_input.timeline(), strict=True):
        if isinstance(node, RecordedNode):
            for number, count in enumerate(counts[start : entry.messages], node.start):
                by_address[node.source, number] = count
        start = entry.messages
    return by_address


def _is_recorded(part: Dropped) -> bool:
    """Return whether a dropped part consists of recorded messages, or of calls and results."""
    if part.what.startswith(("call ", "result ")):
        return True
    return any(
        isinstance(item, Message)
        or (isinstance(item, ConversationNode) and all(_are_recorded(item)))
        for item in part.gone
    )


def _are_recorded(history: ConversationNode) -> Iterator[bool]:
    return (isinstance(part, RecordedNode) for part in history.content)
