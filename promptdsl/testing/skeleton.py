"""The headings, rules and code fences of a text, as a tolerant reader of Markdown sees them."""

import re

CONTAINERS = re.compile(r"\s*(?:(?:[-+*>]|\d+[.)])\s+)*")
LINES = {
    "rule": re.compile(r"\s*([-*_])(?:\s*\1){2,}\s*"),
    "fence": re.compile(r"(?:```|~~~).*", re.DOTALL),
    "heading": re.compile(r"#{1,6}(?:\s.*)?", re.DOTALL),
}
UNDERLINE = re.compile(r"\s*(?:=+|-+)\s*")


def _kinds(above: str, line: str) -> list[str]:
    """Return what a line is, under the line above it: a heading, a rule, a fence or none."""
    start = CONTAINERS.match(line)
    rest = line[start.end() :] if start else line
    if above.strip() and (UNDERLINE.fullmatch(line) or UNDERLINE.fullmatch(rest)):
        return ["underline"]
    return [
        kind for kind, shape in LINES.items() if shape.fullmatch(line) or shape.fullmatch(rest)
    ][:1]


def skeleton(text: str) -> list[str]:
    """Return the headings, rules and code fences of a text, by every line end Python knows."""
    lines = text.splitlines()
    return [
        kind
        for above, line in zip(["", *lines], lines, strict=False)
        for kind in _kinds(above, line)
    ]
