"""The keys of recorded messages that the readers pass over, found by the table of their provider.

Blocks whose readers keep all further keys are open: an adapter tells what it does not send of them.
"""

from collections.abc import Iterator

from promptdsl.foundation.frozen import is_mapping
from promptdsl.providers.registry import TARGETS
from promptdsl.providers.shared.read_keys import KeySearch, path_of, shape


def unread_keys(data: object, form: str) -> Iterator[tuple[str, str]]:
    """Yield the keys with a value that are not read of a recorded conversation, with their places.

    The data was read before. What is ``None`` or empty is no value. A key that is passed over in
    many places of one kind comes once, with its first place and the number of the others.
    """
    keys = TARGETS[form].read_keys
    if not is_mapping(data):
        *_, key = keys.payload
        data = {key: data}
    search = KeySearch(keys.fields_of)
    search.find(data, shape(rest=True, **keys.payload), None)
    for (*_, key), values in search.values.items():
        place, _ = values[0]
        more = f" and {len(values) - 1:,} more" if len(values) > 1 else ""
        yield key, f"{path_of(place[0])}{more}"
