"""Mutants of a regular expression: its text, with one element dropped or altered."""

import re
from collections.abc import Iterator

ESCAPE = r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|.)"
TOKEN = re.compile(
    rf"(?P<escape>{ESCAPE})|(?P<open>\((?:\?(?:[:=!]|<[=!]))?)|(?P<close>\))"
    rf"|(?P<class>\[\^?(?:{ESCAPE}|[^\]\\])*\])|(?P<bar>\|)"
    r"|(?P<count>[*+?]\+?|\{\d+(?:,\d+)?\}\+?)|(?P<plain>.)",
    re.DOTALL,
)
ELEMENT = re.compile(rf"({ESCAPE}|[^\\])(?:-({ESCAPE}|[^\\]))?", re.DOTALL)

OPPOSITES = {"(?=": "(?!", "(?!": "(?=", "(?<=": "(?<!", "(?<!": "(?<="}
COUNTS = {
    "*": ("+", ""),
    "+": ("*", ""),
    "?": ("*", ""),
    "*+": ("++", "*", ""),
    "++": ("*+", "+", ""),
    "?+": ("*+", "?", ""),
}


def of_pattern(text: str) -> Iterator[str]:
    """Yield each pattern that is this one with one element changed."""
    starts: list[int] = []
    bars: list[list[int]] = [[]]
    atom = (0, 0)
    for token in TOKEN.finditer(text):
        match token.lastgroup:
            case "open":
                starts.append(token.start())
                bars.append([token.end() - 1])
            case "bar":
                bars[-1].append(token.start())
            case "close":
                yield from _alternatives(text, [*bars.pop(), token.start()])
                atom = (starts.pop(), token.end())
                yield from _dropped(text, atom)
            case "count":
                yield from _counts(text, token)
                yield text[: atom[0]] + text[token.end() :]
            case _:
                atom = token.span()
                yield from _dropped(text, atom)
                yield from _atoms(text, token)
        if token["open"] in OPPOSITES:
            yield text[: token.start()] + OPPOSITES[token["open"]] + text[token.end() :]
    yield from _alternatives(text, [-1, *bars[0], len(text)])


def of_class(text: str) -> Iterator[str]:
    """Yield each inside of a character class that is this one with one element changed."""
    for element in ELEMENT.finditer(text):
        before, after = text[: element.start()], text[element.end() :]
        low, high = element.groups()
        yield before + after
        if high:
            yield from (f"{before}{_next(low, by)}-{high}{after}" for by in (-1, 1))
            yield from (f"{before}{low}-{_next(high, by)}{after}" for by in (-1, 1))


def _dropped(text: str, atom: tuple[int, int]) -> Iterator[str]:
    """Yield a pattern without an atom, unless it is counted: then it goes with its count."""
    following = TOKEN.match(text, atom[1])
    if not (following and following["count"]):
        yield text[: atom[0]] + text[atom[1] :]


def _atoms(text: str, token: re.Match[str]) -> Iterator[str]:
    before, after = text[: token.start()], text[token.end() :]
    if token["escape"] and token[0][1] in "sSwW":
        yield before + token[0].swapcase() + after
    if token["class"]:
        start = "[^" if token[0].startswith("[^") else "["
        inside = token[0][len(start) : -1]
        yield f"{before}{'[' if start == '[^' else '[^'}{inside}]{after}"
        yield from (f"{before}{start}{other}]{after}" for other in of_class(inside))


def _counts(text: str, token: re.Match[str]) -> Iterator[str]:
    numbers = [int(number) for number in re.findall(r"\d+", token[0])]
    others = COUNTS.get(token[0], ("",))
    for place, number in enumerate(numbers):
        for by in (-1, 1):
            changed = [*numbers[:place], max(0, number + by), *numbers[place + 1 :]]
            others += ("{" + ",".join(map(str, changed)) + "}",)
    yield from (
        text[: token.start()] + other + text[token.end() :] for other in others if other != token[0]
    )


def _alternatives(text: str, bars: list[int]) -> Iterator[str]:
    """Yield a pattern without each alternative of a group; its bars, and what is around, given."""
    for place in range(len(bars) - 1) if len(bars) > 2 else ():
        start, end = bars[place] + 1, bars[place + 1]
        last = place == len(bars) - 2
        yield text[: start - last] + text[end + (not last) :]


def _next(character: str, by: int) -> str:
    """Return the character before or behind one, written as that is written."""
    if character[0] == "\\" and len(character) > 2:
        width = len(character) - 2
        return f"{character[:2]}{max(0, int(character[2:], 16) + by):0{width}x}"
    return re.escape(chr(ord(character[-1]) + by))
