"""What holds of the reports of any prompt, in any budget."""

import json
from collections import Counter
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from promptdsl import PromptRecord, Rendered, Timeline, User, prefix_report, render
from tests.budget.descriptions import Part, built
from tests.budget.trees import trees
from tests.reports.any_requests import requests
from tests.reports.prompts import PROVIDERS, words
from tests.searching import examples


@examples(100, fast=4)
@given(requests())
def test_a_request_adds_up(rendered: Rendered) -> None:
    """The parts of a request, its messages and its lines all add up to what they are of.

    What the form of the target saves is no part.
    """
    report = rendered.tokens
    sent = [part for part in report.parts if part.dropped is None]
    tops = sum(part.tokens for part in sent if not part.depth)
    said = sum(report.messages)
    assert (report.total, report.total, said) == (
        tops + min(report.frame, 0),
        said + report.tools + report.frame,
        sum(report.sources.values()),
    )


@examples(100, fast=4)
@given(requests())
def test_parts_are_a_tree(rendered: Rendered) -> None:
    """No part is more than one level deeper than the one before it."""
    depths = [0, *(part.depth for part in rendered.tokens.parts)]
    assert [] == [pair for pair in pairwise(depths) if pair[1] > pair[0] + 1]


@examples(100, fast=4)
@given(requests())
def test_all_that_was_dropped_is_there(rendered: Rendered) -> None:
    """What a budget took away is there once, with its tokens and its reason."""
    gone = Counter((one.what, one.path, one.tokens, one.why) for one in rendered.dropped)
    parts = (part for part in rendered.tokens.parts if part.dropped is not None)
    assert gone == Counter((p.what, p.path, p.tokens, p.dropped) for p in parts)


@examples(100, fast=4)
@given(requests())
def test_a_record_has_the_blocks_of_its_render(rendered: Rendered) -> None:
    """A record shows each block with the spans and the losses that its render shows it with."""
    record = PromptRecord.from_dict(json.loads(rendered.record().to_json()))
    assert blocks_of(rendered) == blocks_of(record)


def blocks_of(request: Rendered | PromptRecord) -> list[Any]:
    """Return what the view of a request has of each block, of those in results, too."""
    blocks = [block for message in request._request_view.messages for block in message.blocks]
    inner = [part for block in blocks for part in block.inner]
    shown = (*blocks, *inner)
    return [(block.at, [*block.spans], block.is_lost, block.is_unsent) for block in shown]


@examples(50)
@given(trees(), trees(), st.sampled_from(PROVIDERS))
def test_what_is_shared_is_part_of_both(one: Part, two: Part, provider: str | None) -> None:
    """Two requests share no more than either has, and a request shares all of itself.

    That is all that is sent; without a target, its payload for a server with OpenAI's form.
    """
    before, after = (render(built(tree), provider=provider, counter=words) for tree in (one, two))
    report = prefix_report(before, after)
    itself = prefix_report(before, before)
    total = before.tokens.total if provider else itself.before
    assert (True, total, None) == (
        0 <= report.served <= report.shared <= min(report.before, report.after),
        itself.shared,
        itself.first,
    )


BLOCKS = st.lists(st.tuples(st.sampled_from("ab"), st.booleans()), max_size=6)


@examples(200)
@given(BLOCKS, BLOCKS, BLOCKS, st.sampled_from(["claude-sonnet-4-5", "gpt-5.6-sol"]))
def test_more_equal_blocks_serve_no_less(one: Any, two: Any, equal: Any, model: str) -> None:
    """Equal blocks before two requests are served too; of itself, all up to the last mark is."""
    rule = render(Timeline(User("Hi.")), model=model).facts.cache_rule
    served = rule.served_blocks(one, two)
    longer = rule.served_blocks(equal + one, equal + two)
    marks = [end for end, block in enumerate(one, 1) if block[1] or model.startswith("gpt")]
    assert (True, max(marks, default=0)) == (
        longer >= (served and served + len(equal)),
        rule.served_blocks(one, one),
    )
