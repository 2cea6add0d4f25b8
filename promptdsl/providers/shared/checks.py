"""Checks of recorded data: each error names the key that is wrong, and its place."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, overload

from promptdsl.foundation.errors import DataError, nearest, shown, shown_name
from promptdsl.foundation.frozen import is_list, is_mapping
from promptdsl.messages.field_checks import CACHES, Cache
from promptdsl.providers.shared.request import Param

D = TypeVar("D")
R = TypeVar("R")


def located(place: str, reader: Callable[[D], R], data: D) -> R:
    """Return the result of a reader; its :class:`DataError` names the place."""
    try:
        return reader(data)
    except DataError as error:
        raise DataError(f"{place}: {error.what}", fix=error.fix) from None


def located_items(place: str, reader: Callable[[object], R], data: object) -> Iterator[R]:
    """Yield the reader's result for each item of a list; errors name ``place[index]``."""
    for index, item in enumerate(items(data, place)):
        yield located(f"{place}[{index}]", reader, item)


def items(data: object, place: str) -> Sequence[Any]:  # Any: as above
    """Return the items of a list; :class:`DataError` for any other value."""
    if is_list(data):
        return data
    raise DataError(f"{place!r} is a list, not {type(data).__name__}")


def mapping(data: object) -> Param:
    """Return a mapping as a new dictionary; :class:`DataError` for any other value.

    The response objects of SDKs, which are often among recorded messages, are dumped.
    """
    if is_mapping(data):
        return dict(data)
    # A value that the SDK parsed to a type of the user's own has no place in the SDK's type, which
    # would warn of it.
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
    """Return the value under a key; :class:`DataError` when it is missing or of another type."""
    if key not in fields:
        raise DataError(f"{key!r} is needed", fix=nearest(key, map(shown_name, fields)))
    value = fields[key]
    if not isinstance(value, kind):
        raise DataError(f"{key!r} is {_NAMES[kind]}, not {type(value).__name__}")
    return value


_NAMES: Mapping[type, str] = {str: "a string", list: "a list", Mapping: "a dictionary"}


def with_nulls(data: object, nulls: Mapping[str, Sequence[str]]) -> Any:  # Any: JSON
    """Return data with the keys that a request needs, also where their value is null.

    The object of an SDK is read without its nulls. ``nulls`` are these keys, by type of object.
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
    """Return the time to live of a cache mark, ``None`` for no mark; :class:`DataError` if odd."""
    ttl = None if control is None else mapping(control).get("ttl", "default")
    if ttl not in (None, *CACHES):
        raise DataError(f"unknown 'ttl' {shown(ttl)}", fix="'5m' or '1h'")
    return ttl


def usage(*, total: object = None, **counts: object) -> Mapping[str, int] | None:
    """Return the token counts of a response, ``None`` when it has none.

    ``input`` are all tokens that were read, cached or not; ``cache_read`` and ``cache_write`` are
    the part of them that came from a cache and the part that went into one. ``output`` are all
    tokens that were written, ``reasoning`` the part of them that was thought. ``total`` is the
    provider's own, or else the sum of both.
    """
    known = {name: count for name, count in counts.items() if type(count) is int}
    if type(total) is int or known.keys() >= {"input", "output"}:
        known["total"] = total if type(total) is int else known["input"] + known["output"]
    return known or None


def openai_usage(
    token_counts: object, asked: str = "prompt", answered: str = "completion"
) -> Mapping[str, int] | None:
    """Return the token counts of a response in OpenAI's form, by the names of both sides in it."""
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
