"""Results and limits of two texts, and what is left of each at every size.

``every_size.json`` has it: for each case the lowest size of each outcome, from the whole to
nothing. ``python -m tests.budget.every_size`` writes the file: read what changed in it.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from promptdsl import *
from tests.budget.cases import talk
from tests.renders import timeline_of

FILE = Path(__file__).with_suffix(".json")
Left = dict[str, list[str]]
"""By the lowest size of an outcome, the texts that are left."""

PICTURE = {"type": "image", "source": {"type": "url", "url": "https://a.example/a.png"}}
ROWS = [
    {"id": 1, "tags": ["a b", "c"], "at": {"x": -1.5, "y": None}},
    {"id": 20, "tags": [], "at": {}, "said": 'so "it" is\nd \\ e'},
    [True, [False, "f g h"], {"k": {"l": "m n"}}],
]
RESULTS: dict[str, list[Any]] = {
    "two lists of JSON": [json.dumps(ROWS)],
    "an object of JSON": [json.dumps({"rows": ROWS[:1], "next": "a b c"}, indent=1)],
    "two texts of JSON": [json.dumps(ROWS[0]), json.dumps(ROWS[1])],
    "a text and then JSON": ["one two\nthree", json.dumps(["a b", "c d"]), "four"],
    "two texts of lines": ["one two\nthree\n\nfour five six", "seven\neight nine"],
    "a long line behind a short one": ["a\nb c d e f g h i j k l", "m n", "o"],
    "a picture between two texts": ["one two three", PICTURE, "four\nfive"],
    "two pictures and a text": [PICTURE, PICTURE, "one two", PICTURE],
    "numbers and texts alone": ["123456789 1", '"one two three"', "-1e5"],
}


def words(text: str) -> int:
    """Return the words of a text."""
    return len(text.split())


def of_result(content: list[Any]) -> Callable[[int], list[str]]:
    """Return what is left of a result by the most tokens, counted in words."""
    blocks = [{"type": "text", "text": it} if isinstance(it, str) else it for it in content]
    block = {"type": "tool_result", "tool_use_id": "1", "content": blocks}
    said = [*talk("user T", "call 1 A"), {"role": "tool", "content": [block]}]

    def left(most: int) -> list[str]:
        prompt = timeline_of(History(said, max_result_tokens=most))
        rendered = render(prompt, counter=words, hints=False)
        [result] = rendered.messages[-1].content
        assert isinstance(result, ToolResultBlock)
        texts = [getattr(inner, "text", inner.type) for inner in result.content]
        return [*texts, *(f"{part.tokens} tokens less" for part in rendered.dropped)]

    return left


LIMITS: dict[str, Callable[[], list[Any]]] = {
    "two paragraphs and two values": lambda: [
        "One two. Three four.\n\nFive six seven. Eight.",
        Value("nine ten"),
        " Eleven twelve.\n\nThirteen.",
        Value("fourteen fifteen sixteen"),
    ],
    "two tables around a text": lambda: [
        Table([["a", "1"], ["b", "2"], ["c", "3"], ["d", "4"]], ["k", "v"]),
        "One two three.",
        Table([["e", "5"], ["f", "6"], ["g", "7"]], ["k", "v"]),
    ],
    "code, JSON and quotes": lambda: [
        Code("a = 1\nb = 2\nc = 3"),
        Json({"d": [1, 2, 3], "e": "f g"}),
        Quote("One two.", Quote("Three four five."), "Six."),
    ],
    "two limits in one": lambda: [
        "One two three. ",
        Limit(3, "Four five six seven eight."),
        " Nine ten. ",
        Limit(2, "Eleven twelve thirteen.", keep="tail"),
    ],
}


def of_limit(write: Callable[[], list[Any]], **options: Any) -> Callable[[int], list[str]]:
    """Return what is left of content in a limit by its size."""

    def left(most: int) -> list[str]:
        rendered = render(User("x", Limit(most, *write(), **options)), counter=words)
        texts = [block.text for block in rendered.messages[0].content]  # type: ignore[union-attr]
        return [*texts, *(f"{part.tokens} tokens less" for part in rendered.dropped)]

    return left


CASES: dict[str, Callable[[int], list[str]]] = {
    **{f"result: {name}": of_result(content) for name, content in RESULTS.items()},
    **{
        f"limit: {name}, {keep}": of_limit(write, keep=keep)
        for name, write in LIMITS.items()
        for keep in ("head", "tail", "ends")
    },
}


def expected() -> dict[str, Left]:
    """Return what is left in each case, by the lowest size of each outcome."""
    sizes: dict[str, Left] = json.loads(FILE.read_text("utf-8"))
    return sizes


def sizes_of(name: str, most: int = 60) -> Left:
    """Return what is left in a case at every size, from the whole on down."""
    found = {size: CASES[name](size) for size in range(most, 0, -1)}
    lowest = [size for size in found if found[size] != found.get(size - 1)]
    return {str(size): found[size] for size in lowest}


if __name__ == "__main__":
    left = {name: sizes_of(name) for name in CASES}
    FILE.write_text(json.dumps(left, indent=1, ensure_ascii=False) + "\n", "utf-8")
