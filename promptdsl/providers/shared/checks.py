"""Checks of recorded data; each error names the wrong key and its location."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, overload

from promptdsl.foundation.errors import DataError, misspelt, nearest, shown, shown_name
from promptdsl.foundation.frozen import is_list, is_mapping
from promptdsl.messages.field_checks import CACHES, Cache
from promptdsl.providers.shared.request import Param

D = TypeVar("D")
R = TypeVar("R")


def located(location: str, reader: Callable[[D], R], data: D) -> R:
    """Return the result of a reader; its :class:`DataError` names the location."""
    try:
        return reader(data)
    except DataError as error:
        raise DataError(f"{location}: {error.what}", fix=error.fix) from None


def located_items(location: str, reader: Callable[[object], R], data: object) -> Iterator[R]:
    """Yield the result of a reader for each item of a list; errors name ``place[index]``."""
    for index, item in enumerate(items(data, location)):
        yield located(f"{location}[{index}]", reader, item)


def items(data: object, location: str) -> Sequence[Any]:  # Any: as above
    """Return the items of a list; raises :class:`DataError` for any other value."""
    if is_list(data):
        return data
    fix = (
        "read it with json.loads first" if isinstance(data, str | bytes) else "give the list itself"
    )
    raise DataError(f"{location!r} is a list, not {type(data).__name__}", fix=fix)


def mapping(data: object) -> Param:
    """Return a mapping as a new dictionary; raises :class:`DataError` for any other value.

    The response objects of SDKs, which are often among recorded messages, become dictionaries.
    """
    if is_mapping(data):
        return dict(data)
    # An SDK would warn about a value that it parsed to a type of the user.
    options = {"mode": "json", "exclude_none": True, "by_alias": True, "warnings": False}
    for name, keywords in (("model_dump", options), ("to_dict", {})):
        dump = None if isinstance(data, type) else getattr(data, name, None)
        try:
            dumped: object = dump(**keywords) if callable(dump) else None
        except Exception as error:
            raise DataError(f"{type(data).__name__} cannot be read: {error}") from None
        if is_mapping(dumped):
            return dict(dumped)
    raise DataError(f"a dictionary is needed, not {type(data).__name__}")


@overload
def required(fields: Mapping[str, object], key: str, kind: type[str]) -> str: ...
@overload
def required(
    fields: Mapping[str, object], key: str, kind: type = object
) -> Any: ...  # Any: a mapping, or a value that the caller checks
def required(fields: Mapping[str, object], key: str, kind: type = object) -> object:
    """Return the value of a key; raises :class:`DataError` if it is missing or has another type."""
    if key not in fields:
        fix = misspelt(key, fields) or nearest(key, map(shown_name, fields))
        raise DataError(f"{key!r} is needed", fix=fix)
    value = fields[key]
    if not isinstance(value, kind):
        raise DataError(f"{key!r} is {_NAMES[kind]}, not {type(value).__name__}")
    return value


_NAMES: Mapping[type, str] = {str: "a string", list: "a list", Mapping: "a dictionary"}


def with_nulls(data: object, nulls: Mapping[str, Sequence[str]]) -> Any:  # Any: JSON
    """Return data with the keys that a request needs although their value is null.

    An object of an SDK is read without nulls. ``nulls`` are these keys, by type of object.
    """
    if is_list(data):
        return [with_nulls(item, nulls) for item in data]
    if not is_mapping(data):
        return data
    fields = {key: with_nulls(value, nulls) for key, value in data.items()}
    return {
        **fields,
        **{key: None for key in nulls.get(str(data.get("type")), ()) if key not in data},
    }


def read_mark(control: object) -> Cache | None:
    """Return the time to live of a cache mark, ``None`` for no mark.

    Raises :class:`DataError` for an unknown time to live.
    """
    ttl = None if control is None else mapping(control).get("ttl", "default")
    if ttl not in (None, *CACHES):
        raise DataError(f"unknown 'ttl' {shown(ttl)}", fix="'5m' or '1h'")
    return ttl


def usage(*, total: object = None, **counts: object) -> Mapping[str, int] | None:
    """Return the token counts of a response, ``None`` if it has none.

    ``input`` counts all tokens that were read, also from a cache; ``cache_read`` counts those read
    from a cache, ``cache_write`` those written to a cache. ``output`` counts all tokens that were
    written, ``reasoning`` those of reasoning. ``total`` is the count of the provider, or the sum of
    input and output.
    """
    known = {name: count for name, count in counts.items() if type(count) is int}
    if type(total) is int or known.keys() >= {"input", "output"}:
        known["total"] = total if type(total) is int else known["input"] + known["output"]
    return known or None


def openai_usage(
    token_counts: object, asked: str = "prompt", answered: str = "completion"
) -> Mapping[str, int] | None:
    """Return the token counts in OpenAI's format; ``asked`` and ``answered`` begin its keys."""
    counts = mapping(token_counts or {})
    read = mapping(counts.get(f"{asked}_tokens_details") or {})
    written = mapping(counts.get(f"{answered}_tokens_details") or {})
    return usage(
        total=counts.get("total_tokens"),
        input=counts.get(f"{asked}_tokens"),
        output=counts.get(f"{answered}_tokens"),
        cache_read=read.get("cached_tokens"),
        cache_write=read.get("cache_write_tokens"),
        reasoning=written.get("reasoning_tokens"),
    )


def total(*counts: object) -> int | None:
    """Return the sum of the counts that are known, ``None`` when no count is known."""
    known = [count for count in counts if type(count) is int]
    return sum(known) if known else None
