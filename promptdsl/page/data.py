"""The data of a page: prompts and their requests as JSON, in which equal values stand once.

Finding equal values comes first; then the data.
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

# JSON data in which equal values stand once. Two requests of an agent have most messages, spans and
# rows in common, so a page with them is much smaller.

MARK = "~"
"""The beginning of a reference: ``"~7"`` is value 7. A text that begins with it has it twice."""
NUMBER = "~n"
"""The beginning of a number that JavaScript would write otherwise, such as 1.0 or 1e-05."""
TEXT = "~t"
"""The beginning of a text in parts: ``"~t7"`` is all texts of list 7, one after the other."""
OBJECT = "~o"
"""The beginning of an object with keys that JavaScript would move: ``"~o7"`` has the keys and
values of list 7, which begins with the list of the keys."""
LONG = 40
"""A value whose ``repr`` has this many characters, or more, is written once."""
EXACT = 2**53
"""JavaScript rounds integers of this size, or more."""
PART = 500
"""A part of a long text ends with the first line that ends after this many characters."""
_MOVED = re.compile(r"(?:0|[1-9][0-9]{0,9})\Z")
"""A key that JavaScript takes for an index: it stands before the other keys."""


class SharedValues:
    """A list of values, each once, and the references to them.

    >>> shared = SharedValues()
    >>> shared.of({"text": "a" * 50, "also": "a" * 50, "short": "~"})
    '~1'
    >>> shared.values[1]
    {'text': '~0', 'also': '~0', 'short': '~~'}
    """

    def __init__(self) -> None:
        self.values: list[object] = []
        self._numbers: dict[str, int] = {}
        """The number of each value, by its ``repr``, in which 1, 1.0 and True differ."""
        self._texts: dict[str, object] = {}
        """What stands for each long text."""
        self._known: dict[int, tuple[object, object]] = {}
        """Each object that was seen, by its id, and what stands for it."""

    def of(self, value: Any) -> Any:  # Any: JSON data, or bytes
        """Return what stands for a value: a reference if it is long, else the value."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int | float):
            return value if _is_exact(value) else f"{NUMBER}{json.dumps(value)}"
        if isinstance(value, bytes | bytearray):
            return self._text(base64.b64encode(value).decode())
        if not (is_mapping(value) or is_list(value)):
            return value
        known = self._known.get(id(value))
        if known is None:
            known = (value, self._container(value))
            self._known[id(value)] = known  # it keeps the object, so that its id stays its own
        return known[1]

    def parts(self, row: Mapping[str, Any]) -> dict[str, object]:  # Any: JSON data
        """Return a row with what stands for each of its values.

        After this, objects are no longer recognised by their id: the caller may let go of those of
        this row, and new objects may get their ids.
        """
        parts = {key: self.of(value) for key, value in row.items()}
        self._known.clear()
        return parts

    def _text(self, text: str) -> object:
        if len(text) + 2 < LONG:
            return _escaped(text)
        if text not in self._texts:
            parts = [*_lines(text)] if len(text) > 2 * PART else [text]
            if len(parts) > 1:
                number = self._number([self._text(part) for part in parts])
                self._texts[text] = f"{TEXT}{number}"
            else:
                self._texts[text] = f"{MARK}{self._number(_escaped(text))}"
        return self._texts[text]

    def _container(self, value: Any) -> object:
        if not is_mapping(value):
            return self._reference([self.of(part) for part in value])
        pairs: Mapping[str, object] = value
        row = {str(key): self.of(part) for key, part in pairs.items()}
        if any(_MOVED.match(key) for key in row):
            return f"{OBJECT}{self._number([[*row], *row.values()])}"
        return self._reference(row)

    def _reference(self, value: object) -> object:
        text = repr(value)
        return value if len(text) < LONG else f"{MARK}{self._number(value, text)}"

    def _number(self, value: object, text: str | None = None) -> int:
        """Return the number of a value, which is added if it is new."""
        key = repr(value) if text is None else text
        number = self._numbers.setdefault(key, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number


def _escaped(text: str) -> str:
    return f"{MARK}{text}" if text.startswith(MARK) else text


def _is_exact(number: float) -> bool:
    """Return whether JavaScript writes a number as Python does."""
    if isinstance(number, int):
        return -EXACT < number < EXACT
    return isfinite(number) and not number.is_integer() and "e" not in repr(number)


def _lines(text: str) -> Iterator[str]:
    """Yield the parts of a text: lines of together 500 characters or more, but for the last."""
    start = 0
    while len(text) - start > PART:
        end = text.find("\n", start + PART) + 1
        if end == 0:
            break
        yield text[start:end]
        start = end
    if text[start:]:
        yield text[start:]


# The data of a page. Its JSON schema is ``page.schema.json`` in this package. A page has no other
# input.

FORMAT = "promptdsl.page/1"
BUDGETS = 16
"""The number of budgets at which a prompt with a budget is rendered, in addition to its own."""
LOCATION = (
    "address", "role", "entry", "start", "end", "message", "block", "inner", "fence", "cache",
)  # fmt: skip
"""The fields of a location that a page has; the text is in the payload."""


@public_api
def page_data(
    *targets: object,
    models: Sequence[str] = (),
    price: Sequence[float] | None = None,
    content: bool = True,
    **options: Any,  # Any: options of render()
) -> JsonDict:
    """Return the data of a page that shows targets; :func:`page_html` makes the page of it.

    A target is a prompt, which is rendered with ``options``; a :class:`Rendered`, a
    :class:`PromptRecord`, an entry of a log or an exception; a :class:`PromptLog`; or a
    :class:`PagePrompt`, which has a name and several of them. ``models`` are names of models and
    providers: for each, the payload of each request is shown. ``price`` is the price of a million
    tokens, and of a million cached tokens. Without ``content`` there is no text, name, id and file.

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
    """Return the data of a page, and a line for each request that could not be made."""
    if isinstance(models, str):
        fix = f"write models=[{shown(models)}]"
        raise OptionError("models is a string, not a list of names", fix=fix, at=(author(),))
    if models and not content:
        what = "a payload has content, and this page has none"
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

    The rows of a prompt are those of :func:`request_rows`; none is changed.
    """
    shared = SharedValues()
    prompts: list[JsonDict] = []
    errors: list[str] = []
    for number, (prompt, rows) in enumerate(prompt_rows, 1):
        requests: list[JsonDict] = []
        head: JsonDict = {"name": prompt.title, "inputs": prompt.inputs_name}
        if not content:
            head = {"name": f"prompt {number}", "inputs": None}
        for row in rows:
            if row["error"]:
                errors.append(f"{prompt.title}: {row['error']['what']}")
            shown_row = {key: row[key] for key in row if key not in ("figures", "side")}
            if not content:
                shown_row = without_content(shown_row)
            requests.append({**shared.parts(shown_row), "figures": row["figures"]})
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
    """Return the price of a million tokens; cached ones cost as much if only one is given."""
    is_number = all(
        isinstance(part, int | float) and 0 <= part < inf  # pyright: ignore[reportUnnecessaryIsInstance]
        for part in price
    )
    if len(price) not in (1, 2) or not is_number:
        fix = "give the price of a million tokens, and that of a million cached tokens"
        raise OptionError(f"the price {shown(price)} is not one or two numbers", fix=fix)
    return {"input": price[0], "cached": price[-1]}


def request_rows(
    prompt: PagePrompt,
    models: Sequence[str],
    options: Mapping[str, Any],  # Any: options of render()
) -> Iterator[JsonDict]:
    """Yield the data of each request; each is compared with the one before it.

    In addition to what a page has, a row has ``side``: the request as a side of diffs.
    """
    # The last request that could be rendered; at first, the snapshot of the prompt.
    before: PageRequest | None = None
    if prompt.before is not None:
        before = FromSnapshot(prompt.before)
    for number, part in enumerate(prompt.requests):
        request = request_of(part, options)
        record: PromptRecord | None = None
        try:
            record = request.record(prompt.inputs)
        except Exception as error:  # such as that of an author's counter
            request = FromError(error)
        row: JsonDict = {
            "key": str(number),
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
            row["record"] = data = record.to_dict()
            row["fits"] = _budget_rows(request, data.get("budget"))
            row["targets"] = _target_rows(request, data, models)
        if before is not None:
            row |= _compared(before, request)
        row["figures"] = _figures(row["record"] or {}, row["prefix"])
        row["side"] = request.side
        yield row
        if request.rendered is not None:
            before = request


def _figures(record: JsonDict, prefix: JsonDict | None) -> JsonDict:
    """Return the tokens of a request by what a cache did with them, and those that were dropped."""
    total = (record.get("tokens") or {"total": 0})["total"]
    report = prefix or {"read_from_cache": 0, "shared": 0, "before": None, "minimum": 0}
    cached = min(report["read_from_cache"], total)
    # The tokens equal to the request before: at least those of the cache, at most all.
    equal = min(max(report["shared"], cached), total)
    return {
        "total": total,
        "cached": cached,
        "same": equal - cached,  # equal, but not served by the cache
        "dropped": sum(part.get("tokens", 0) for part in record.get("dropped", ())),
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
    """Remove the line of a difference, which is not a line of the author.

    The request is a record that was rendered again, so its nodes were made in this package.
    """
    if first is not None:
        first.pop("source", None)


def _budget_rows(request: PageRequest, budget: JsonDict | None) -> list[JsonDict]:
    """Return what is sent and dropped within other budgets, from the least to all of the prompt.

    Only a prompt with a budget has rows, because it can be rendered again.
    """
    rendered = request.rendered
    if budget is None or rendered is None or not isinstance(request, FromPrompt):
        return []
    reserve: int = budget["reserve"]
    # A budget of one token is too small for nearly every prompt: the error has the least budget.
    try:
        least = request.at_budget(reserve + 1).tokens.total
    except BudgetError as error:
        least = error.required
    except Exception:  # the prompt can be rendered once, not again
        return []
    everything = budget["used"] + sum(part.tokens for part in rendered.dropped)
    step = max(everything - least, 0) / (BUDGETS - 1)
    budgets = {round(least + step * number) + reserve for number in range(BUDGETS)}
    rows = (_budget_row(request, number) for number in sorted({*budgets, budget["limit"]}))
    return [row for row in rows if row is not None]


def _budget_row(request: FromPrompt, budget: int) -> JsonDict | None:
    """Return what is sent within a budget, ``None`` if the prompt cannot be rendered again."""
    try:
        rendered = request.at_budget(budget)
    except BudgetError:
        return {"budget": budget, "tokens": None, "dropped": []}
    except Exception:
        return None
    dropped = [{"what": part.what, "path": part.path} for part in rendered.dropped]
    return {"budget": budget, "tokens": rendered.tokens.total, "dropped": dropped}


def _target_rows(request: PageRequest, record: JsonDict, models: Sequence[str]) -> JsonDict:
    """Return the rows of a request by target: its own target if it is known, then each model."""
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
    """Return what is sent of a request to another target."""
    rendered = request.rendered_for(target)
    return _sent_row(rendered, rendered.record().to_dict())


def _row_or_error(make_row: Callable[[], JsonDict]) -> JsonDict:
    """Return a row, or the error that it raises."""
    try:
        return make_row()
    except Exception as error:
        return {"error": error_data(error)}


def _sent_row(rendered: Rendered, record: JsonDict) -> JsonDict:
    """Return a payload, the locations of the blocks in it, and what its record loses and drops."""
    locations = [
        {name: value for name in LOCATION if (value := getattr(location, name)) not in (None, "")}
        for location in rendered.locations()
    ]
    payload = rendered._payload()  # a page shows losses, it does not warn
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
    """Return the format, the provider and the model that a payload is for.

    A payload may have a key ``config``, as the SDK takes it. Without the SDK, the keys ``lifted``
    move from there to the top, and the others under the key ``options``.
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
    """Yield the address of each value of a payload that is bytes, which JSON has as base64."""
    waiting: list[tuple[list[str | int], object]] = [([], payload)]
    while waiting:
        address, value = waiting.pop()
        if isinstance(value, bytes | bytearray):
            yield address
        elif is_mapping(value):
            waiting += [([*address, key], part) for key, part in value.items()]
        elif is_list(value):
            waiting += [([*address, number], part) for number, part in enumerate(value)]
