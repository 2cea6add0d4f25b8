"""The sandbox in which templates run: Jinja's sandbox, with limits on time and size.

Read :meth:`Sandbox.put` first. Compiled code passes every output to it that is not text of the
template, so that a value stays a value.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, cast

from jinja2 import StrictUndefined, Template, TemplateSyntaxError, Undefined
from jinja2.environment import TemplateModule
from jinja2.exceptions import TemplateNotFound, UndefinedError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace, missing

from promptdsl.foundation.author_text import Trusted
from promptdsl.foundation.errors import PromptError, TemplateError
from promptdsl.foundation.escaping import Label
from promptdsl.foundation.files import note_file
from promptdsl.foundation.guards import WrittenTags, written_tags
from promptdsl.foundation.source import LibrarySection
from promptdsl.templates.compiler import (
    FILTERS,
    TESTS,
    Inserted,
    Output,
    PieceCode,
    Rope,
    advice,
    check_names,
    check_operands,
    checked_tree,
    collect,
    is_mapping,
    joined,
    names_in,
    percent,
    text,
)
from promptdsl.templates.front_matter import FrontMatter, split
from promptdsl.templates.limits import (
    DEFAULT_WHITE_SPACE,
    RUN,
    StandIn,
    TemplateFile,
    TemplateFolder,
    WhiteSpace,
    bounded,
    check_count,
    label,
)
from promptdsl.templates.sources import (
    TemplateSource,
    find,
    find_section,
    format_parts,
    read_template,
)


class UndefinedName(UndefinedError):
    """A template uses a variable that was not passed, or a name that ``container`` lacks."""

    def __init__(self, container: object, name: object, message: str | None) -> None:
        super().__init__(message)
        self.container = None if container is missing else container
        self.name = name


class NoTemplate(TemplateNotFound):
    """A template includes another template that none of ``folders`` has."""

    def __init__(self, name: str, folders: tuple[TemplateFolder, ...]) -> None:
        super().__init__(name)
        self.folders = folders


class _SectionName(str):
    """The qualified name of a section of an installed library, which a template contains."""

    __slots__ = ()


_WORDS_FOR_CONTAINERS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    *((str, "a string"), ((list, tuple), "a list"), (Mapping, "a mapping")),
)
"""The words of an error for a value in which a name is missing, by the type of the value."""


class _Undefined(StrictUndefined):
    """An undefined name: each use raises :class:`UndefinedName`, but not ``is defined``."""

    __slots__ = ()

    def __init__(
        self,
        hint: str | None = None,
        obj: object = missing,
        name: str | None = None,
        exc: object = None,
    ) -> None:
        error = partial(UndefinedName, obj, name)
        if hint is not None:
            # A hint is the complete message: then no other name is suggested.
            error = partial(UndefinedName, obj, None)
        elif obj is not missing:
            words = (word for kinds, word in _WORDS_FOR_CONTAINERS if isinstance(obj, kinds))
            container = next(words, type(obj).__name__)
            hint = f"{container} has no {name!r}"
        super().__init__(hint, obj, name, cast("type[UndefinedName]", error))


class _Template(Template):
    """A compiled template, which a rendering imports as a module only once.

    If it declares inputs and another template includes or imports it, it gets only these inputs.
    """

    names: frozenset[str] | None = None
    """The names in it; ``None`` if it has inputs, or if another template may use its variables."""
    trimmed = ""
    """Its source if the line end after a ``{% ... %}`` is left out, for a hint; otherwise empty."""
    front_matter: FrontMatter | None = None
    """Its front matter, if it declares inputs."""
    section: LibrarySection | None = None
    """The library section that it is, if any."""
    path = ""
    """The path of its file, an empty string for a text."""
    digest = ""
    """The SHA-256 of its file."""
    tags = WrittenTags()
    """The tags in its source."""

    def new_context(
        self,
        vars: dict[str, Any] | None = None,  # noqa: A002 (Jinja's names; Any: its types)
        shared: bool = False,
        locals: Mapping[str, Any] | None = None,  # noqa: A002
    ) -> Context:
        """Return the context of this template when another template includes or imports it."""
        if self.front_matter is None or RUN.get().none_is_empty:
            return super().new_context(vars, shared, locals)
        local_data = {name: data for name, data in (locals or {}).items() if data is not missing}
        return super().new_context(self.front_matter.chosen({**(vars or {}), **local_data}))

    def _get_default_module(self, ctx: Context | None = None) -> TemplateModule:
        modules = RUN.get().modules
        if self not in modules:
            modules[self] = self.make_module()
        return modules[self]


def _of_child(
    template: _Template, root: Callable[..., Iterator[Output]], context: Context
) -> Iterator[Output]:
    """Return the output of a template with inputs.

    If another template extends it, the other template gets these inputs as variables, too.
    """
    if template.front_matter is not None and context.name != template.name:
        chosen = template.front_matter.chosen(context.get_all())
        context.vars.update({name: chosen[name] for name in chosen if name not in context})
    return root(context)


def _replaced(template: _Template, write: StandIn) -> _Template:
    """Return a template that writes what replaces an overridden section.

    ``write`` gets the inputs of the section. If the section declares no inputs, it gets all
    variables that are data.
    """
    front_matter = template.front_matter

    def output(context: Context) -> Iterator[Output]:
        variables, run = context.get_all(), RUN.get()
        chosen = variables if front_matter is None else front_matter.chosen(variables)
        no_data = {
            name
            for name, value in variables.items()
            if callable(value) or isinstance(value, TemplateModule | Namespace)
        }
        inputs = {n: chosen[n] for n in variables if n in chosen and n not in no_data}
        try:
            rendered = write(inputs)
        except Exception as error:
            run.raised = error
            raise
        run.sections.update(dict.fromkeys(rendered.sections))
        run.tags.update(dict.fromkeys(rendered.tags))
        yield Rope(rendered.pieces)

    replacement = object.__new__(_Template)
    vars(replacement).update(vars(template), front_matter=None, blocks={}, root_render_func=output)
    return replacement


def _range(*ends: int) -> range:
    """Return a range; raise :class:`TemplateError` for one that is too long."""
    numbers = range(*ends)
    # len() fails for a very long range.
    check_count((numbers.stop - numbers.start) // numbers.step)
    return numbers


_GLOBALS: Mapping[str, Any] = {"range": _range}  # Any: Jinja infers the type from its defaults


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, which counts what a template makes, and separates the values in its output.

    Only the operators ``+``, ``*``, ``**`` and ``%`` are checked, because the results of other
    operators are small.
    """

    code_generator_class = PieceCode
    template_class = _Template
    concat = staticmethod(collect)
    intercepted_binops = frozenset(("+", "*", "**", "%"))

    def __init__(self, white_space: WhiteSpace, home: TemplateFolder | None) -> None:
        super().__init__(
            undefined=_Undefined,
            # An optimising compiler would compute constant expressions without limits.
            optimized=False,
            cache_size=0,
            **white_space._asdict(),
        )
        self.home = home
        self.filters = dict(FILTERS)
        self.tests = dict(TESTS)
        self.globals.update(_GLOBALS)
        del self.globals["lipsum"]
        self.compiled = lru_cache(maxsize=256)(self._compiled)

    def _compiled(self, source: TemplateFile | str) -> _Template:
        """Return a compiled template. The cache keeps it until the stamp of its file changes.

        Raises :class:`TemplateError`, or an error of Jinja, for a template with a mistake.
        """
        if isinstance(source, str):
            name, path, content, digest = None, "", source, ""
        else:
            name, path = source.name, source.path
            content, digest = read_template(source)
        declared, body = split(content, name)
        front_matter = declared or FrontMatter()
        names: frozenset[str] | None = None
        try:
            tree = checked_tree(self, body, name, front_matter.lines)
            if front_matter.inputs is None:
                names = names_in(tree)
            else:
                check_names(
                    tree, [declared_input.name for declared_input in front_matter.inputs], name
                )
            code = self.compile(tree, name, name or "<template>")
        except TemplateSyntaxError as error:
            error.filename = getattr(source, "path", None)
            raise
        except PromptError:
            raise
        except RecursionError:
            raise TemplateError(
                f"{label(name)} is nested too deep", fix="move parts of it into macros"
            ) from None
        except Exception as error:
            reason = error.msg if isinstance(error, SyntaxError) else str(error)[:200]
            raise TemplateError(
                f"{label(name)} cannot be compiled: {reason}", fix="simplify the template"
            ) from None
        compiled = self.template_class.from_code(self, code, self.make_globals(None))
        template = cast("_Template", compiled)
        template.names = names
        template.trimmed = body if self.trim_blocks else ""
        template.tags = written_tags(body)
        template.path, template.digest = path, digest
        if name is not None and self.home is not None:
            template.section = LibrarySection(name, self.home.version, digest[:8])
        if front_matter.inputs is not None:
            template.front_matter = front_matter
            template.root_render_func = cast(
                "Any", partial(_of_child, template, template.root_render_func)
            )
        return template

    def run(self, template: Template, variables: Mapping[str, object]) -> Rope:
        """Return the output of a compiled template."""
        all_variables = {**self.globals, **variables}
        context = Context(self, all_variables, template.name, template.blocks)
        return collect(template.root_render_func(context))

    def _load_template(self, name: object, globals: object) -> Template:  # noqa: A002
        """Return a template that another template includes, imports or extends."""
        run = RUN.get()
        run.step()
        if isinstance(name, Undefined):
            str(name)
        folders: tuple[TemplateFolder, ...] = ()
        if isinstance(name, _SectionName):
            file = find_section(name)
        else:
            folders = run.folders if self.home is None else (self.home,)
            file = find(name, folders)
        if file is None:
            raise NoTemplate(str(name), folders)
        template = compiled_at(file)
        if template.section is not None and template.section.name in run.stand_ins:
            return _replaced(template, run.stand_ins[template.section.name])
        return used(template)

    # Compiled code calls ``section``, ``step``, ``put`` and ``joined`` of the environment.
    section = _SectionName

    def step(self) -> bool:
        """Count a turn of a loop."""
        return RUN.get().step()

    def put(self, value: object, name: str | None = None) -> Output:
        """Return the output of ``{{ value }}``: a value, unless it is unchanged author text."""
        if type(value) is str:
            return Inserted(value, name)
        if isinstance(value, Rope):
            return value
        if isinstance(value, Label):
            pieces = value.pieces or (value,)
            return Rope(
                Inserted(text(piece), piece.label or name, piece.label is not None)
                for piece in pieces
            )
        if isinstance(value, Trusted):
            return (str.__str__(value),)
        return Inserted(text(value, name), name)

    joined = staticmethod(joined)

    def call_binop(self, context: Context, operator: str, left: object, right: object) -> object:
        """Return the result of an operator.

        Raises :class:`TemplateError` for a result that would be too large, before it is made.
        """
        if operator == "%" and isinstance(left, str):
            return bounded(percent(text(left), right))
        check_operands(operator, left, right)
        result: object = super().call_binop(context, operator, left, right)
        return bounded(result)

    def getattr(self, obj: object, attribute: str) -> object:
        """Return an item of a mapping, or an attribute of another value.

        ``data.copy`` is the item ``copy``, not the method. Only the methods that read a mapping,
        such as ``get``, are not replaced by an item of the same name.
        """
        if is_mapping(obj) and attribute not in ("get", "items", "keys", "values"):
            return obj[attribute] if attribute in obj else self.unsafe_undefined(obj, attribute)
        return super().getattr(obj, attribute)

    def unsafe_undefined(self, obj: object, attribute: str) -> Undefined:
        """Return an undefined value for an attribute that templates may not read."""
        return self.undefined(obj=obj, name=attribute)

    def wrap_str_format(self, value: object) -> None:
        """Disable ``str.format``, whose result would be trusted like the text that it formats."""

    def is_safe_attribute(self, obj: object, attr: str, value: object) -> bool:
        """Return whether a template may read an attribute."""
        is_format = isinstance(obj, str) and attr in ("format", "format_map")
        return not is_format and super().is_safe_attribute(obj, attr, value)

    def call(self, context: Context, obj: object, /, *args: object, **kwargs: object) -> object:
        """Return the result of a call. The call counts as a step, and its result has a limit."""
        RUN.get().step()
        result: object = super().call(context, obj, *args, **kwargs)
        return bounded(result)

    # Any: the arguments are those of Jinja, and are passed on unchanged.
    def call_filter(self, name: str, *args: Any, **kwargs: Any) -> object:
        """Return the result of a filter that is called by its name, as in ``map("upper")``."""
        self._check_name("filter", name, self.filters)
        return super().call_filter(name, *args, **kwargs)

    def call_test(self, name: str, *args: Any, **kwargs: Any) -> object:
        """Return the result of a test that is called by its name, as in ``select("odd")``."""
        self._check_name("test", name, self.tests)
        return super().call_test(name, *args, **kwargs)

    def _check_name(self, kind: str, name: str, names: Mapping[str, object]) -> None:
        if name not in names:
            raise TemplateError(f"there is no {kind} {name!r}", fix=advice(str(name), names))


_sandbox = lru_cache(maxsize=64)(Sandbox)


def sandbox(
    white_space: WhiteSpace = DEFAULT_WHITE_SPACE, home: TemplateFolder | None = None
) -> Sandbox:
    """Return the sandbox for these settings, which caches compiled templates.

    ``home`` is the folder of a library, whose templates can include only files of this folder by a
    short name; ``None`` for other templates.
    """
    return _sandbox(white_space, home)


def _formatted(source: str) -> _Template:
    """Return a text for ``str.format`` as a template, whose variables are its fields."""
    parts = [*format_parts(source)]

    def output(context: Context) -> Iterator[Output]:
        for text_before, name in parts:
            yield (text_before,)
            if name is not None:
                try:
                    value = sandbox().put(context[name], name)
                except TemplateError as error:
                    raise TemplateError(error.what, fix="convert it to text in Python") from None
                yield value

    template = object.__new__(_Template)
    template.name, template.blocks, template.root_render_func = None, {}, cast("Any", output)
    template.names = frozenset(name for _, name in parts if name is not None)
    return template


def compiled_at(source: TemplateFile | TemplateSource) -> _Template:
    """Return a compiled template; a text has its own settings, a file those of its folder."""
    if isinstance(source, TemplateSource):
        if source.is_format:
            return _formatted(source.value)
        return sandbox(source.white_space).compiled(source.value)
    folder = source.folder
    if folder is None:
        return sandbox().compiled(source)
    home = folder if folder.library else None
    return sandbox(folder.white_space, home).compiled(source)


def used(template: _Template) -> _Template:
    """Note that the section, the tags and the file of a template are used; return the template."""
    run = RUN.get()
    if template.path:
        note_file(template.path, template.digest)
    run.tags[template.tags] = None
    if template.section is not None:
        run.sections[template.section] = None
    return template
