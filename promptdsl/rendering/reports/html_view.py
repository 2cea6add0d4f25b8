"""A request as HTML for a notebook: escaped, without scripts, links and addresses to load.

Notebooks show text between dollar signs as formulas, which may contain links. The classes of the
first element prevent that. Text has the colour of the page around it, so that it is readable on
light and dark pages.
"""

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from promptdsl.budget.dropped import in_tokens
from promptdsl.foundation.frozen import is_list, is_mapping
from promptdsl.foundation.unicode import visible
from promptdsl.messages.attachment import image_size
from promptdsl.messages.details import ROLES
from promptdsl.messages.media_type import sniff
from promptdsl.rendering.reports.cards import BudgetUse, Card, Piece, RequestView
from promptdsl.rendering.reports.token_view import (
    MAX_INDENTED_LEVEL,
    TokenRow,
    TokenView,
    token_rows,
)

MAX_OPEN_CARD = 4_000
"""A card with more characters is closed at first."""
MAX_SHOWN = 20
"""The number of messages shown at the beginning and at the end, and of notes in a card."""
MAX_TEXT = 2_000
"""The maximum characters shown of a text, because a notebook saves what it shows in its file."""

MAX_FIELD_TEXT = 300
"""The maximum characters shown of the name, the type or the description of a field."""
PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The types of pictures that are shown; the first bytes of a file decide on its type."""
MOST_BASE64 = 32 * 1024 // 3 * 4 + 4
"""The maximum size of a picture that is shown: the base64 characters of 32 kB."""
MAX_PIXELS = 4_096
"""The maximum width and height of a picture that is shown, in pixels."""

LEGEND = (
    '<p class="label"><span class="value">a value</span> · '
    '<span class="volatile">a volatile value</span></p>\n'
)
"""The legend: the styles of values in texts."""
NOTES = ("losses", "hints", "dropped")
"""The cards that list losses, hints and dropped parts."""
STYLE = """\
.promptdsl { font: 14px/1.5 system-ui, sans-serif; max-width: 88rem; overflow-wrap: anywhere }
.promptdsl > p { margin: 0 0 .5rem }
.promptdsl details { margin: 0 0 .5rem; border: 1px solid rgba(128, 128, 128, .35);
  border-left: 4px solid #888; border-radius: 4px }
.promptdsl .system, .promptdsl .developer { border-left-color: #8a63d2 }
.promptdsl .user { border-left-color: #3478c8 }
.promptdsl .assistant { border-left-color: #2f9e5b }
.promptdsl .tool { border-left-color: #c27c1a }
.promptdsl .losses { border-left-color: #d64545 }
.promptdsl .dropped { border-left-style: dashed }
.promptdsl .hints { border-left-color: #d9a406 }
.promptdsl summary { padding: .25rem .6rem; cursor: pointer; background: rgba(128, 128, 128, .12) }
.promptdsl small { opacity: .75 }
.promptdsl .budget { height: .6rem; margin: 0 0 .5rem; border: 1px solid rgba(128, 128, 128, .6) }
.promptdsl .budget i { display: inline-block; height: 100%; vertical-align: top }
.promptdsl .used { background: #3478c8 }
.promptdsl .reserve {
  background: repeating-linear-gradient(45deg, #888 0 2px, transparent 2px 5px) }
.promptdsl table { margin: .25rem .6rem; border: 0; border-collapse: collapse; font-size: 13px }
.promptdsl td { padding: 0 .5rem; border: 0; text-align: left; vertical-align: top }
.promptdsl td:last-child { overflow-wrap: break-word; max-width: 12rem }
.promptdsl td:first-child { white-space: nowrap; text-align: right;
  font-variant-numeric: tabular-nums }
.promptdsl .fields td { white-space: normal; text-align: left; max-width: none }
.promptdsl details details { margin: .3rem .6rem .5rem }
.promptdsl img { display: block; margin: .3rem .6rem; max-width: calc(100% - 1.2rem);
  max-height: 12rem }
.promptdsl .label {
  margin: .4rem .6rem 0; font: italic 12px/1.5 system-ui, sans-serif; opacity: .85 }
.promptdsl > .label { margin-bottom: .5rem }
.promptdsl .lost { padding-left: .4rem; border-left: 3px solid #d64545; font-weight: bold }
.promptdsl .mark { padding-top: .2rem; border-top: 1px dashed }
.promptdsl .value, .promptdsl .volatile { background: rgba(52, 160, 200, .18);
  border-radius: 2px; box-shadow: 0 0 0 1px rgba(52, 160, 200, .18) }
.promptdsl .volatile { border-bottom: 1px dashed }
.promptdsl pre { margin: 0; padding: .4rem .6rem; border: 0; background: none; color: inherit;
  font: 13px/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere }"""


def html_view(view: RequestView, tokens: TokenView | None) -> str:
    """Return the cards of a request as HTML; each can be opened and closed.

    ``tokens`` is the view of its tokens, ``None`` if they cannot be counted.
    """
    cards = [*view.notes(), *view.cards()]
    messages = [index for index, card in enumerate(cards) if card.what in ROLES]
    hidden_start, hidden_end = len(cards), len(cards)
    if len(messages) > 2 * MAX_SHOWN:
        hidden_start, hidden_end = messages[MAX_SHOWN], messages[-MAX_SHOWN]
    hidden = [_hidden(cards[hidden_start:hidden_end])] if hidden_start < hidden_end else []
    cards_html = [
        *map(_card_html, cards[:hidden_start]),
        *hidden,
        *map(_card_html, cards[hidden_end:]),
    ]
    legend = LEGEND if view.is_tinted else ""
    return (
        f'<div class="promptdsl mathjax_ignore tex2jax_ignore"><style>\n{STYLE}\n</style>\n'
        f"<p>{_line(view.summary)}</p>\n{_budget(view.budget)}{_counts(tokens)}"
        f"{legend}{''.join(cards_html)}</div>"
    )


def _budget(budget: BudgetUse | None) -> str:
    """Return the use of the budget as a bar."""
    if budget is None:
        return ""
    used, filled = (share * 100 for share in budget.shares())
    bars = f'<i class="used" style="width:{used:.1f}%"></i>'
    bars += f'<i class="reserve" style="width:{filled - used:.1f}%"></i>'
    return f'<div class="budget" role="img" aria-label="{_line(budget.line())}">{bars}</div>\n'


def _counts(view: TokenView | None) -> str:
    """Return the rows of the largest parts, closed at first."""
    if view is None:
        return ""
    rows, rest = token_rows(view.parts)
    lines = [
        *map(_row, rows),
        *(f"<tr><td>…</td><td>{_line(line)}</td><td></td></tr>" for line in rest),
    ]
    title = f"<summary><b>{_line(view.size())}</b></summary>"
    return f'<details class="counts">{title}<table>{"".join(lines)}</table></details>\n'


def _row(row: TokenRow) -> str:
    """Return a row of the table of tokens."""
    name, note = _line(row.name), f" <small>{_line(row.note)}</small>" if row.note else ""
    if row.is_dropped:
        name = f"<s>{name}</s>"
    source = _line(re.split(r"[/\\\\]", row.source)[-1])
    # Indentation has a limit, so that the page does not grow quadratically with the depth.
    indent = f' style="padding-left:{min(row.depth, MAX_INDENTED_LEVEL) + 0.5:g}em"'
    cells = f"<td{indent}>{name}{note}</td><td><small>{source}</small></td>"
    return f"<tr><td>{row.tokens:,}</td>{cells}</tr>"


def _card_html(card: Card) -> str:
    """Return a card with its pieces, open unless it is long."""
    if card.is_dropped:
        return _dropped(card)
    size = sum(len(piece.text) for piece in card.pieces)
    is_open = "" if size > MAX_OPEN_CARD or card.what == "tool definition" else " open"
    count = "" if card.tokens is None else f"<small>{card.tokens:,} tokens</small>"
    title = " ".join(filter(None, (f"<b>{_line(card.heading)}</b>", _line(card.name), count)))
    pieces, rest = card.pieces, ""
    if card.what in NOTES and len(pieces) > MAX_SHOWN:
        pieces, rest = (
            pieces[:MAX_SHOWN],
            f'<p class="label">… {len(card.pieces) - MAX_SHOWN:,} more</p>',
        )
    body = "".join([*map(_piece, pieces), rest, *map(_card_html, card.dropped_inside)])
    kind = _line(card.style)
    return f'<details class="{kind}"{is_open}><summary>{title}</summary>{body}</details>\n'


def _dropped(card: Card) -> str:
    """Return a dropped part, closed at first: its tokens, the reason, and its text."""
    if card.dropped is None:
        return f'<p class="label">… {_line(card.name)} dropped</p>\n'
    source = re.split(r"[/\\\\]", str(card.dropped.dropped.source or ""))[-1]
    words = [] if card.tokens is None else [in_tokens(card.tokens)]
    words += filter(None, (card.dropped.reason, source))
    facts = f"<small>{_line(' · '.join(words))}</small>"
    title = f"<b>dropped</b> <s>{_line(card.name)}</s> {facts}"
    body = "".join(map(_piece, card.pieces))
    return f'<details class="dropped"><summary>{title}</summary>{body}</details>\n'


def _hidden(cards: Sequence[Card]) -> str:
    """Return one line for the messages in the middle, which are not shown."""
    counts = [card.tokens for card in cards if card.what in ROLES]
    known_counts = [count for count in counts if count is not None]
    sizes = (
        f", {sum(known_counts):,} tokens, the largest {max(known_counts):,}" if known_counts else ""
    )
    dropped_count = sum(
        card_or_inner.dropped_count
        for card in cards
        for card_or_inner in (card, *card.dropped_inside)
    )
    sizes += f", and {dropped_count:,} dropped" if dropped_count else ""
    return f"<p>… {len(counts):,} more messages{sizes}</p>\n"


def _piece(piece: Piece) -> str:
    """Return the label, the picture and the text of a piece."""
    if piece.kind == "mark":
        return f'<p class="label mark">{_line(piece.label)}: cached up to here</p>'
    kind = "label lost" if piece.kind == "lost" else "label"
    label = f'<p class="{kind}">{_line(piece.label)}</p>' if piece.label else ""
    # Browsers drop a line end directly after <pre>: write one, so that a text keeps its own.
    text = f'<pre dir="auto">\n{_tinted(piece)}</pre>' if piece.text else ""
    fields = [*_schema_fields(piece.schema)]
    if fields:
        rows = [*map(_field, fields[:MAX_SHOWN])]
        if len(fields) > MAX_SHOWN:
            rows.append(f'<tr><td colspan="3">… {len(fields) - MAX_SHOWN:,} more</td></tr>')
        table = f'<table class="fields">{"".join(rows)}</table>'
        text = f"{table}<details><summary>JSON</summary>{text}</details>"
    return label + _picture(piece) + text


def _schema_fields(schema: object) -> Iterator[tuple[str, str, str]]:
    """Yield the name, the type and the description of each field that a schema declares."""
    fields = schema.get("properties") if is_mapping(schema) else None
    if not is_mapping(schema) or not is_mapping(fields):
        return
    required = schema.get("required")
    for name, field in fields.items():
        if not is_mapping(field):
            continue
        kind = " | ".join(dict.fromkeys(_types(field))) or "any"
        optional = "" if is_list(required) and name in required else ", optional"
        yield str(name), f"{kind}{optional}", str(field.get("description", ""))


def _types(schema: object) -> Iterator[str]:
    """Yield the types and values that a schema allows; of a reference, the name at its end."""
    schemas = [schema]
    while schemas:
        inner = schemas.pop()
        if not is_mapping(inner):
            continue
        alternatives = inner.get("anyOf", inner.get("oneOf"))
        if is_list(alternatives) and alternatives:
            schemas += reversed(alternatives)
        else:
            yield from _named_types(inner)


def _named_types(schema: Mapping[Any, Any]) -> list[str]:  # Any: JSON data
    """Return the values or the types that a schema names directly, without alternatives."""
    if "const" in schema:
        return [_json(schema["const"])]
    values = schema.get("enum")
    if is_list(values) and values:
        return [value if isinstance(value, str) else _json(value) for value in values]
    if "$ref" in schema:
        return [str(schema["$ref"]).rpartition("/")[2]]
    kinds = schema.get("type", "any")
    return [*map(str, kinds)] if is_list(kinds) else [str(kinds)]


def _json(value: object) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)


def _field(field: tuple[str, str, str]) -> str:
    cells = (
        _line(text if len(text) <= MAX_FIELD_TEXT else f"{text[:MAX_FIELD_TEXT]}…")
        for text in field
    )
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _tinted(piece: Piece) -> str:
    """Return the beginning of a text as HTML; each value is an element with its style."""
    runs: list[str] = []
    free_characters = MAX_TEXT
    for text, kind in piece.runs():
        run = escape(visible(text[: max(free_characters, 0)]))
        free_characters -= len(text)
        runs.append(f'<span class="{kind}">{run}</span>' if kind and run else run)
    if free_characters < 0:
        runs.append(f"\n… {-free_characters:,} more characters")
    return "".join(runs)


def _picture(piece: Piece) -> str:
    """Return a small picture as an element, which loads nothing; ``""`` for any other picture.

    Its first bytes decide on its type, because the author's type may be wrong. The pixels are
    limited, too, because a small file may unpack to a picture that fills the memory.
    """
    if piece.image is None:
        return ""
    source = piece.image.source
    if source.kind != "base64" or len(source.value) > MOST_BASE64:
        return ""
    try:
        data = base64.b64decode(source.value, validate=True)
    except ValueError:
        return ""
    media_type, size = sniff(data), image_size(data)
    if media_type not in PICTURES or size is None or max(size) > MAX_PIXELS:
        return ""
    address = f"data:{media_type};base64,{base64.b64encode(data).decode()}"
    return f'<img alt="{_line(piece.label)}" src="{address}">'


def _line(text: str) -> str:
    return escape(visible(text, one_line=True))
