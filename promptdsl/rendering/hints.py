"""Hints about what an author wrote: it can be rendered, but it may be a mistake.

``Rendered.hints`` calls ``author_hints``, ``unread_hints``, and the functions that read spans.
Hints about a conversation are in ``conversation_hints.py``.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

from promptdsl.components.arguments import id_for, sentences_touch
from promptdsl.config.wires import wire_of
from promptdsl.foundation.escaping import decode
from promptdsl.foundation.frozen import is_mapping
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import Loss, hint
from promptdsl.rendering.spans import Span
from promptdsl.tree.masks import HINTED, OPAQUE, REQUEST, RESULT, SHIFT
from promptdsl.tree.node import Child, Node, label, walk
from promptdsl.tree.part_nodes import TemplateNode, ToolResultNode, ValueNode
from promptdsl.tree.recorded import recordings
from promptdsl.tree.rewrite import opaque_nodes
from promptdsl.tree.turn_nodes import (
    ComponentNode,
    RecordedNode,
    RequestOnlyNode,
    RootNode,
    ToolNode,
    ToolTurnNode,
    among_turns,
)


def author_hints(stages: Mapping[str, RootNode], messages: Sequence[Message]) -> Iterator[Loss]:
    """Yield the hints about what an author wrote, from the stages and messages of a render."""
    yield from hints_in(stages["read"])
    yield from grounding_hints(stages)
    yield from id_hints(stages["written"])
    yield from template_hints(stages)
    # Nodes have texts before they are encoded, messages after it. Encoding keeps these words.
    if any("not rendered" in message.text for message in messages):
        yield from outline_hints(stages["merge"])
    yield from tool_hints(stages["merge"])


# Recordings in a provider's format.


def unread_hints(root: RootNode) -> Iterator[Loss]:
    """Yield a hint for each key of recorded messages that promptdsl does not read."""
    from promptdsl.providers.registry import unread_keys

    for node in recordings(root):
        if node.provider_format == "messages":
            why = "the key is unknown: it is kept in Message.extra, and not sent"
            unread = _kept_keys(node)
        else:
            provider_format = wire_of(node.provider_format).provider_format
            why = f"History.from_{provider_format} does not read it, so it is not sent"
            unread = unread_keys(node.items, node.provider_format)
        for key, location in unread:
            yield hint("unread_key", f"key {key!r}", why, location, source=node.source)


def _kept_keys(node: RecordedNode) -> Iterator[tuple[str, str]]:
    """Yield each key in the ``extra`` of messages, without its path, and the message's address."""
    for index, item in enumerate(node.items):
        extra: object = item.get("extra") if is_mapping(item) else item.extra
        for path in extra if is_mapping(extra) else ():
            yield path.rpartition(".")[2], f"history[{index}]"


# Empty blocks, and sentences without a space between them.


def hints_in(root: Node) -> list[Loss]:
    """Return a hint for each line with a node that has the mask ``HINTED``.

    A node inside another such node has no hint.
    """
    hints: dict[object, Loss] = {}
    node_stack = [root]
    while node_stack:
        node = node_stack.pop()
        if node._mask & HINTED != HINTED:
            children = reversed(node.content)
            node_stack += [c for c in children if not isinstance(c, str) and c._mask & OPAQUE]
            continue
        is_text = node.content and not isinstance(node, ComponentNode)
        make_hint = _touching if is_text else _empty
        if (make_hint, node.source) not in hints:
            hints[make_hint, node.source] = make_hint(node)
    return [*hints.values()]


def _empty(node: Node) -> Loss:
    """Return the hint for a component with an empty block (``with``)."""
    what, why = f"an empty {label(node)}", "nothing was written in it"
    advice = (
        "write strings as Text(...), parts as include(part), call functions, decorate "
        "generators with @component, and return parts from threads"
    )
    if isinstance(node, RootNode):
        advice = "write its turns in it, such as System(...) and User(...)"
    elif isinstance(node, ComponentNode):
        if node.content:
            what = f"an empty block of {node.name}"
        elif node.name == "Lazy":
            why = "its function wrote parts and returned none"
            advice = "return the part, or a Fragment of them"
        else:
            advice = "write Text(...) or include(part) in its function, or return a part"
    elif node.options.id is not None:
        what += f" {node.options.id!r}"
    return hint("empty_block", what, f"{why}; {advice}", source=node.source)


def _touching(node: Node) -> Loss:
    """Return the hint for two parts of one text with no space between their sentences."""
    texts = map(_text_of, node.content)
    pairs = zip(pairwise(texts), pairwise(node.content), strict=True)
    first, second = next(children for pair, children in pairs if sentences_touch(*pair))
    before = repr(first.rsplit(None, 1)[-1]) if isinstance(first, str) else f"a {label(first)}"
    after = repr(second.split(None, 1)[0][:20]) if isinstance(second, str) else f"a {label(second)}"
    what = f"no space between {before} and {after}"
    why = "the strings of one call are one text; write the space, or Text(...) for each"
    return hint("missing_space", what, why, source=node.source)


def _text_of(child: Child) -> str:
    return child if isinstance(child, str) else child.text if isinstance(child, ValueNode) else ""


def grounding_hints(stages: Mapping[str, RootNode]) -> Iterator[Loss]:
    """Yield a hint for each ``Grounding`` that was written empty.

    A grounding with a title or an empty block has another hint.
    """
    if not stages["written"]._mask & REQUEST << SHIFT:
        return
    # If a pass emptied a grounding, the tree has another node than the written one.
    read_ids = {*map(id, among_turns(stages["read"]))}
    why = "it is not sent; leave it out, or write in it that nothing was found"
    for turn in among_turns(stages["written"]):
        is_empty = not any(turn.content) and not getattr(turn, "title", None)
        if (
            is_empty
            and id(turn) in read_ids
            and turn._mask & HINTED != HINTED
            and label(turn) == "Grounding"
        ):
            what = f"an empty Grounding {turn.options.id!r}"
            yield hint("empty_grounding", what, why, source=turn.source)


def id_hints(tree: RootNode) -> Iterator[Loss]:
    """Yield a hint for each id with white space, because it may be content in the wrong argument.

    Agents make ids of calls with white space, too. So for a result there is a hint only if it has
    no content.
    """
    with_ids = (REQUEST | RESULT) << SHIFT  # the bits of turns with a grounding or a result
    for turn in among_turns(tree):
        if not turn._mask & with_ids:
            continue
        if isinstance(turn, RequestOnlyNode) and turn.grounding and not turn.title:
            yield from _text_as_id(turn, turn.options.id, 'title=..., or Grounding("{}", {})')
        if isinstance(turn, ToolTurnNode) and not any(turn.content):
            yield from _text_as_id(turn, turn.tool_use_id, 'ToolMessage("call_1", {1})')
        for child in turn.content:
            if isinstance(child, ToolResultNode) and not any(child.content):
                yield from _text_as_id(child, child.tool_use_id, 'ToolResult("call_1", {1})')


def _text_as_id(node: Node, id: str | None, advice: str) -> Iterator[Loss]:
    if id is not None and len(id.split()) > 1:
        quoted_id = json.dumps(id[:60], ensure_ascii=False)
        call = advice.format(id_for(id), quoted_id)
        why = f"it looks like content, and an id is not sent; write {call}"
        what = f"the first argument of {label(node)}, {quoted_id}, is its id"
        yield hint("text_as_id", what, why, source=node.source)


# Templates: list items without a line end before them, and unused variables.

_GLUED = re.compile(
    r"(?:[^\s}]|}})(?: *{%-? *end(?:if|for) *%})+\r?\n[ \t]*((?:[-*+]|\d+[.)]|#+) .{,30})"
)
"""Text, then tags (the last removes the line end after it), then an item or a heading."""
_NO_TAGS = re.compile(r"\{#.*?#\}|\{% *raw\b.*?endraw *%\}", re.DOTALL)


def template_hints(stages: Mapping[str, RootNode]) -> Iterator[Loss]:
    """Yield the hints about templates: glued items, and variables that a template does not use.

    - A keyword that its template does not use is a hint.
    - A mapping of variables may be for several templates, also of other prompts. So a key that no
      template uses is a hint only if the text has a placeholder of another kind for it.
    - If a template that was passed as text uses none of its variables, that is one hint for all of
      them. It is no hint if another template uses a key of the same mapping.

    What a template uses is known only if it was rendered: the others count as using everything.
    """
    # Each template that was rendered, with the keys of its mapping and the names that it uses.
    nodes: list[tuple[TemplateNode, frozenset[str], frozenset[str]]] = []
    # By the keys of a mapping: the names that templates with such a mapping use.
    used: defaultdict[frozenset[str], set[str]] = defaultdict(set)
    nodes_by_id = {
        id(node): node for name in ("written", "fill") for node in opaque_nodes(stages[name])
    }
    for node in nodes_by_id.values():
        if isinstance(node, TemplateNode):
            mapped = frozenset(node.variables.keys() - {*getattr(node, "keywords", ())})
            if not hasattr(node, "compiled"):
                used[mapped] |= node.variables.keys()
                continue
            names = node.compiled.names
            if names is None:
                used[mapped] |= node.variables.keys()
            else:
                used[mapped] |= names
                nodes.append((node, mapped, names))
            if glued := _GLUED.search(_NO_TAGS.sub("", node.compiled.trimmed)):
                why = "the tag before it removes the line end (trim_blocks); end that tag with +%}"
                yield hint("glued_item", f"the glued item {glued[1]!r}", why, source=node.source)
    for node, mapped, names in nodes:
        text = node.template.value.strip() if node.template.kind == "text" else ""
        keywords = node.variables.keys() - mapped
        is_for_others = not keywords and not mapped.isdisjoint(used[mapped])
        if text and node.variables and names.isdisjoint(node.variables) and not is_for_others:
            ways = ("{{ name }}", "{name}")
            way, other_way = reversed(ways) if node.template.is_format else ways
            why = f"it uses none of its variables; write {way} where one goes, not {other_way}"
            yield hint("unused_variable", f"the template {text[:40]!r}", why, source=node.source)
            continue
        unused = keywords - names
        source = _NO_TAGS.sub("", node.compiled.trimmed)
        unused |= {key for key in mapped - used[mapped] if _has_other_placeholder(key, source)}
        for key in filter(unused.__contains__, node.variables):
            placeholder = f"{{{key}}}" if node.template.is_format else f"{{{{ {key} }}}}"
            why = (
                f"its template does not use it; write {placeholder} where it goes, or leave it out"
            )
            yield hint("unused_variable", f"the variable {key!r}", why, source=node.source)


def _has_other_placeholder(name: str, source: str) -> bool:
    """Return whether a text has a placeholder for a variable that Jinja does not read."""
    name = re.escape(name)
    placeholders = (rf"\{{{name}\}}", rf"\${name}\b", rf"%\({name}\)s")
    return re.search("|".join(placeholders), source) is not None


# Tools, and values under a cache mark.


def tool_hints(tree: RootNode) -> Iterator[Loss]:
    """Yield a hint for each tool without a description, unless it was read from a payload."""
    why = "a model chooses tools by their descriptions; write a docstring, or description=..."
    for node in tree.equipment:
        if not isinstance(node, ToolNode) or node._offset < 0:
            continue
        tool = node.definition
        if tool.description is None and tool.origin is None:
            yield hint("undescribed_tool", "no description", why, tool.name, source=node.source)


def volatile_hints(messages: Sequence[Message], spans: Iterable[Span]) -> Iterator[Loss]:
    """Yield a hint for each :class:`Volatile` before a cache mark, except in groundings."""
    covered: list[Span] = []
    why = (
        "it is before a cache mark, so the cache misses when it changes; write it after the "
        "cache mark"
    )
    for span in spans:
        if span.kind == "volatile" and span.role != "ephemeral":
            covered.append(span)
        if getattr(messages[span.message].content[span.block], "cache", None):
            for volatile in covered:
                what = f"Volatile {volatile.label!r}"
                yield hint("volatile_in_cache", what, why, volatile.address, source=volatile.source)
            covered = []


def grounding_volatile_hints(messages: Sequence[Message], spans: Iterable[Span]) -> Iterator[Loss]:
    """Yield a hint for each :class:`Volatile` of a grounding with an answer after it.

    When the value changes, the cache cannot serve any message after it. In a loop, each round adds
    messages there. A last message of the assistant does not count: it is the beginning of the next
    answer.
    """
    answers = (n for n, message in enumerate(messages[:-1]) if message.role == "assistant")
    last_answer = max(answers, default=-1)
    for span in spans:
        if span.kind == "volatile" and span.role == "ephemeral" and span.message < last_answer:
            what = f"Volatile {span.label!r}"
            why = (
                f"when it changes, no cache serves the {len(messages) - span.message - 1} "
                'messages after it; send it last, with position="end"'
            )
            yield hint("volatile_grounding", what, why, span.address, source=span.source)


# Values that are tags.

_TAG = re.compile(r"\s*(?:</?[A-Za-z][\w.:-]*(?:\s[^<>]*)?/?>|[`~]{3,}[^`\n]*)\s*")
"""A tag, with or without attributes, or the line of a code fence, and nothing else."""


_INSTRUCTIONS = ("system", "developer")
"""The roles whose values are encoded, outside of fences."""


def has_tag_values(root: Node, messages: Iterable[Message]) -> bool:
    """Return whether a value of a tree may be a tag or a code fence that is sent encoded.

    If the instructions have no character reference, no value in them is sent encoded.
    """
    if not any("&" in message.text for message in messages if message.role in _INSTRUCTIONS):
        return False
    values = (node for node, _ in walk(root) if isinstance(node, ValueNode))
    return any(_TAG.fullmatch(str(value.text)) for value in values)


def tag_hints(spans: Iterable[Span]) -> Iterator[Loss]:
    """Yield a hint for each value of instructions that is a tag or code fence and sent encoded."""
    for span in spans:
        if span.kind != "value" or span.role not in _INSTRUCTIONS or _TAG.fullmatch(span.text):
            continue
        text = decode(span.text)
        if _TAG.fullmatch(text):
            what = f"the value {text.strip()!r}"
            why = (
                f"a value cannot be a tag or a code fence, so {span.text.strip()!r} is sent: "
                "write trusted(...) if the text is yours"
            )
            yield hint("encoded_tag", what, why, span.address, source=span.source)


# Parts that became text too early, for example by ``str()``.

_START = re.compile(r"<\w+ (?:at|'|\")")
_END = ": not rendered>"
"""How the first line of an outline begins and ends, such as ``<Text at a.py:3: not rendered>``."""
SEARCHED_CHARACTERS = 500
"""How many characters before the end of an outline's first line are searched for its beginning."""


def outline_hints(tree: Node) -> Iterator[Loss]:
    """Yield a hint for each node whose text contains the first line of an outline.

    The texts are not encoded yet. Recordings, trusted text and code are left out.
    """
    why = "str() or %s of a part is its outline: pass the part itself"
    for walked in (node for node, _ in walk(tree) if not node._may_quote):
        node: Any = walked  # Any: a node of any class; some classes have these texts
        texts = (getattr(node, "text", ""), *getattr(node, "raw_values", ()))
        for text in chain(node.content, texts, *getattr(node, "rows", ())):
            line = _first_line(text) if isinstance(text, str) else None
            if line is not None:
                yield hint("part_as_text", f"the text {line!r}", why, source=node.source)


def _first_line(text: str) -> str | None:
    """Return the first line of an outline that a text contains."""
    end = text.find(_END)
    while end >= 0:
        line = text[max(end - SEARCHED_CHARACTERS, 0) : end].rpartition("\n")[2]
        start = _START.search(line)
        if start and line[-1].isdigit():
            return line[start.start() :] + _END
        end = text.find(_END, end + 1)
    return None
