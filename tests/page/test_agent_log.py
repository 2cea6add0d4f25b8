"""The log of a recorded agent: what its page has once, and that its size grows with what is new."""

from pathlib import Path

from promptdsl import PromptLog
from promptdsl.page import page_data, page_html
from tests.page.agent_log import naive_size, sizes, write_log

POLICY = "Help. " * 200
TEXT = "".join(f"{number}: the parcel was seen at a depot\n" for number in range(900))


def test_calls_at_the_budget(tmp_path: Path) -> None:
    """Each call has nearly the budget; a page of twice the calls is at most twice as large."""
    write_log(tmp_path, POLICY, TEXT, calls=24, budget=2_000, tokens=100)
    entries = PromptLog(tmp_path).read()
    half, full = (page_data(*entries[:count]) for count in (12, 24))
    assert len(page_html(full)) < 2 * len(page_html(half))
    assert len(page_html(full)) < naive_size(tmp_path) / 2
    totals = [request["figures"]["total"] for request in full["prompts"][0]["requests"]]
    assert all(1_000 < total <= 2_000 for total in totals)
    counted = sizes(full)
    assert sum(count for count, _ in counted.values()) == len(full["values"])
    assert counted["records"][0] == 24
