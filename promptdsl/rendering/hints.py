"""Hints about what an author wrote: what may be a mistake, though it can be rendered."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, pairwise
from typing import Any

from promptdsl.components.arguments import sentences_touch
from promptdsl.messages.loss import Loss, hint
from promptdsl.tree.group_nodes import ComponentNode
from promptdsl.tree.masks import HINTED, HOLLOW
from promptdsl.tree.node import Child, Node, label, walk
from promptdsl.tree.part_nodes import (
    ParagraphNode,
    TemplateNode,
    TextNode,
    TrustedTextNode,
    ValueNode,
)
from promptdsl.tree.rewrite import hollow
from promptdsl.tree.turn_nodes import RecordedNode, RootNode


def author_hints(stages: Mapping[str, RootNode]) -> Iterator[Loss]:
    """Yield the hints about what an author wrote, from the stages of a render."""
    yield from hints_in(stages["read"])
    yield from template_hints(stages["fill"])
    yield from outline_hints(stages["merge"])


# Recordings in a provider's form.


def unread_hints(recordings: Iterable[RecordedNode]) -> Iterator[Loss]:
    """Yield a hint for each key of recorded messages that the reader of their form passes over."""
    from promptdsl.providers.unread import unread_keys

    for node in recordings:
        why = f"History.from_{node.form} does not read it, so it is not sent"
        for key, place in unread_keys(node.items, node.form):
            yield hint("unread_key", f"key {key!r}", why, place, source=node.source)


# Empty blocks, and sentences without a space between them.


def hints_in(root: Node) -> list[Loss]:
    """Return a hint for each line with a hinted node; what is inside another one is not told."""
    hints: dict[object, Loss] = {}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.mask & HINTED != HINTED:
            children = reversed(node.content)
            waiting += [c for c in children if not isinstance(c, str) and c.mask & HOLLOW]
            continue
        tell = _touching if isinstance(node, _TEXTS) else _empty
        if (tell, node.source) not in hints:
            hints[tell, node.source] = tell(node)
    return [*hints.values()]


_TEXTS = (TextNode, ParagraphNode)


def _empty(node: Node) -> Loss:
    """Return the hint for a component whose block was opened, and nothing was written in it."""
    what, why = f"an empty {label(node)}", "nothing was written in it"
    advice = (
        "a string needs Text(...), a part include(part), a function its call, a generator "
        "@component, a thread to return its part"
    )
    if isinstance(node, RootNode):
        advice = "write its turns in it, such as System(...) and User(...)"
    elif isinstance(node, ComponentNode) and node.content:
        what = f"an empty block of {node.name}"
    elif isinstance(node, ComponentNode) and node.name == "Lazy":
        why = "its function wrote parts and returned none"
        advice = "return the part, or a Fragment of them"
    elif isinstance(node, ComponentNode):
        advice = "write Text(...) or include(part) in its function, or return a part"
    elif node.options.id is not None:
        what += f" {node.options.id!r}"
    return hint("empty_block", what, f"{why}; {advice}", source=node.source)


def _touching(node: Node) -> Loss:
    """Return the hint for two parts of one text: a sentence ends, the next begins at once."""
    texts = map(_text_of, node.content)
    pairs = zip(pairwise(texts), pairwise(node.content), strict=True)
    left, right = next(parts for pair, parts in pairs if sentences_touch(*pair))
    before = repr(left.rsplit(None, 1)[-1]) if isinstance(left, str) else f"a {label(left)}"
    after = repr(right.split(None, 1)[0][:20]) if isinstance(right, str) else f"a {label(right)}"
    what = f"no space between {before} and {after}"
    why = "the strings of one call are one text; write the space, or Text(...) for each"
    return hint("missing_space", what, why, source=node.source)


def _text_of(part: Child) -> str:
    return part.text if isinstance(part, ValueNode | TrustedTextNode) else str(part)


# Variables that a template does not use.


def template_hints(tree: Node) -> Iterator[Loss]:
    """Yield a hint for each keyword of a template that the template does not name, once per line.

    A template given as text that names none of its variables is one hint. A mapping of variables
    may have more than one template uses.
    """
    told: set[tuple[object, str]] = set()
    for node in hollow(tree):
        names = getattr(node, "names", None)
        if names is None or not isinstance(node, TemplateNode):
            continue
        text = node.template.value.strip() if node.template.kind == "text" else ""
        if text and node.variables and names.isdisjoint(node.variables):
            why = "it uses none of its variables; write {{ name }} where one goes, not {name}"
            hints = [(f"the template {text[:40]!r}", why)]
        else:
            why = "its template does not use it; write {{{{ {} }}}} where it goes, or leave it out"
            unused = [key for key in getattr(node, "keywords", ()) if key not in names]
            hints = [(f"the variable {key!r}", why.format(key)) for key in unused]
        for what, reason in hints:
            if (node.source, what) not in told:
                told.add((node.source, what))
                yield hint("unused_variable", what, reason, source=node.source)


# Parts that were made text too early.

_START = re.compile(r"<\w+ (?:at|'|\")")
_END = ": not rendered>"
LONGEST = 500
"""The characters before the end of an outline's first line that are searched for its beginning."""


def outline_hints(tree: Node) -> Iterator[Loss]:
    """Yield a hint for each part of a tree whose text contains the first line of an outline.

    The texts are those before they were encoded. Recorded messages are not searched.
    """
    why = "str() or %s of a part is its outline: pass the part itself"
    for walked, _ in walk(tree):
        node: Any = walked  # Any: a node of any class, of which some have these texts
        texts = (getattr(node, "text", ""), *getattr(node, "raw_values", ()))
        for text in chain(node.content, texts, *getattr(node, "rows", ())):
            line = _first_line(text) if isinstance(text, str) else None
            if line is not None:
                yield hint("part_as_text", f"the text {line!r}", why, source=node.source)


def _first_line(text: str) -> str | None:
    """Return the first line of an outline that a text contains."""
    end = text.find(_END)
    while end >= 0:
        line = text[max(end - LONGEST, 0) : end].rpartition("\n")[2]
        start = _START.search(line)
        if start and line[-1].isdigit():
            return line[start.start() :] + _END
        end = text.find(_END, end + 1)
    return None
