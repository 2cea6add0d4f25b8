"""Signatures that list each option, for ``inspect``, ``help()`` and editors; what is left out."""

from collections.abc import Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any, Never

if TYPE_CHECKING:
    from inspect import Signature


class nothing:  # noqa: N801 (errors name a type)
    """A required argument that was left out: refused by each component, as any wrong value is."""

    def __repr__(self) -> str:
        return "nothing"


LEFT_OUT = nothing()


def refuse_what_is_left_out(cls: type) -> None:
    """Give required arguments a default that is no value, as Python's own error has no advice."""
    for name, way in vars(cls).items():
        init: object = getattr(way, "__func__", way)
        is_called = name == "__init__" or (init is not way and not name.startswith("_"))
        if is_called and isinstance(init, FunctionType):
            defaults = init.__defaults__ or ()
            required = init.__code__.co_argcount - 1 - len(defaults)
            init.__defaults__ = (LEFT_OUT,) * required + defaults


class ListedSignature:
    """The ``__signature__`` of a class that takes the options of a ``TypedDict``.

    ``_options_type`` of the class is the ``TypedDict``, ``_option_defaults`` are defaults by name.
    """

    def __get__(self, instance: object, cls: Any) -> "Signature":  # Any: a class with these two
        if instance is not None:
            raise AttributeError("an object is not called: it has no signature")
        return listed_signature(cls.__init__, cls._options_type, cls._option_defaults)


def listed_signature(
    function: Any,  # Any: any function
    options: type | None,
    defaults: Mapping[str, object],
) -> "Signature":
    """Return the signature of a function with its options as keywords, without ``self``.

    The default of an option that is not among ``defaults`` is shown as ``...``.
    """
    from inspect import Parameter, signature

    full = signature(function)
    given = [it for it in full.parameters.values() if it.name != "self"]
    # Positional arguments beside those that it takes are declared to be refused, too: Never.
    kept = [
        x.replace(default=Parameter.empty) if x.default is LEFT_OUT else x
        for x in given
        if x.kind is not Parameter.VAR_POSITIONAL or x.annotation not in (Never, "Never")
    ]
    # Keywords that nobody knows are declared as well, to refuse them: Never.
    refused = options is not None or (kept and kept[-1].annotation in (Never, "Never"))
    if refused and kept[-1].kind is Parameter.VAR_KEYWORD:
        kept.pop()
    listed = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=defaults.get(name, ...), annotation=type)
        for name, type in ({} if options is None else options.__annotations__).items()
    ]
    return full.replace(parameters=[*kept, *listed])
