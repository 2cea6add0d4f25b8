"""Prompts described as plain data: what the oracle of budgets reads, and what it is built from.

Every word has a weight in tokens, which is all a prompt costs: the counter reads it off the word.
Weights are whole thousands, so that frames, of a few tokens each, decide nothing.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs

from promptdsl import *

K = 1_000
"""The tokens of a weight of one."""


@attrs.frozen(repr=False)
class Part:
    """A part of a prompt.

    ``weight`` is in thousands of tokens: of words, of a call's input, of a section's title.
    ``number`` is its place in document order, ``id`` that of the call it makes or answers,
    ``cache`` whether a mark stands behind it. ``filler`` follows a word in its text.
    """

    kind: str
    parts: tuple["Part", ...] = ()
    weight: int = 0
    priority: float | None = None
    cache: bool = False
    id: str = ""
    keep: int = 0
    step: int | None = None
    number: int = -1
    filler: str = ""

    @property
    def word(self) -> str:
        """What is seen of words, a call or a titled section in a message."""
        return f"{'t' if self.kind == 'section' else 'w'}{self.number}x{self.weight * K}"

    def __repr__(self) -> str:
        shown = [repr(part) for part in self.parts]
        said = ("weight", "priority", "cache", "id", "keep", "step")
        defaults = {"weight": 0, "priority": None, "cache": False, "id": "", "keep": 0}
        values = {name: getattr(self, name) for name in said}
        shown += [f"{n}={v!r}" for n, v in values.items() if v != defaults.get(n)]
        return f"{self.kind}({', '.join(shown)})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))


def _constructor(kind: str) -> Callable[..., Part]:
    return lambda *parts, **said: Part(kind, parts, **said)


timeline = _constructor("timeline")
system = _constructor("system")
developer = _constructor("developer")
user = _constructor("user")
assistant = _constructor("assistant")
event = _constructor("event")
ephemeral = _constructor("ephemeral")
grounding = _constructor("grounding")
section = _constructor("section")
group = _constructor("group")
fragment = _constructor("fragment")
first_fit = _constructor("first_fit")


def words(weight: int = 1) -> Part:
    """Return a text of one word."""
    return Part("words", weight=weight)


def call(id: str, weight: int = 1) -> Part:
    """Return a call, whose input has a word."""
    return Part("call", weight=weight, id=id)


def answer(id: str, *parts: Part, priority: float | None = None) -> Part:
    """Return the turn of a tool that answers a call."""
    return Part("tool", parts, id=id, priority=priority)


def history(
    *turns: Part, keep: int = 0, step: int | None = None, priority: float | None = 0
) -> Part:
    """Return a recorded conversation. ``step`` is in thousands of tokens."""
    return Part("history", turns, keep=keep, step=step, priority=priority)


def mark() -> Part:
    """Return a cache breakpoint that stands among the turns."""
    return Part("mark")


def numbered(tree: Part) -> Part:
    """Return a tree whose parts know their place in document order.

    An id of a call is good up to the next call of that id: here each gets one of its own.
    """
    numbers = iter(range(1_000_000))
    ids: dict[str, str] = {}

    def change(part: Part) -> Part:
        number = next(numbers)
        if part.kind == "call":
            ids[part.id] = f"{part.id}{number}"
        id = ids.get(part.id, part.id)
        return attrs.evolve(part, number=number, id=id, parts=tuple(map(change, part.parts)))

    return change(tree)


def lengthy(tree: Part) -> Part:
    """Return a tree whose words stand in texts, some longer and some of other scripts."""
    filler = FILLERS[tree.number % len(FILLERS)] * tree.weight if tree.kind == "words" else ""
    return attrs.evolve(tree, filler=filler, parts=tuple(map(lengthy, tree.parts)))


FILLERS = (
    " a few plain words.",
    "\n\n## A heading\n\n- one\n- two",
    " \u65e5\u672c\u8a9e \U0001f389",
    "   \t",
    ' {"a": [1, 2, 3]}\n',
    "</context>&amp;",
    "",
)


def below(part: Part) -> Iterator[Part]:
    """Yield a part and all that stands in it, in document order."""
    yield part
    for inner in part.parts:
        yield from below(inner)


# What promptdsl makes of it.

_WORD = re.compile(r"[wt]\d+x(\d+)")


def weigh(text: str) -> int:
    """Return the tokens of a text: the weights of the words in it. This is the counter."""
    return sum(map(int, _WORD.findall(text)))


def seen(messages: tuple[Message, ...]) -> list[str]:
    """Return the words in messages, in their order."""
    told = json.dumps([message.to_dict() for message in messages])
    return [found.group() for found in _WORD.finditer(told)]


def built(part: Part) -> Any:
    """Return what an author writes for a part."""
    return _BUILD[part.kind](part)


def _inside(part: Part) -> list[Any]:
    return [built(inner) for inner in part.parts]


def _turn(kind: Callable[..., Node]) -> Callable[[Part], Node]:
    return lambda part: kind(*_inside(part), priority=part.priority, cache=part.cache)


def _section(part: Part) -> Node:
    title = part.word if part.weight else None
    said = {"priority": part.priority, "cache": part.cache}
    return Section(f"s{part.number}", *_inside(part), title=title, **said)  # type: ignore[arg-type]


def _history(part: Part) -> Node:
    step = None if part.step is None else part.step * K
    said = {} if part.priority is None else {"priority": part.priority}
    return History([_recorded(turn) for turn in part.parts], keep=part.keep, step=step, **said)


def _recorded(turn: Part) -> Message:
    blocks = [_block(inner) for inner in turn.parts]
    if turn.kind == "tool":
        blocks = [{"type": "tool_result", "tool_use_id": turn.id, "content": blocks}]
    return Message.from_dict({"role": turn.kind, "content": blocks})


def _block(part: Part) -> dict[str, Any]:
    if part.kind == "call":
        return {"type": "tool_use", "id": part.id, "name": "t", "input": {"q": part.word}}
    return {"type": "text", "text": part.word + part.filler}


_BUILD: Mapping[str, Callable[[Part], Any]] = {
    "timeline": lambda part: Timeline(*_inside(part)),
    "system": _turn(System),
    "developer": _turn(Developer),
    "user": _turn(User),
    "assistant": _turn(Assistant),
    "event": _turn(Event),
    "ephemeral": lambda part: Ephemeral(*_inside(part), priority=part.priority),
    "grounding": lambda part: Grounding(f"g{part.number}", *_inside(part), priority=part.priority),
    "tool": lambda part: ToolMessage(part.id, *_inside(part), priority=part.priority),
    "section": _section,
    "group": lambda part: Group(*_inside(part), priority=part.priority),
    "fragment": lambda part: Fragment(*_inside(part)),
    "first_fit": lambda part: FirstFit(*_inside(part), priority=part.priority),
    "history": _history,
    "words": lambda part: Text(part.word + part.filler),
    "call": lambda part: ToolUse("t", {"q": part.word}, id=part.id),
    "mark": lambda _: CacheBreakpoint(),
}
