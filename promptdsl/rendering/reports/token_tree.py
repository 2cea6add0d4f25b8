"""The tokens of a record as text: its parts as a tree."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from promptdsl.foundation.json import JsonDict
from promptdsl.foundation.unicode import on_one_line

BAR = 10
"""The width of the bar of all tokens, in characters."""
DEEPEST = 40
"""The deepest level with more indentation, so that the output does not grow quadratically."""
WIDEST = 60
"""The widest name that is padded, in characters."""


def token_tree(tokens: JsonDict, parts: Sequence[JsonDict], *, strike: bool = False) -> str:
    """Return the parts of a request with their tokens and their lines, and the total.

    ``tokens`` are those of a record, ``parts`` those of its parts that are shown. With ``strike``
    the names of dropped parts are struck through, by the codes of a terminal.
    """
    names = [*_part_names(parts)]
    number_width = max((len(f"{part['tokens']:,}") for part in parts), default=0)
    name_width = min(max(map(len, names), default=0), WIDEST)
    lines: list[str] = []
    for part, name in zip(parts, names, strict=True):
        count, total = part["tokens"], tokens["total"]
        source = on_one_line(part.get("source", ""))
        padded = f"{name:<{name_width}}"
        if "dropped" not in part:
            share = count / total if total else 0
            row = f"{share:>6.1%}  {'█' * max(round(share * BAR), 0):<{BAR}}  {padded}  {source}"
        else:
            if strike:
                padded = padded.replace(name.strip(), f"\x1b[9m{name.strip()}\x1b[29m")
            reason = on_one_line(part["dropped"])
            row = f"{'-':>6}  {'':<{BAR}}  {padded}  {source}  dropped: {reason}"
        lines.append(f"{count:>{number_width},}  {row}".rstrip())
    lines += [""] if lines else []
    lines.append(f"{tokens['total']:,} tokens: {on_one_line(tokens['label'])}")
    lines += [tokens["savings"]] if tokens.get("savings") else []
    if tokens.get("typical") is not None:
        lines.append(f"usually {tokens['typical']:,}")
    dropped = [part["tokens"] for part in tokens["parts"] if "dropped" in part]
    if dropped:
        count = "1 part" if len(dropped) == 1 else f"{len(dropped):,} parts"
        lines.append(f"{sum(dropped):,} tokens were dropped in {count}")
    return "\n".join(lines)


def shown_parts(
    parts: Sequence[JsonDict], *, depth: int | None, largest_first: bool
) -> list[JsonDict]:
    """Return the parts of ``depth`` levels, the largest of siblings first, dropped ones last."""
    if largest_first:
        children = defaultdict[int, list[int]](list)
        ancestors = [-1]
        for index, part in enumerate(parts):
            del ancestors[part["depth"] + 1 :]
            children[ancestors[-1]].append(index)
            ancestors.append(index)
        ordered: list[int] = []
        waiting = [-1]
        while waiting:
            index = waiting.pop()
            ordered.append(index)
            # The last index in the list is the next one that is taken.
            keys = sorted(
                ("dropped" not in parts[n], parts[n]["tokens"], -n) for n in children[index]
            )
            waiting += [-key[2] for key in keys]
        parts = [parts[index] for index in ordered[1:]]
    return [part for part in parts if depth is None or part["depth"] < depth]


def _part_names(parts: Sequence[JsonDict]) -> Iterator[str]:
    """Yield the names of parts, indented, with the address where the name does not contain it."""
    paths: list[str] = []
    for part in parts:
        what, path = part["what"], part.get("path", "")
        del paths[part["depth"] :]
        parent = paths[-1] if paths else ""
        paths.append(path)
        is_known = path in ("", parent, what) or what.endswith("'")
        address = "" if is_known or what.startswith("system ") else f" {path}"
        mark = part.get("cache")
        cached = (
            "" if mark is None else " [cached]" if mark == "default" else f" [cached for {mark}]"
        )
        yield "  " * min(part["depth"], DEEPEST) + on_one_line(f"{what}{address}{cached}")
