"""Source lines: where an author wrote a part, and errors, tracebacks and warnings at such lines.

Begin with ``Source`` and ``author``, in the middle. Above them are the error for wrong arguments of
a call, and the signatures of components. Below them are tracebacks, the section of a library, and
the warnings at the author's line.
"""

import contextlib
import functools
import os
import sys
import warnings
from bisect import bisect_right
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextvars import ContextVar
from functools import wraps
from inspect import CO_COROUTINE, CO_VARARGS, CO_VARKEYWORDS, Parameter, Signature, signature
from threading import RLock
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any, Never, ParamSpec, TypeAlias, TypeVar
from weakref import WeakSet, ref

import attrs

from promptdsl.foundation.errors import OptionError, PromptError, nearest

# The error for a call with arguments that a public class or function does not take.

_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_FIRST = ("self", "cls", "_cls")
"""The names of first parameters, which Python passes itself; ``_cls`` is that of named tuples."""


def wrong_call(
    function: Callable[..., object],
    name: str,
    arguments: Sequence[object],
    options: Mapping[str, object],
) -> OptionError:
    """Return the error for arguments that a function does not accept.

    ``name`` is the name that the author called, by default the name of the function. The error
    names the first unknown option. Without one it names the missing arguments, or an argument that
    was passed twice, or the number of arguments by position.
    """
    parameters = [*signature(function).parameters.values()]
    name = name or function.__qualname__.removesuffix(".__init__")
    if arguments and parameters and parameters[0].name in _FIRST:
        del parameters[0]
        name = _of_class(name, arguments[0])
        arguments = arguments[1:]
    names = [parameter.name for parameter in parameters]
    kinds = {parameter.kind for parameter in parameters}
    unknown = [option for option in options if option not in names]
    if unknown and Parameter.VAR_KEYWORD not in kinds:
        return OptionError(f"{name}() takes no {unknown[0]!r}", fix=nearest(unknown[0], names))
    problem = _problem(parameters, arguments, options)
    return OptionError(f"{name}() {problem}", fix=f"it takes {name}({_parameter_list(parameters)})")


def _of_class(name: str, first: object) -> str:
    """Return the name of a method with the class of its first argument, not with a base class."""
    cls = first if isinstance(first, type) else type(first)
    _, dot, method = name.rpartition(".")
    return f"{cls.__name__}.{method}" if dot else name


def _problem(
    parameters: list[Parameter], arguments: Sequence[object], options: Mapping[str, object]
) -> str:
    """Return what is wrong with arguments, apart from unknown options."""
    by_position = [parameter.name for parameter in parameters if parameter.kind in _POSITIONAL]
    filled = [*by_position[: len(arguments)], *options]
    missing = [
        repr(parameter.name)
        for parameter in parameters
        if _is_required(parameter) and parameter.name not in filled
    ]
    if missing:
        return f"needs {', '.join(missing)}"
    twice = [option for option in options if filled.count(option) > 1]
    if twice:
        return f"takes {twice[0]!r} once: it is passed by position, too"
    if not by_position:
        return "takes no arguments by position"
    expected = "1 argument" if len(by_position) == 1 else f"at most {len(by_position)} arguments"
    return f"takes {expected} by position, not {len(arguments)}"


def _is_required(parameter: Parameter) -> bool:
    """Return whether a caller has to pass an argument for a parameter."""
    is_single = parameter.kind in (*_POSITIONAL, Parameter.KEYWORD_ONLY)
    return is_single and parameter.default is Parameter.empty


def _parameter_list(parameters: list[Parameter]) -> str:
    """Return parameters as an error shows them; an optional parameter ends in ``=...``."""
    texts: list[str] = []
    for parameter in parameters:
        if parameter.kind is Parameter.VAR_POSITIONAL:
            continue
        if parameter.kind is Parameter.VAR_KEYWORD:
            texts.append("...")
        elif parameter.kind in _POSITIONAL and parameter.default is Parameter.empty:
            texts.append(parameter.name)
        else:
            texts.append(f"{parameter.name}=...")
    return ", ".join(texts)


# Signatures of components: the options that editors show, and errors for missing arguments.
#
# For a missing argument, Python itself raises a ``TypeError`` without advice. So every required
# argument of a component has the default ``LEFT_OUT``, which :func:`allow_left_out` sets. Then the
# call reaches the component, and its check raises an error that says what to write.
#
# A component has its options as ``**options``, with the names in a ``TypedDict``. A *listed*
# signature has one keyword for each of these options. :func:`listed_signature` returns it for
# ``inspect.signature()``, ``help()`` and editors. In it, a required argument has no default.
#
# Each component class calls ``allow_left_out`` when it is created. It has a ``ListedSignature``,
# which calls ``listed_signature`` when somebody asks for the signature.


class LeftOut:
    """The type of :data:`LEFT_OUT`, the value of a required argument that the caller left out."""

    def __repr__(self) -> str:
        return "nothing"


# Errors name the type of a wrong value: "a Lazy takes a function, not nothing".
LeftOut.__name__ = "nothing"
LEFT_OUT = LeftOut()
"""The value of a required argument that the caller left out. Each component refuses it."""


def allow_left_out(component: type) -> None:
    """Give the required arguments of a component the default ``LEFT_OUT``.

    This changes ``__init__`` and the public class methods, such as ``Image.from_bytes``. It changes
    only those that the class itself defines, because its base classes are already changed.
    """
    for name, attribute in vars(component).items():
        is_class_method = isinstance(attribute, classmethod)
        function: object = getattr(attribute, "__func__", attribute)
        is_called = name == "__init__" or (is_class_method and not name.startswith("_"))
        if is_called and isinstance(function, FunctionType):
            defaults = function.__defaults__ or ()
            # The number of positional arguments, without self or cls. The keyword-only arguments of
            # components all have defaults.
            required = function.__code__.co_argcount - 1 - len(defaults)
            function.__defaults__ = (LEFT_OUT,) * required + defaults


class ListedSignature:
    """The ``__signature__`` of a class that takes the options of a ``TypedDict``.

    The class has two attributes for it. ``_options_type`` is the ``TypedDict``.
    ``_option_defaults`` has the default of each option by its name.
    """

    def __get__(
        self,
        instance: object,
        cls: Any,  # Any: a class with the two attributes
    ) -> Signature:
        if instance is not None:
            raise AttributeError("an instance cannot be called: only its class has a signature")
        return listed_signature(cls.__init__, cls._options_type, cls._option_defaults)


def listed_signature(
    function: Any,  # Any: any function
    options: type | None,
    defaults: Mapping[str, object],
) -> Signature:
    """Return the signature of a function with its options as keywords, without ``self``.

    An option that is not in ``defaults`` has the default ``...``.
    """
    full = signature(function)
    parameters = [
        _with_own_default(parameter)
        for parameter in full.parameters.values()
        if parameter.name != "self" and _is_shown(parameter, options)
    ]
    annotations: Mapping[str, object] = getattr(options, "__annotations__", {})
    keywords = [
        Parameter(
            name, Parameter.KEYWORD_ONLY, default=defaults.get(name, ...), annotation=annotation
        )
        for name, annotation in annotations.items()
    ]
    return full.replace(parameters=[*parameters, *keywords])


def _is_shown(parameter: Parameter, options: type | None) -> bool:
    """Return whether a signature lists a parameter.

    The options of a ``TypedDict`` are listed instead of ``**options``. ``*args: Never`` and
    ``**options: Never`` are declared only to refuse further arguments.
    """
    if parameter.kind is parameter.VAR_KEYWORD and options is not None:
        return False
    is_further = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    return not is_further or parameter.annotation not in (Never, "Never")


def _with_own_default(parameter: Parameter) -> Parameter:
    """Return a parameter; a required parameter, whose default is ``LEFT_OUT``, has no default."""
    if parameter.default is LEFT_OUT:
        return parameter.replace(default=parameter.empty)
    return parameter


# The author's line of each part of a prompt, and tracebacks that end at such a line.
#
# A line is noted as a code object and an offset in it. An error or a report that needs the file and
# the line number looks them up. Tracebacks are shown without the frames of this package.

P = ParamSpec("P")
R = TypeVar("R")

Position: TypeAlias = tuple[CodeType, int]
"""A code object and the offset of an instruction in it. To note a line in this way takes 128 ns."""


@attrs.frozen
class Source:
    """The location where an author wrote something: a file and a line.

    ``file`` is the name that the interpreter uses, ``line`` counts from 1.

    >>> from promptdsl import Source
    >>> print(Source("prompts.py", 12))
    prompts.py:12
    """

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def source_of(position: Position) -> Source:
    """Return the file and line of an instruction."""
    code, offset = position
    starts, lines = _lines_of(code)
    index = bisect_right(starts, offset)
    line = lines[index - 1] if index else None
    return Source(code.co_filename, line or code.co_firstlineno)


_Lines: TypeAlias = tuple[list[int], list[int | None]]
"""The offsets at which the lines of a code object begin, and the lines."""
_LINE_CACHE: dict[int, tuple[ref[CodeType], _Lines]] = {}
"""The lines of the code objects that were looked up last, by the id of the code object."""
_LINE_CACHE_SIZE = 64
"""The number of code objects in the cache."""


def _lines_of(code: CodeType) -> _Lines:
    """Return the lines of a code object. They are read once for all its positions."""
    cached = _LINE_CACHE.get(id(code))
    if cached is not None and cached[0]() is code:
        return cached[1]
    table = [*code.co_lines()]
    lines = [start for start, _, _ in table], [line for _, _, line in table]
    if len(_LINE_CACHE) >= _LINE_CACHE_SIZE:
        _LINE_CACHE.clear()
    _LINE_CACHE[id(code)] = ref(code), lines
    return lines


def looked_up(at: Position | Source | None) -> Source | None:
    """Return the file and line of an instruction; a :class:`Source` is returned unchanged."""
    return source_of(at) if isinstance(at, tuple) else at


_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
_BETWEEN = (contextlib.__file__, functools.__file__, "<attrs generated")
OURS = (_PACKAGE, *_BETWEEN)
"""The beginnings of the names of files that no author wrote: this package, and the modules that may
be between it and its callers. A ``with`` block, for example, may end through ``contextlib``."""

AWAITED: ContextVar[Source | None] = ContextVar("promptdsl_awaited", default=None)
"""The author's line for the running coroutine, because its stack may have only the event loop."""


def author_frame(frame: FrameType) -> FrameType:
    """Return the nearest frame outside of this package: the frame itself, or one of its callers."""
    while frame.f_back is not None and frame.f_code.co_filename.startswith(OURS):
        frame = frame.f_back
    return frame


def author() -> Source:
    """Return the nearest line of a caller outside of this package."""
    frame, is_awaited = sys._getframe(1), False
    while frame.f_back is not None and frame.f_code.co_filename.startswith(OURS):
        is_awaited = is_awaited or bool(frame.f_code.co_flags & CO_COROUTINE)
        frame = frame.f_back
    return (is_awaited and AWAITED.get()) or source_of((frame.f_code, frame.f_lasti))


def note_caller(error: Exception, location: object, name: str) -> None:
    """Add a note to an exception of a user's function: the author's line that led to the call.

    The type of the exception stays. An error of this package gets no note: it has its own line.
    """
    note = f"{location}: raised by {name}"
    if not isinstance(error, PromptError) and note not in getattr(error, "__notes__", ()):
        error.add_note(note)


def end_traceback(error: PromptError) -> None:
    """Remove the frames of this package from the traceback of an error that leaves a function.

    A bare ``raise`` after this call adds no frame. So the traceback ends in the author's code, or
    in the function that was called there. An error without a line gets the line of the caller, if
    the caller is an author. The environment variable ``PROMPTDSL_TRACEBACK=1`` keeps all frames.
    """
    if not error.at:
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename.startswith(_BETWEEN):
            frame = frame.f_back
        if frame is None or not frame.f_code.co_filename.startswith(_PACKAGE):
            error.located(author())
    if os.environ.get("PROMPTDSL_TRACEBACK") == "1":
        return
    traces: list[TracebackType] = []
    trace = error.__traceback__
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(OURS):
            traces.append(trace)
        trace = trace.tb_next
    shortened: TracebackType | None = None
    for trace in reversed(traces):
        shortened = TracebackType(shortened, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)
    error.__traceback__ = shortened


def public_api(function: Callable[P, R], name: str = "") -> Callable[P, R]:
    """Return a function of the public API whose tracebacks end at it: see :func:`end_traceback`.

    Arguments that the function does not take raise an :class:`OptionError` with advice. ``name`` is
    the name of the class, for an ``__init__``. A function that is called very often does the same
    in its own ``except``, which saves 0.1 µs.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except PromptError as error:
            end_traceback(error)
            raise
        except TypeError as error:
            if _was_called(error):
                raise
            raise wrong_call(function, name, args, kwargs).located(author()) from None

    _PUBLIC.add(call)
    return call


def public_object(value: Any) -> Any:  # Any: a class, a function, or a constant
    """Return a value of the public API; a function becomes a :func:`public_api`.

    In a class, this replaces the ``__init__``, or the ``__new__`` of a named tuple, even if it is
    inherited. It does not replace the ``__init__`` of components: they take any arguments, and
    check these themselves.
    """
    if isinstance(value, FunctionType):
        return value if _takes_any(value) else public_api(value)
    if isinstance(value, type):
        published: Any = (
            value  # Any: the attributes of a class cannot be assigned, to type checkers
        )
        if isinstance(published.__init__, FunctionType) and not _takes_any(published.__init__):
            published.__init__ = public_api(published.__init__, value.__qualname__)
        elif isinstance(published.__new__, FunctionType) and not _takes_any(published.__new__):
            published.__new__ = staticmethod(public_api(published.__new__, value.__qualname__))
    return value


def made_by_render(cls: type[R]) -> type[R]:
    """Return a class whose ``__init__`` does not become a :func:`public_api`.

    Every render makes such an object, and a user hardly ever does.
    """
    changeable: Any = cls  # Any: the attributes of a class, as above
    _PUBLIC.add(changeable.__init__)
    return cls


_PUBLIC = WeakSet[Callable[..., object]]()
"""The functions that :func:`public_object` leaves unchanged.

Either :func:`public_api` or :func:`async_public_api` made them, or they are the ``__init__`` of a
class that is :func:`made_by_render`."""


def _takes_any(function: FunctionType) -> bool:
    """Return whether a function takes any arguments, or is already a public function."""
    if function in _PUBLIC:
        return True
    any_arguments, code = CO_VARARGS | CO_VARKEYWORDS, function.__code__
    has_defaults = len(function.__kwdefaults__ or ()) == code.co_kwonlyargcount
    return has_defaults and code.co_flags & any_arguments == any_arguments


def _was_called(error: TypeError) -> bool:
    """Return whether an error was raised inside a function, not by Python for its arguments."""
    trace = error.__traceback__
    return trace is None or trace.tb_next is not None


def async_public_api(
    function: Callable[P, Coroutine[Any, Any, R]],
) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return an ``async`` function of the public API: see :func:`public_api`.

    Its errors have the line that called it.
    """

    @wraps(function)
    async def awaited(line: Source, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            coroutine = function(*args, **kwargs)
        except TypeError as error:
            if _was_called(error):
                raise
            raise wrong_call(function, "", args, kwargs).located(line) from None
        try:
            return await coroutine
        except PromptError as error:
            end_traceback(error.located(line))
            raise

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        return awaited(author(), *args, **kwargs)

    _PUBLIC.add(call)
    return call


# The section of a library that wrote a part: its name, its version and its content.


@attrs.frozen
class LibrarySection:
    """A section of a library that was used in a prompt.

    ``name`` is its qualified name, such as ``support:refunds``. ``version`` is the version of the
    installed package, ``None`` for a library that is not installed. ``digest`` is the beginning of
    the SHA-256 of its file, in hexadecimal digits. Two sections are equal if their names are equal.

    >>> from promptdsl import LibrarySection
    >>> print(LibrarySection("support:refunds", "1.2.0", "3f2a9c1b"))
    support:refunds 1.2.0 3f2a9c1b
    """

    name: str
    version: str | None = attrs.field(default=None, eq=False)
    digest: str = attrs.field(default="", eq=False)

    @property
    def library(self) -> str:
        """The name of its library."""
        return self.name.partition(":")[0]

    def __str__(self) -> str:
        return " ".join(word for word in (self.name, self.version, self.digest) if word)


# The warning about an object that never did its work, at the author's line.


def warn_of_unfinished(what: str, fix: str, source: Source) -> None:
    """Warn that an object was discarded before it did its work.

    The warning is a ``RuntimeWarning``, which Python shows without any setting. Python itself warns
    so about a coroutine that was never awaited.
    """
    warnings.warn_explicit(f"{what}\n  {fix}", RuntimeWarning, source.file, source.line)


# The warning about content that is about to be sent incompletely, at the author's line.


class LostContentWarning(UserWarning):
    """A block, a tool or an output schema of a prompt that is not in the payload.

    ``payload()``, ``prefix()`` and the methods and functions ``to_...`` warn once for each line,
    like every warning of Python. The text is that of :class:`LossError`. ``rendered.losses`` has
    all losses. It also has those of recorded messages, for which there is no warning.

    >>> import warnings
    >>> from promptdsl import LostContentWarning, User, Video, render
    >>> rendered = render(User(Video.from_url("https://example.com/a.mp4")), model="gpt-5")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", LostContentWarning)
    ...     payload = rendered.payload()
    >>> print(caught[0].message)
    video block cannot be sent: the target takes no such block in a user message
    """


_LOCK = RLock()  # a warning may be shown by code that renders a prompt
_REGISTRIES: dict[str, dict[str | tuple[str, type[Warning], int], int]] = {}
"""By file, the registry in which Python notes which warnings were shown."""
_TEXTS: dict[tuple[Source, str], str] = {}
"""By line and kind of content, the text of its first warning: so the text never changes."""


def warn_of_lost_content(source: Source, kind: str, text: str) -> None:
    """Warn at a line of an author, by the filters of Python's warnings.

    ``kind`` is the kind of content that is lost, such as ``video``, never the content itself.
    """
    with _LOCK:
        warnings.warn_explicit(
            _TEXTS.setdefault((source, kind), text),
            LostContentWarning,
            source.file,
            source.line,
            module=_module_name(source.file),
            registry=_REGISTRIES.setdefault(source.file, {}),
        )


def _module_name(file: str) -> str:
    """Return the name of the module of a file, or the file for code without a module.

    A cell of a notebook is such code. Python shows no warning if the module is ``None``.
    """
    for name, module in list(sys.modules.items()):
        if getattr(module, "__dict__", {}).get("__file__") == file:
            return name
    return file.removesuffix(".py")
