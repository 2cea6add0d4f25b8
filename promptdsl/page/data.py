"""The data of a page: prompts and their requests as JSON, in which equal values occur once.

The first part finds equal values. The second part makes the data: read :func:`page_data` first,
then :func:`request_rows`, which makes the data of one request.
"""

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import inf, isfinite
from typing import Any

from promptdsl import BudgetError, OptionError, PromptRecord, Rendered
from promptdsl.batch import services
from promptdsl.comparing import diff
from promptdsl.foundation.errors import shown
from promptdsl.foundation.frozen import is_list, is_mapping
from promptdsl.foundation.json import JsonDict
from promptdsl.foundation.source import author, public_api
from promptdsl.page.bare import without_content
from promptdsl.page.prompts import (
    FromError,
    FromPrompt,
    FromSnapshot,
    PagePrompt,
    PageRequest,
    error_data,
    prompts_of,
    request_of,
)

# JSON data in which equal values occur once. Two requests of an agent have most messages, spans and
# rows in common, so this makes a page much smaller.

REFERENCE = "~"
"""The beginning of a reference: ``"~7"`` is value 7. A text that begins with ``~`` gets another."""
NUMBER = "~n"
"""The beginning of a number that JavaScript writes in another way, such as 1.0 or 1e-05."""
TEXT = "~t"
"""The beginning of a text in pieces: ``"~t7"`` is all texts of list 7, one after the other."""
OBJECT = "~o"
"""The beginning of an object with keys whose order JavaScript changes: ``"~o7"``.

List 7 has the list of the keys, and then the values.
"""
MIN_SHARED = 40
"""A value whose ``repr`` has at least this many characters is written once."""
MIN_ROUNDED = 2**53
"""JavaScript rounds integers of at least this size."""
MIN_PIECE = 500
"""A piece of a long text ends with the first line that ends after this many characters."""
_INDEX_KEY = re.compile(r"(?:0|[1-9][0-9]{0,9})\Z")
"""A key that JavaScript takes for an index, and moves before the other keys."""


class SharedValues:
    """A list of values, in which each value occurs once, and the references to the values.

    >>> shared = SharedValues()
    >>> shared.of({"text": "a" * 50, "also": "a" * 50, "short": "~"})
    '~1'
    >>> shared.values[1]
    {'text': '~0', 'also': '~0', 'short': '~~'}
    """

    def __init__(self) -> None:
        self.values: list[object] = []
        self._indices: dict[str, int] = {}
        """The index of each value by its ``repr``, in which 1, 1.0 and True differ."""
        self._texts: dict[str, object] = {}
        """The reference to each long text."""
        self._references: dict[int, tuple[object, object]] = {}
        """Each object that was seen, with what replaces it, by the ``id()`` of the object."""

    def of(self, value: Any) -> Any:  # Any: JSON data, or bytes
        """Return what replaces a value: a reference if the value is long, else the value."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int | float):
            return value if _is_exact(value) else f"{NUMBER}{json.dumps(value)}"
        if isinstance(value, bytes | bytearray):
            return self._text(base64.b64encode(value).decode())
        if not (is_mapping(value) or is_list(value)):
            return value
        reference = self._references.get(id(value))
        if reference is None:
            reference = (value, self._container(value))
            # The object stays alive, so that no other object gets its id().
            self._references[id(value)] = reference
        return reference[1]

    def shared_row(self, row: Mapping[str, Any]) -> dict[str, object]:  # Any: JSON data
        """Return a row in which references replace the long values.

        After this, no object is recognised by its ``id()`` any more: the objects of this row may be
        deleted, and new objects may get the same ``id()``.
        """
        shared_row = {key: self.of(value) for key, value in row.items()}
        self._references.clear()
        return shared_row

    def _text(self, text: str) -> object:
        """Return what replaces a text: a reference if the text is long."""
        if len(text) + 2 < MIN_SHARED:  # the ``repr`` has two quotation marks
            return _escaped(text)
        if text not in self._texts:
            pieces = [*_lines(text)] if len(text) > 2 * MIN_PIECE else [text]
            if len(pieces) > 1:
                index = self._index_of([self._text(piece) for piece in pieces])
                self._texts[text] = f"{TEXT}{index}"
            else:
                self._texts[text] = f"{REFERENCE}{self._index_of(_escaped(text))}"
        return self._texts[text]

    def _container(self, value: Any) -> object:
        """Return what replaces an object or a list: a reference if it is long."""
        if not is_mapping(value):
            return self._reference([self.of(child) for child in value])
        pairs: Mapping[str, object] = value
        row = {str(key): self.of(child) for key, child in pairs.items()}
        if any(_INDEX_KEY.match(key) for key in row):
            return f"{OBJECT}{self._index_of([[*row], *row.values()])}"
        return self._reference(row)

    def _reference(self, value: object) -> object:
        """Return what replaces an object or a list whose values were replaced already."""
        text = repr(value)
        return value if len(text) < MIN_SHARED else f"{REFERENCE}{self._index_of(value, text)}"

    def _index_of(self, value: object, text: str | None = None) -> int:
        """Return the index of a value; a new value is added to the list."""
        key = repr(value) if text is None else text
        index = self._indices.setdefault(key, len(self.values))
        if index == len(self.values):
            self.values.append(value)
        return index


def _escaped(text: str) -> str:
    """Return a text that is not a reference, even if it begins like one."""
    return f"{REFERENCE}{text}" if text.startswith(REFERENCE) else text


def _is_exact(number: float) -> bool:
    """Return whether JavaScript writes a number as Python does."""
    if isinstance(number, int):
        return -MIN_ROUNDED < number < MIN_ROUNDED
    return isfinite(number) and not number.is_integer() and "e" not in repr(number)


def _lines(text: str) -> Iterator[str]:
    """Yield the pieces of a text: lines that together have at least ``MIN_PIECE`` characters."""
    start = 0
    while len(text) - start > MIN_PIECE:
        end = text.find("\n", start + MIN_PIECE) + 1
        if end == 0:
            break
        yield text[start:end]
        start = end
    if text[start:]:
        yield text[start:]


# The data of a page, which is all that a page shows. Its JSON schema is in ``page.schema.json``.

FORMAT = "promptdsl.page/1"
BUDGET_COUNT = 16
"""The number of other budgets with which a prompt that has a budget is rendered again."""
LOCATION = (
    "address", "role", "entry", "start", "end", "message", "block", "inner", "fence", "cache",
)  # fmt: skip
"""The fields of a location that a page has; the payload has the text."""


@public_api
def page_data(
    *targets: object,
    models: Sequence[str] = (),
    price: Sequence[float] | None = None,
    content: bool = True,
    **options: Any,  # Any: options of render()
) -> JsonDict:
    """Return the data of a page that shows targets; :func:`page_html` makes the page from it.

    A target is one request: a prompt, which is rendered with ``options``, a :class:`Rendered`, a
    :class:`PromptRecord`, an entry of a log, or an exception. It may also be many requests: a
    :class:`PromptLog`, or a :class:`PagePrompt`, which has a name. ``models`` are names of models
    and providers: the page shows the payloads of each request for all of these. ``price`` is the
    price of a million tokens, and of a million cached tokens. Without ``content`` the data has no
    texts, names, ids and files.

    >>> from promptdsl import System
    >>> from promptdsl.page import page_data
    >>> data = page_data(System("Be kind."), model="gpt-5")
    >>> data["format"], [prompt["name"] for prompt in data["prompts"]]
    ('promptdsl.page/1', ['prompt 1'])

    Raises :class:`OptionError` for another target, and for ``models`` without ``content``. A prompt
    that cannot be rendered raises nothing: the page shows its error.
    """
    return made_page(*targets, models=models, price=price, content=content, **options)[0]


def made_page(
    *targets: object,
    models: Sequence[str],
    price: Sequence[float] | None,
    content: bool,
    **options: Any,
) -> tuple[JsonDict, list[str]]:
    """Return the data of a page, and a line for each request with an error."""
    if isinstance(models, str):
        fix = f"write models=[{shown(models)}]"
        raise OptionError("models is a string, not a list of names", fix=fix, at=(author(),))
    if models and not content:
        what = "payloads have content, but this page must have none"
        raise OptionError(what, fix="leave out models, or content=False", at=(author(),))
    rows = ((prompt, request_rows(prompt, models, options)) for prompt in prompts_of(targets))
    return page_of_rows(rows, price=price, content=content)


def page_of_rows(
    prompt_rows: Iterable[tuple[PagePrompt, Iterable[JsonDict]]],
    *,
    price: Sequence[float] | None,
    content: bool,
) -> tuple[JsonDict, list[str]]:
    """Return the data of a page of prompts with rows, and a line for each row with an error.

    The rows of a prompt are those of :func:`request_rows`. They are not changed.
    """
    shared = SharedValues()
    prompts: list[JsonDict] = []
    errors: list[str] = []
    for prompt_number, (prompt, rows) in enumerate(prompt_rows, 1):
        requests: list[JsonDict] = []
        head: JsonDict = {"name": prompt.title, "inputs": prompt.inputs_name}
        if not content:
            head = {"name": f"prompt {prompt_number}", "inputs": None}
        for row in rows:
            if row["error"]:
                errors.append(f"{prompt.title}: {row['error']['what']}")
            page_row = {key: row[key] for key in row if key not in ("figures", "side")}
            if not content:
                page_row = without_content(page_row)
            requests.append({**shared.shared_row(page_row), "figures": row["figures"]})
        prompts.append({**head, "requests": requests})
    data: JsonDict = {
        "format": FORMAT,
        "content": content,
        "price": None if price is None else _price(price),
        "prompts": prompts,
        "values": shared.values,
    }
    return data, errors


def _price(price: Sequence[float]) -> JsonDict:
    """Return the price of a million tokens; with one number, cached tokens cost the same."""
    is_number = all(
        isinstance(number, int | float) and 0 <= number < inf  # pyright: ignore[reportUnnecessaryIsInstance]
        for number in price
    )
    if len(price) not in (1, 2) or not is_number:
        fix = "give the price of a million tokens, and the price of a million cached tokens"
        raise OptionError(f"the price {shown(price)} is not one or two numbers", fix=fix)
    return {"input": price[0], "cached": price[-1]}


def request_rows(
    prompt: PagePrompt,
    models: Sequence[str],
    options: Mapping[str, Any],  # Any: options of render()
) -> Iterator[JsonDict]:
    """Yield the data of each request of a prompt, compared with the request before it.

    A row has everything that a page has, and also ``side``: the request as an argument of
    :func:`diff`.
    """
    # The last request that could be rendered; at first, the snapshot of the prompt.
    before: PageRequest | None = None
    if prompt.before is not None:
        before = FromSnapshot(prompt.before)
    for index, target in enumerate(prompt.requests):
        request = request_of(target, options)
        record: PromptRecord | None = None
        try:
            record = request.record(prompt.inputs)
        except Exception as error:  # such as the error of an author's counter
            request = FromError(error)
        row: JsonDict = {
            "key": str(index),
            "at": request.at,
            "id": request.id,
            "error": request.error,
            "record": None,
            "prefix": None,
            "changes": None,
            "fits": [],
            "targets": {},
        }
        if record is not None:
            row["record"] = record_data = record.to_dict()
            row["fits"] = _budget_rows(request, record_data.get("budget"))
            row["targets"] = _target_rows(request, record_data, models)
        if before is not None:
            row |= _compared(before, request)
        row["figures"] = _token_numbers(row["record"] or {}, row["prefix"])
        row["side"] = request.side
        yield row
        if request.rendered is not None:
            before = request


def _token_numbers(record: JsonDict, prefix: JsonDict | None) -> JsonDict:
    """Return numbers of tokens of a request: all, from the cache, equal before, and dropped."""
    total = (record.get("tokens") or {"total": 0})["total"]
    report = prefix or {"read_from_cache": 0, "shared": 0, "before": None, "minimum": 0}
    cached = min(report["read_from_cache"], total)
    # The tokens that the request before begins with, too: at least the cached tokens, at most all.
    equal = min(max(report["shared"], cached), total)
    return {
        "total": total,
        "cached": cached,
        "same": equal - cached,  # equal, but not served by the cache
        "dropped": sum(dropped_part.get("tokens", 0) for dropped_part in record.get("dropped", ())),
        "before": report["before"],
        "minimum": report["minimum"],
    }


def _compared(before: PageRequest, request: PageRequest) -> JsonDict:
    """Return what a request shares with the one before it, and what changed."""
    if before.side is None or request.side is None:
        return {}
    changes = diff(before.side, request.side)
    row: JsonDict = {"changes": changes.to_dict()}
    if changes.prefix is not None and changes.prefix.report is not None:
        row["prefix"] = changes.prefix.report.to_dict()
        if not request.is_rendered_here:
            _drop_line(row["prefix"]["first"])
    return row


def _drop_line(first: JsonDict | None) -> None:
    """Remove the source line of a difference: it is not a line of the author.

    A record was rendered again here, so lines of promptdsl made its nodes.
    """
    if first is not None:
        first.pop("source", None)


def _budget_rows(request: PageRequest, budget: JsonDict | None) -> list[JsonDict]:
    """Return what is sent and dropped with other budgets, from the smallest to one for everything.

    Only a prompt with a budget has rows; a render or a record cannot be rendered again.
    """
    rendered = request.rendered
    if budget is None or rendered is None or not isinstance(request, FromPrompt):
        return []
    reserve: int = budget["reserve"]
    # One token is too small for nearly every prompt: the error says the smallest budget.
    try:
        minimum = request.at_budget(reserve + 1).tokens.total
    except BudgetError as error:
        minimum = error.required
    except Exception:  # the prompt can be rendered once, not again
        return []
    everything = budget["used"] + sum(dropped_part.tokens for dropped_part in rendered.dropped)
    step = max(everything - minimum, 0) / (BUDGET_COUNT - 1)
    budgets = {round(minimum + step * index) + reserve for index in range(BUDGET_COUNT)}
    rows = (_budget_row(request, index) for index in sorted({*budgets, budget["limit"]}))
    return [row for row in rows if row is not None]


def _budget_row(request: FromPrompt, budget: int) -> JsonDict | None:
    """Return what is sent with a budget; ``None`` if the prompt cannot be rendered again."""
    try:
        rendered = request.at_budget(budget)
    except BudgetError:
        return {"budget": budget, "tokens": None, "dropped": []}
    except Exception:
        return None
    dropped = [
        {"what": dropped_part.what, "path": dropped_part.path} for dropped_part in rendered.dropped
    ]
    return {"budget": budget, "tokens": rendered.tokens.total, "dropped": dropped}


def _target_rows(request: PageRequest, record: JsonDict, models: Sequence[str]) -> JsonDict:
    """Return the rows of a request by target: first its own target, then each of ``models``."""
    rows: JsonDict = {}
    rendered = request.rendered
    if request.is_rendered_here and rendered is not None and rendered.facts.provider:
        name = rendered.facts.model or rendered.facts.provider
        rows[name] = _row_or_error(partial(_sent_row, rendered, record))
    for name in models:
        if name not in rows:
            rows[name] = _row_or_error(partial(_target_row, request, name))
    return rows


def _target_row(request: PageRequest, target: str) -> JsonDict:
    """Return what another target gets of a request."""
    rendered = request.rendered_for(target)
    return _sent_row(rendered, rendered.record().to_dict())


def _row_or_error(make_row: Callable[[], JsonDict]) -> JsonDict:
    """Return a row, or the error that it raises."""
    try:
        return make_row()
    except Exception as error:
        return {"error": error_data(error)}


def _sent_row(rendered: Rendered, record: JsonDict) -> JsonDict:
    """Return a payload, the locations of the blocks in it, and what is lost and dropped."""
    locations = [
        {name: field for name in LOCATION if (field := getattr(location, name)) not in (None, "")}
        for location in rendered.locations()
    ]
    payload = rendered._payload()  # without a warning, as the page shows the losses
    return {
        "payload": payload,
        "api": _api(rendered),
        "binary": [*_bytes_in(payload)],
        "messages": record["messages"],
        "spans": record["spans"],
        "locations": locations,
        "losses": record["losses"],
        "dropped": record["dropped"],
        "tokens": record["tokens"]["total"],
    }


def _api(rendered: Rendered) -> JsonDict:
    """Return the format, the provider and the model of a payload.

    A payload for an SDK may have a key ``config``. In a request without the SDK, the keys
    ``lifted`` move from there to the top, and the other keys move below the key ``options``.
    """
    wire, service = rendered.facts.wire, services().get(rendered.facts.wire.provider_format)
    row: JsonDict = {
        "format": wire.provider_format,
        "provider": wire.name,
        "model": rendered.facts.model,
        "lifted": [],
        "options": "",
    }
    if service is not None:
        row["lifted"], row["options"] = [*service.lifted], service.options
    return row


def _bytes_in(payload: JsonDict) -> Iterator[list[str | int]]:
    """Yield the address of each value of a payload that is bytes; the page has it as base64."""
    unvisited: list[tuple[list[str | int], object]] = [([], payload)]
    while unvisited:
        address, child = unvisited.pop()
        if isinstance(child, bytes | bytearray):
            yield address
        elif is_mapping(child):
            unvisited += [([*address, key], member) for key, member in child.items()]
        elif is_list(child):
            unvisited += [([*address, index], member) for index, member in enumerate(child)]
