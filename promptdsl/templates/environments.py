"""The two environments templates run in: one for prompts, one for the texts of events."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache, partial
from typing import Any, cast

from jinja2 import StrictUndefined, Template, TemplateSyntaxError, Undefined
from jinja2.environment import TemplateModule
from jinja2.exceptions import TemplateNotFound, UndefinedError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Cycler, Joiner, Namespace, missing

from promptdsl.foundation.errors import PromptError, TemplateError
from promptdsl.foundation.json import ABSENT
from promptdsl.foundation.trusted import Trusted
from promptdsl.templates import operators
from promptdsl.templates.allowed import read_attribute
from promptdsl.templates.compiler import BoundedCode, EventCode, PieceCode, advice
from promptdsl.templates.filters import FILTERS, TESTS
from promptdsl.templates.folders import TemplateFile, find, read_template
from promptdsl.templates.limits import RUN, bounded, check_count
from promptdsl.templates.pieces import Inserted, Rope, rope
from promptdsl.templates.source import check_name, label


class UndefinedName(UndefinedError):
    """A template asks for what it is not given: a variable, or something in ``holder``."""

    def __init__(self, holder: object, name: object, message: str | None) -> None:
        super().__init__(message)
        self.holder = None if holder is missing else holder
        self.name = name


class _Undefined(StrictUndefined):
    __slots__ = ()

    def __init__(
        self,
        hint: str | None = None,
        obj: Any = missing,
        name: str | None = None,
        exc: Any = UndefinedName,
    ) -> None:
        # A hint says all there is to say, and what has no name is not looked for among the known.
        error = partial(UndefinedName, obj, name if hint is None else None)
        if hint is None and obj is not missing:
            hint = f"{_called(obj)} has no {name!r}"
        super().__init__(hint, obj, name, cast("Any", error))


def _called(value: object) -> str:
    if isinstance(value, str):
        return "a string"
    if isinstance(value, list | tuple):
        return "a list"
    return "a mapping" if isinstance(value, Mapping) else type(value).__name__


class _Template(Template):
    """A template that is a module once in a rendering, and never longer than that."""

    def _get_default_module(self, ctx: Context | None = None) -> TemplateModule:
        modules = RUN.get().modules
        if self not in modules:
            modules[self] = self.make_module()
        found: TemplateModule = modules[self]
        return found


def _range(*ends: int) -> range:
    made = range(*ends)
    # The length of a range beyond what a machine counts is an error of its own.
    check_count((made.stop - made.start) // made.step)
    return made


def _dict(*pairs: Any, **named: Any) -> dict[Any, Any]:
    return dict(*pairs, **named)


_GLOBALS: Mapping[str, Any] = {
    "cycler": Cycler,
    "dict": _dict,
    "joiner": Joiner,
    "namespace": Namespace,
    "range": _range,
}


class Bounded(ImmutableSandboxedEnvironment):
    """What templates run in: what they may use is listed, and what they make is bounded."""

    code_generator_class = BoundedCode
    template_class = _Template
    intercepted_binops = frozenset(("+", "-", "*", "/", "//", "%", "**"))

    def __init__(self) -> None:
        super().__init__(
            undefined=_Undefined,
            # Without this, constant expressions are worked out as they are compiled, unbounded.
            optimized=False,
            cache_size=0,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.filters = dict(FILTERS)
        self.tests = dict(TESTS)
        self.globals = dict(_GLOBALS)
        self.compiled = lru_cache(maxsize=256)(self._compiled)

    def _compiled(self, source: TemplateFile | str) -> Template:
        """Return a template, compiled once for as long as its file has the same stamp."""
        name = None if isinstance(source, str) else source.name
        text = source if isinstance(source, str) else read_template(source)
        try:
            code = self.compile(text, name, name or "<template>")
        except (TemplateSyntaxError, PromptError):
            raise
        except RecursionError:
            raise TemplateError(
                f"{label(name)} is nested too deep", fix="move parts of it into macros"
            ) from None
        except Exception as error:
            why = error.msg if isinstance(error, SyntaxError) else str(error)[:200]
            raise TemplateError(
                f"{label(name)} cannot be compiled: {why}", fix="look for what is unusual in it"
            ) from None
        return self.template_class.from_code(self, code, self.make_globals(None))

    def started(self, template: Template, variables: Mapping[str, Any]) -> Iterator[Any]:
        """Return what a template yields for these variables."""
        known = {**self.globals, **variables}
        return template.root_render_func(Context(self, known, template.name, template.blocks))

    def _load_template(self, name: Any, globals: Any) -> Template:  # noqa: A002
        run = RUN.get()
        run.step()
        if isinstance(name, Undefined):
            str(name)
        file = find(name, run.folders)
        if file is None:
            raise TemplateNotFound(check_name(name))
        return self.compiled(file)

    def step(self) -> bool:
        """Count a step of the rendering."""
        return RUN.get().step()

    def text(self, value: Any) -> str:
        """Return a value as text."""
        return operators.text(value)

    def joined(self, values: Iterable[Any]) -> str:
        """Return the texts of values as one."""
        return operators.joined(map(self.text, values))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Return what an operator makes of two values."""
        return operators.binary(operator, left, right)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return what a dot asks for: an attribute that is listed, else what a mapping holds."""
        found = read_attribute(obj, attribute)
        if found is not ABSENT:
            return found
        try:
            return obj[attribute]
        except (TypeError, LookupError):
            return self.undefined(obj=obj, name=attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Return what brackets ask for: an item, else an attribute that is listed."""
        try:
            return obj[argument]
        except (TypeError, LookupError):
            found = read_attribute(obj, argument) if isinstance(argument, str) else ABSENT
            return self.undefined(obj=obj, name=argument) if found is ABSENT else found

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        """Return what a call gives back; it is a step."""
        RUN.get().step()
        return bounded(super().call(__context, __obj, *args, **kwargs))

    def call_filter(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Return what a filter makes that was asked for by name, as in ``map("upper")``."""
        self._check("filter", name, self.filters)
        return super().call_filter(name, *args, **kwargs)

    def call_test(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Return what a test says that was asked for by name, as in ``select("odd")``."""
        self._check("test", name, self.tests)
        return super().call_test(name, *args, **kwargs)

    def _check(self, kind: str, name: Any, known: Mapping[str, Any]) -> None:
        if name not in known:
            raise TemplateError(f"there is no {kind} {name!r}", fix=advice(str(name), known))


class Pieces(Bounded):
    """Where prompts are rendered: what comes out knows which of it is a value."""

    code_generator_class = PieceCode
    concat = staticmethod(rope)

    def put(self, value: Any, name: str | None = None) -> Any:
        """Return what ``{{ value }}`` puts out: a value, unless it is marked and unchanged."""
        if type(value) is str:
            return Inserted(value, name)
        if isinstance(value, Rope):
            return value
        if isinstance(value, Trusted):
            return (str.__str__(value),)
        return Inserted(operators.text(value, name), name)


class Events(Bounded):
    """Where the texts of events are rendered: nothing stands for a field that is ``None``."""

    code_generator_class = EventCode

    def text(self, value: Any) -> str:
        """Return a field as text."""
        if type(value) is str:
            return value
        return "" if value is None else operators.text(value)

    @staticmethod
    def concat(texts: Iterable[str]) -> str:
        """Return texts as one, which is bounded."""
        return operators.joined(texts)


@cache
def piece_environment() -> Pieces:
    """Return the environment of prompts."""
    return Pieces()


@cache
def event_environment() -> Events:
    """Return the environment of event texts."""
    return Events()
