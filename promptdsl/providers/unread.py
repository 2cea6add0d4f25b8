"""The keys of recorded messages that are not read, found with the table of their provider.

Some blocks keep all further keys. For these, an adapter reports the keys that it does not send.
"""

from collections.abc import Iterator

from promptdsl.foundation.frozen import is_mapping
from promptdsl.providers.registry import TARGETS
from promptdsl.providers.shared.read_keys import KeySearch, path_of, shape


def unread_keys(data: object, provider_format: str) -> Iterator[tuple[str, str]]:
    """Yield the keys with a value that are not read in a recorded conversation, with a location.

    The data was read before. ``None`` and empty values do not count. A key that is unread at many
    locations of one kind comes once, with its first location and the number of the others.
    """
    keys = TARGETS[provider_format].read_keys
    if not is_mapping(data):
        *_, key = keys.payload
        data = {key: data}
    search = KeySearch(keys.fields_of)
    search.find(data, shape(rest=True, **keys.payload), None)
    for (*_, key), values in search.values.items():
        location, _ = values[0]
        more = f" and {len(values) - 1:,} more" if len(values) > 1 else ""
        yield key, f"{path_of(location[0])}{more}"
