"""Old public names: each works until a release, and warns at the line that uses it.

``OLD_NAMES`` is the only list. A class keeps an old attribute with :class:`OldAttribute`. The
``__getattr__`` of a module calls :func:`new_name_with_warning`. :class:`PassName` is for the names
of stages: a stage is the tree after a pass, and has the name of this pass.
"""

import warnings
from typing import Any, NamedTuple


class Renamed(NamedTuple):
    """The new name, and the release that removes the old name."""

    new: str
    gone_in: str


OLD_NAMES = {
    "promptdsl.SentPlace": Renamed("SentLocation", "0.3.0"),
    "promptdsl.integrations.Bridged": Renamed("Converted", "0.3.0"),
    "Rendered.places": Renamed("locations", "0.3.0"),
    "Dropped.said": Renamed("text", "0.3.0"),
    "TokenReport.form": Renamed("frame", "0.3.0"),
    "Change.place": Renamed("location", "0.3.0"),
    "TableRow.place": Renamed("location", "0.3.0"),
    "SharedPrefix.is_whole": Renamed("is_complete", "0.3.0"),
    "Stage.name equip": Renamed("extract_tools", "0.3.0"),
    "Stage.name consolidate": Renamed("merge_system", "0.3.0"),
    "Stage.name narrate": Renamed("render_events", "0.3.0"),
}


def new_name_with_warning(old: str, stacklevel: int = 3) -> str:
    """Return the new name for an old name, and warn at the user's line.

    ``stacklevel`` is the number of frames from here to that line, as in :func:`warnings.warn`. The
    default is for a function that the user's line calls, and that calls this one. Raises
    :class:`KeyError` for a name that was not renamed.
    """
    new, gone_in = OLD_NAMES[old]
    message = f"{old} is now {new}; the old name goes in promptdsl {gone_in}"
    warnings.warn(message, DeprecationWarning, stacklevel=stacklevel)
    return new


class OldAttribute:
    """An attribute with its old name, ``Class.name``: it has the value of the new attribute."""

    def __init__(self, old: str) -> None:
        self._old = old

    def __get__(self, instance: object, owner: type | None = None) -> Any:  # Any: as the new name
        """Return the value of the new attribute, and warn; of a class, return this object."""
        return self if instance is None else getattr(instance, new_name_with_warning(self._old))


class PassName(str):
    """The name of a stage. It is also equal to the old name of this stage, with a warning.

    Only ``==`` and ``!=`` accept the old name. A dictionary of stages by their names does not find
    it, because the hash is that of the new name.
    """

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return _is_name(self, other)

    def __ne__(self, other: object) -> bool:
        return not _is_name(self, other)


def _is_name(name: str, other: object) -> bool:
    """Return whether an object is the name of a stage, or its old name; warn at the old name."""
    old = f"Stage.name {other}"  # the key in ``OLD_NAMES``; no key if ``other`` is no old name
    renamed = OLD_NAMES.get(old)
    if renamed is None or not str.__eq__(name, renamed.new):
        # For an object other than a string, ``str.__eq__`` returns ``NotImplemented``, not False.
        return str.__eq__(name, other) is True
    new_name_with_warning(old, stacklevel=4)
    return True
