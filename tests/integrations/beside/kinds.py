"""The kinds of difference between two requests.

A difference is told in a line: provider and model, ``moved`` if the places differ, a colon, the
atom of promptdsl, ``>>``, and that of Pydantic AI. An atom is its role, kind and value; where a
request has no such atom, there is nothing. To add a kind, write the patterns of its lines into
``KINDS``, and a row under "Compared with Pydantic AI" in ``docs/providers.md``.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

from tests.integrations.beside.atoms import Atom
from tests.integrations.beside.requests import Target

KINDS = {
    "boundaries": r"\S+ \S+: (.+) >> \1",
    "ids used again": r"\S+ \S+: (\w+) id (.+)_\d+ >> \1 id \2",
    "other ids": r"\S+ \S+: (\w+) id (\w).* >> \1 id (?=.*[^ -~]|.*[:.|]|.{41})\2.*",
    "signatures of calls": r"gemini gemini-2.*:  >> assistant signature c2tpcF90aG91Z2h0.*",
    "blank texts": r".*: (\w+ text (\{\})?)? >> \w+ text \s*",
    "first turn": r".*: user text \. >> ",
    "frames of instructions": (
        r".*: user text <developer>\n(.*)\n</developer> >> \w+ text (<system>)?\1(</system>)?"
    ),
    "location of instructions": r"openai_responses \S+: instruction text (.*) >> system text \1",
    "notes on frames": (
        r".*:  >> \w+ text (Mid-conversation system|When a user message"
        r"|(<system>)?The (following|preceding) user message).*"
    ),
    "foreign reasoning": r".*:  >> \w+ (text <(assistant_thinking|think)>\n|rs_1 ).*",
    "thoughts of Gemini": r"gemini.*:  >> assistant thinking .*",
    "reasoning of Claude elsewhere": (
        r"bedrock us\.anthropic.*:  >> assistant (thinking|signature) .*"
    ),
    "tool schemas": (
        r'openai.*:  >> tools schema "additionalProperties": false,'
        r"|(tools strict false)? >> tools strict true"
    ),
    "keys of results": r"gemini.*: tool key (output|error) >> tool key return_value",
    "empty results": (
        r"(gemini|openai).*: tool text (null|\[\])? >> (tool text )?"
        r"|tool key output >> tool key empty"
    ),
    "lists in results": (
        r"(anthropic|bedrock).*: tool text \[\] >> |"
        r"(tool text \[.*\])? >> tool text (\d|item \d|\{.*\})"
    ),
    "bad arguments": (
        r'.*: assistant arguments (\{"arguments": (".*")\}|(?!\{"arguments").*) >> '
        r'assistant arguments \{"INVALID_JSON": (?(2)\2|".*")\}'
    ),
    "words of errors": r'openai.*: tool text Error: .* >> tool text \{"error": .*',
    "order of results": r".* moved: (tool \w+ .*) >> \1",
    "moved files": (
        r"(gemini|bedrock).*: tool (file (?:a,b.*|# Title)|type (?:csv|text.*)|title .*)"
        r" >> user \1"
    ),
    "frames of files": (
        r".*:  >> \w+ text (</?pyai:tool_result|-----BEGIN FILE|File \w+ \(|See file ).*"
        r"|\w+ text (\[(image|document) \d+ of tool result |<document ).* >> "
        r"|tool text .* >> tool text \[.*See file .*| >> tool text \[\{\}, \"See file .*"
    ),
    "titles of files": r".*: \w+ title .* >> \w+ title .*",
    "types of texts": r".*: \w+ type text/plain >> \w+ type text/(csv|markdown)",
    "texts in results": r"anthropic.*: tool (file (a,b.*|# Title)|type text/plain) >> ",
    "addresses": r"gemini.*: user file https:.* >> user file [^:]+",
    "Word files": (
        r"(gemini|openai) .*:  >> user (file PK.*|type .*wordprocessingml.*|title .*docx)"
    ),
    "refusals": r"anthropic.*:  >> request refused Unsupported binary content media type .*",
}
"""The kinds, in the order in which they are tried: a pattern before the colon, one behind it."""


def classified(
    ours: Sequence[Atom], theirs: Sequence[Atom], target: Target, kinds: Mapping[str, str]
) -> tuple[Counter[str], list[str]]:
    """Return how many differences there are of each kind, and the lines of those of none."""
    mine, others = _unaligned(ours, theirs)
    pairs = sorted((abs(m - o), m, o) for m in mine for o in others)
    singles = [*((0.0, m, -1.0) for m in mine), *((0.0, -1.0, o) for o in others)]
    found: Counter[str] = Counter()

    def told(distance: float, m: float, o: float) -> str:
        sides = [" ".join(atom[:3]) for atom in (mine.get(m, ()), others.get(o, ()))]
        return f"{' '.join(target)}{' moved' if distance >= 1 else ''}: {' >> '.join(sides)}"

    for name, pattern in kinds.items():
        patterns = pattern.split(": ", 1)
        for distance, m, o in [*pairs, *singles]:
            if (m in mine or m < 0) and (o in others or o < 0):
                parts = zip(patterns, told(distance, m, o).split(": ", 1), strict=True)
                if all(re.fullmatch(part, text, re.DOTALL) for part, text in parts):
                    found[name] += 1
                    mine.pop(m, None)
                    others.pop(o, None)
    left = [(0.0, m, -1.0) for m in mine] + [(0.0, -1.0, o) for o in others]
    return found, [told(*single) for single in left]


def _unaligned(
    ours: Sequence[Atom], theirs: Sequence[Atom]
) -> tuple[dict[float, Atom], dict[float, Atom]]:
    """Return by their places the atoms that the other request does not have there."""
    mine, others, place = dict[float, Atom](), dict[float, Atom](), 0.0
    keys = [[atom[:3] for atom in atoms] for atoms in (ours, theirs)]
    for tag, a, b, c, d in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        for n in range(max(b - a, d - c)):
            place += 1 if tag == "equal" else 0.001
            one, other = ours[a:b][n : n + 1], theirs[c:d][n : n + 1]
            if one != other:
                mine.update((place, atom) for atom in one)
                others.update((place, atom) for atom in other)
    return mine, others
