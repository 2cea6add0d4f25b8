"""Signatures of components: the options that editors show, and errors for missing arguments.

``LEFT_OUT`` is the default of every required argument of a component. Python itself raises a
``TypeError`` without advice for a missing argument. With this default the call reaches the
component, whose own check raises an error that says what to write. :func:`allow_left_out` sets it.

A *listed* signature has one keyword for each option of a ``TypedDict``, where the function itself
has only ``**options``. :func:`listed_signature` returns it for ``inspect.signature()``, ``help()``
and editors. There, a required argument has no default.

Each component class calls ``allow_left_out`` when it is created, and has a ``ListedSignature``,
which calls ``listed_signature`` when somebody asks for it.
"""

from collections.abc import Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any, Never

if TYPE_CHECKING:
    from inspect import Parameter, Signature


class LeftOut:
    """The type of :data:`LEFT_OUT`, the value of a required argument that was not given."""

    def __repr__(self) -> str:
        return "nothing"


# Errors name the type of a wrong value: "a Lazy takes a function, not nothing".
LeftOut.__name__ = "nothing"
LEFT_OUT = LeftOut()
"""The value of a required argument that was not given. Each component refuses it."""


def allow_left_out(component: type) -> None:
    """Give the required arguments of a component the default ``LEFT_OUT``.

    This changes ``__init__`` and the public class methods, such as ``Image.from_bytes``, that the
    class itself defines: its base classes were changed when they were created.
    """
    for name, attribute in vars(component).items():
        is_class_method = isinstance(attribute, classmethod)
        function: object = getattr(attribute, "__func__", attribute)
        is_called = name == "__init__" or (is_class_method and not name.startswith("_"))
        if is_called and isinstance(function, FunctionType):
            defaults = function.__defaults__ or ()
            # The count is that of positional arguments, without self or cls. Keyword-only arguments
            # are not among them: those of components have defaults.
            required = function.__code__.co_argcount - 1 - len(defaults)
            function.__defaults__ = (LEFT_OUT,) * required + defaults


class ListedSignature:
    """The ``__signature__`` of a class that takes the options of a ``TypedDict``.

    The class has two attributes for it: ``_options_type`` is the ``TypedDict``,
    ``_option_defaults`` are the defaults of its options by name.
    """

    def __get__(
        self,
        instance: object,
        cls: Any,  # Any: a class with the two attributes
    ) -> "Signature":
        if instance is not None:
            raise AttributeError("an instance cannot be called: only its class has a signature")
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
    shown = [
        _with_own_default(parameter)
        for parameter in full.parameters.values()
        if parameter.name != "self" and _is_shown(parameter, options)
    ]
    annotations: Mapping[str, object] = getattr(options, "__annotations__", {})
    listed = [
        Parameter(
            name, Parameter.KEYWORD_ONLY, default=defaults.get(name, ...), annotation=annotation
        )
        for name, annotation in annotations.items()
    ]
    return full.replace(parameters=[*shown, *listed])


def _is_shown(parameter: "Parameter", options: type | None) -> bool:
    """Return whether a signature lists a parameter.

    The options of a ``TypedDict`` are listed instead of ``**options``. ``*args: Never`` and
    ``**options: Never`` are declared only to refuse further arguments.
    """
    if parameter.kind is parameter.VAR_KEYWORD and options is not None:
        return False
    is_further = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    return not is_further or parameter.annotation not in (Never, "Never")


def _with_own_default(parameter: "Parameter") -> "Parameter":
    """Return a parameter; a required one, whose default is ``LEFT_OUT``, without a default."""
    if parameter.default is LEFT_OUT:
        return parameter.replace(default=parameter.empty)
    return parameter
