"""``max_result_tokens``: no recorded result is larger than its history allows."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import History, Limit, Message, OptionError, Rendered, Timeline, User, render
from promptdsl.tokens import counter
from tests.errors import raised
from tests.searching import examples

O200K = counter("gpt-5")
PNG = {"type": "image", "source": {"type": "url", "url": "https://a.example/a.png"}}


def words(text: str) -> int:
    """Return the words of a text."""
    return len(text.split())


def loop(*results: Any) -> list[dict[str, Any]]:
    """Return a task, and a round for each result."""
    said: list[dict[str, Any]] = [{"role": "user", "content": "Do it."}]
    for number, result in enumerate(results):
        call = {"type": "tool_use", "id": f"c{number}", "name": "look", "input": {}}
        told = {"type": "tool_result", "tool_use_id": f"c{number}", "content": result}
        said += [{"role": "assistant", "content": [call]}, {"role": "tool", "content": [told]}]
    return said


def capped(*results: Any, most: int, count: Any = words, **request: Any) -> Rendered:
    """Return a prompt whose results are cut."""
    said = [Message.from_dict(message) for message in loop(*results)]
    return render(Timeline(History(said, max_result_tokens=most)), counter=count, **request)


def results_of(rendered: Rendered) -> list[list[str]]:
    """Return the texts of each result; of an attachment its type."""
    found = [m.content[0].content for m in rendered.messages if m.role == "tool"]  # type: ignore[union-attr]
    return [[getattr(block, "text", block.type) for block in each] for each in found]


LINES = "one two three\nfour five six\nseven eight nine"


@pytest.mark.parametrize(
    ("result", "most", "expected"),
    [
        (LINES, 9, [LINES]),
        (LINES, 8, ["one two three\nfour five six\n[...]"]),
        (LINES, 6, ["one two three\n[...]"]),
        ("a b c d e f", 4, ["a b c\n[...]"]),
        ("a b c d e f", 1, ["[...]"]),
        ('["a b", "c d", "e f"]', 4, ['["a b", "c [...]"]']),
        ('["a b", "c d", "e f"]', 5, ['["a b", "c d", "[...]"]']),
        ('{"a": {"b": [1, 2, 3, 4]}}', 5, ['{"a": {"b": [1, 2, "[...]"]}}']),
        ('{"a": 1, "b": 2, "c": 3}', 5, ['{"a": 1, "[...]": "[...]"}']),
        ('{"a": "\\ud83d\\ude00 b c d"}', 3, ['{"a": "\\ud83d\\ude00 [...]"}']),
        ('["a b c"]', 1, ['["[...]"]']),
        ('"one two three four"', 3, ['"one two [...]"']),
        ("[1e999, 12345678901234567890123, 3, 4]", 2, ['[1e999, "[...]"]']),
        (
            [{"type": "text", "text": "a b c"}, {"type": "text", "text": "d e"}],
            4,
            ["a b c", "[...]"],
        ),
        (
            [{"type": "text", "text": LINES}, {"type": "text", "text": "last"}],
            4,
            ["one two three\n[...]"],
        ),
        ([{"type": "text", "text": "a b"}, PNG], 9, ["a b", "[image (url): left out]"]),
        (
            [
                {"type": "text", "text": "a b c d e f g h\ni j k l m n o p"},
                {"type": "text", "text": "last"},
                PNG,
            ],
            15,
            ["a b c d e f g h\n[...]", "[image (url): left out]"],
        ),
        ([PNG, {"type": "text", "text": "a b"}], 9, ["[image (url): left out]", "a b"]),
        (
            [PNG, {"type": "text", "text": "a b c d e f g h i"}],
            10,
            ["[image (url): left out]", "a b c d e\n[...]"],
        ),
    ],
)
def test_where_it_is_cut(result: Any, most: int, expected: list[str]) -> None:
    """At lines; JSON to shorter JSON; what no longer fits of attachments becomes a line."""
    assert results_of(capped(result, most=most)) == [expected]


def test_two_texts_that_fit_behind_a_picture() -> None:
    """Where all that is left fits, no room is kept for a mark."""
    texts = [{"type": "text", "text": text} for text in ("four", "a")]
    line = "[image (url): left out]"
    assert results_of(capped([PNG, *texts], most=len(line) + 5, count=len)) == [[line, "four", "a"]]


def test_a_number_is_no_other_number() -> None:
    """A number that does not fit is left out: its beginning would be another one."""
    assert [['"[...]"']] == results_of(capped("1" + "0" * 25, most=8, count=len))
    assert [["10 rows\n[...]"]] == results_of(capped("10 rows or more", most=13, count=len))


def test_calls_and_answers_stay() -> None:
    """Only results are cut, those of the user's turn too, and no other text."""
    said = loop(LINES)
    said[2] = {"role": "user", "content": [*said[2]["content"], {"type": "text", "text": LINES}]}
    told = render(Timeline(History(said, max_result_tokens=6)), counter=words).messages
    assert told[-1].to_dict()["content"][0]["content"] == [
        {"type": "text", "text": "one two three\n[...]"}
    ]
    assert told[-1].content[1].text == LINES  # type: ignore[union-attr]
    assert told[1].calls[0].id == "c0"


TEXTS = st.one_of(
    st.text(max_size=300),
    st.lists(st.text(max_size=20), max_size=30).map("\n".join),
    st.integers(150, 200).map(lambda levels: "[" * levels + '"a b", 1' + "]" * levels),
    st.recursive(
        st.none() | st.integers() | st.text(max_size=60),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner),
    ).map(lambda data: json.dumps([data], ensure_ascii=len(str(data)) % 2 == 0)),
    st.text(max_size=200).map(json.dumps),
    st.integers(10**20, 10**90).map(str),
    st.lists(st.sampled_from(["1e999", "-1E400", "9" * 50, '"a b"']), max_size=30).map(
        lambda items: f"[{', '.join(items)}]"
    ),
)


@examples(60)
@given(TEXTS, st.integers(1, 60))
def test_no_result_is_larger(text: str, most: int) -> None:
    """Whatever it is, a result has at most so many tokens, and JSON is JSON."""
    [[*found]] = results_of(capped(text or "a", most=most, count=O200K))
    left = "".join(found)
    assert O200K.of(left) <= most
    assert not found or not _is_json(text) or _is_json(left)


@pytest.mark.parametrize(("levels", "is_json"), [(199, True), (200, False), (2_000, False)])
def test_deep_json(levels: int, is_json: bool) -> None:
    """JSON that is nested more than 200 deep is cut as another text."""
    text = "[" * levels + '["a b c d", "e f"]' + "]" * levels
    [[left]] = results_of(capped(text, most=4))
    assert _is_json(left) == is_json
    assert left.endswith('["a b c [...]"' + "]" * (levels + 1) if is_json else "\n[...]")


@pytest.mark.parametrize("text", [json.dumps(["a b c d"] * 20_000), "a b c d\n" * 20_000])
def test_how_much_is_counted(text: str) -> None:
    """A long result is counted once, and then its beginning; in a later request nothing is."""
    counted: list[int] = []

    def count(text: str) -> int:
        counted.append(len(text))
        return len(text.split())

    for most in (sum(map(len, (text, "tool"))) + 20_000, 0):
        prompt = Timeline(History(loop(text), max_result_tokens=100))
        assert render(prompt, counter=count).dropped
        assert sum(counted) <= most
        counted.clear()


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), list | str)
    except (ValueError, RecursionError):
        return False


def test_a_budget_counts_what_is_left() -> None:
    """With a budget the results are cut before anything is dropped."""
    [found] = results_of(capped(LINES, most=6, budget=40))
    assert found == ["one two three\n[...]"]


def test_it_is_told() -> None:
    """What was cut of results that are sent is told by their history."""
    [dropped] = capped(LINES, "a", LINES, most=6).dropped
    assert str(dropped).endswith("history, 10 tokens: 2 results are cut to 6 tokens")
    assert "max_result_tokens=6" in str(Timeline(History([], max_result_tokens=6)))
    assert capped("a", most=6).dropped == ()


def test_two_results_in_a_message() -> None:
    """Of the results of a message those are counted that are cut."""
    calls = [{"type": "tool_use", "id": id, "name": "look", "input": {}} for id in "abc"]
    results = [
        {"type": "tool_result", "tool_use_id": id, "content": text}
        for id, text in (("a", LINES), ("b", "short"), ("c", LINES))
    ]
    said = [{"role": "assistant", "content": calls}, {"role": "tool", "content": results}]
    history = History([Message.from_dict(message) for message in said], max_result_tokens=6)
    rendered = render(Timeline(User("Do it."), history), counter=words)
    assert ["2 results are cut to 6 tokens"] == [part.why for part in rendered.dropped]
    assert [10] == [part.tokens for part in rendered.dropped]


def test_a_longer_conversation_continues() -> None:
    """Messages that were cut for an earlier request are the same objects in a later one."""
    said = [Message.from_dict(message) for message in loop(*[LINES] * 70)]
    before, after = (
        render(Timeline(History(said[:end], max_result_tokens=6)), counter=words).messages
        for end in (101, 141)
    )
    assert all(old is new for old, new in zip(before, after, strict=False))


@pytest.mark.parametrize("most", [0, -1, 1.5, "many", True])
def test_a_bad_number(most: Any) -> None:
    """Anything but a whole number above 0 is an error."""
    error = raised(OptionError, lambda: History([], max_result_tokens=most))
    assert "max_result_tokens" in str(error)


def test_written_results_are_not_cut() -> None:
    """A written result has its own ``Limit``."""
    assert render(User(Limit(3, "a b c d")), counter=words).messages[0].text == "a b [...]"
