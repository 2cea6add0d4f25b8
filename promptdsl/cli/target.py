"""The object that TARGET names, and the calls of it.

Loading it from a file, a module or a library comes first; then its arguments, of ``-p`` and of
``--inputs``.
"""

import argparse
import ast
import importlib
import linecache
import os
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from importlib.machinery import PathFinder, SourceFileLoader
from importlib.util import find_spec
from types import FunctionType, ModuleType
from typing import Any, TypeGuard

import attrs

import promptdsl
from promptdsl import Library, Node, OptionError, Prompt, Timeline
from promptdsl.batch import NamedInputs, inputs_of_name, named_inputs
from promptdsl.cli.commands import Arguments, call_function, typed_arguments
from promptdsl.cli.libraries import loaded_library, loaded_section, section_prompt
from promptdsl.cli.output import UsageError, suggestion
from promptdsl.comparing import visible

# Loading the object that TARGET names: in a file or in a module, or a section of a library.

PYTHON = (".py", ".pyw")
"""The ends of the names of files that are run."""
USAGE = "TARGET is file.py:name or module:name"


class _LoadedFile(ModuleType):
    """The module of a file; it is removed from ``sys.modules`` after the command."""


@contextmanager
def loaded_target(target: str) -> Generator[object]:
    """Give the object that TARGET names; imports work as when its file or module is run.

    The only prompt of a file or module, a timeline or a function, needs no name. Without such a
    prompt, its only turn or section needs no name. ``support:refunds`` is a section of an installed
    library, if no module has the name of the library. Raises :class:`UsageError` for a missing
    file, module or name, and whatever the code raises.
    """
    location, name = split_target(target)
    with _paths_kept():
        if _is_library(location):
            with loaded_section(target) as (library, section):
                yield section_prompt(library, section)
            return
        yield _object_named(loaded_module(location), name, location)


@contextmanager
def loaded_targets(target: str) -> Generator[dict[str, object]]:
    """Give all objects that TARGET names, by the target of each.

    A file or module without a name has all its prompts: timelines, other components if there is no
    timeline, and functions that return a prompt. A library has all its sections. Raises what
    :func:`loaded_target` raises.
    """
    location, name = split_target(target)
    with _paths_kept():
        if name:
            with loaded_target(target) as loaded_object:
                yield {target: loaded_object}
        elif _is_library(location):
            with loaded_library(location) as library:
                names = [*library.sections]
                yield {f"{location}:{name}": section_prompt(library, name) for name in names}
        else:
            module = loaded_module(location)
            prompts = _prompts_in(module) or {"": _object_named(module, "", location)}
            yield {f"{location}:{name}".rstrip(":"): value for name, value in prompts.items()}


def split_target(target: str) -> tuple[str, str]:
    """Return the file, module or library of a target, and the name in it, which may be empty."""
    location, colon, name = target.rpartition(":")
    if not colon or (len(location) == 1 and not name.isidentifier()):  # a drive, as in C:\a.py
        return target, ""
    return location, name


@contextmanager
def _paths_kept() -> Generator[None]:
    """Remove what loading a target adds to the paths and modules of the interpreter."""
    paths = list(sys.path)
    try:
        yield
    finally:
        sys.path[:] = paths
        for key in [key for key, module in sys.modules.items() if type(module) is _LoadedFile]:
            del sys.modules[key]


def loaded_module(location: str) -> ModuleType:
    """Return the module of a file or of a name; a file that is loaded already is not run again.

    Call it where a target is loaded: the module of a file is removed at its end.
    """
    return _load_file(location) if _is_file(location) else _import_module(location)


def _is_file(location: str) -> bool:
    return location.endswith(".py") or "/" in location or os.sep in location


def _object_named(module: ModuleType, name: str, location: str) -> object:
    """Return the value of a name in a module; without a name, its only prompt or function."""
    values = vars(module)
    if name in values:
        return values[name]
    prompt_names = sorted(key for key, value in values.items() if _is_prompt(key, value, module))
    if name:
        function_name, bracket, _ = name.partition("(")
        if bracket and function_name in prompt_names:
            raise UsageError(
                f"{name} is a call: write {function_name}, and its arguments as -p KEY=VALUE"
            )
        raise UsageError(f"{location} has no name {name!r}{suggestion(name, prompt_names)}")
    prompts = _unnamed_prompts([values[key] for key in prompt_names])
    if len(prompts) != 1:
        names = ", ".join(prompt_names) or "none that is a prompt or a function"
        raise UsageError(f"{USAGE}: name one; in {location} there is {names}")
    return prompts[0]


def _prompts_in(module: ModuleType) -> dict[str, object]:
    """Return the prompts of a module by name, in the order of its code."""
    prompts = {
        name: value for name, value in vars(module).items() if _is_prompt(name, value, module)
    }
    candidates = [
        value for value in prompts.values() if not callable(value) or _returns_prompt(value)
    ]
    prompt_ids = [*map(id, _unnamed_prompts(candidates))]
    return {name: value for name, value in prompts.items() if id(value) in prompt_ids}


def _returns_prompt(function: Callable[..., object]) -> bool:
    """Return whether a function is annotated to return a prompt."""
    returned = getattr(function, "__annotations__", {}).get("return")
    cls = getattr(promptdsl, returned, None) if isinstance(returned, str) else returned
    return isinstance(cls, type) and issubclass(cls, Node | Prompt)


def _unnamed_prompts(values: Sequence[object]) -> list[object]:
    """Return what a target without a name may mean: timelines and functions, else all values.

    A turn or a section next to a timeline is a part of it, and a component writes such parts.
    """
    distinct = list({id(value): value for value in values}.values())
    prompts: list[object] = [
        value for value in distinct if isinstance(value, Timeline | FunctionType)
    ]
    return prompts or distinct


def _is_library(name: str) -> bool:
    """Return whether a name belongs to an installed library, and to no file or module."""
    if _is_file(name) or all(library.name != name for library in Library.installed()):
        return False
    paths: Sequence[str] | None = [os.getcwd(), *sys.path]
    for part in name.split("."):
        spec = PathFinder.find_spec(part, paths)
        if spec is None:
            return True
        paths = spec.submodule_search_locations or []
    return False


def _load_file(path: str) -> ModuleType:
    """Run a file as a module with its name; imports look into its folder first."""
    if not os.path.isfile(path):
        folder, name = os.path.split(path)
        try:
            files = [file for file in os.listdir(folder or ".") if file.endswith(".py")]
        except OSError:
            files = []
        raise UsageError(f"no such file: {path}{suggestion(name, files)}")
    _refuse_other_file(path)
    full = os.path.abspath(path)
    for loaded_file in sys.modules.values():
        if type(loaded_file) is _LoadedFile and loaded_file.__file__ == full:
            return loaded_file
    # If another module has this name, an underscore is added.
    name = os.path.splitext(os.path.basename(full))[0]
    while name in sys.modules or _is_installed(name, full):
        name += "_"
    module = _LoadedFile(name)
    loader = SourceFileLoader(name, full)
    module.__file__, module.__loader__ = full, loader
    try:
        source = loader.get_data(full)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    sys.path.insert(0, os.path.dirname(full))
    sys.modules[name] = module
    # It is compiled here, so that errors show the path as written, and no cache file is made.
    exec(loader.source_to_code(source, path), module.__dict__)
    return module


def _refuse_other_file(path: str) -> None:
    """Raise :class:`UsageError` for a file that is no Python file: its content is never run."""
    if path.endswith(PYTHON):
        return
    from promptdsl.cli.logs import described_file

    problem = f"{path} is no Python file"
    if kind := described_file(path):
        problem += f", but {kind}"
    raise UsageError(f"{problem}\n  {USAGE}")


def _is_installed(name: str, full: str) -> bool:
    """Return whether an importable module other than the file itself has this name."""
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return False
    if spec is None or spec.origin is None:
        return False
    return os.path.realpath(spec.origin) != os.path.realpath(full)


def _import_module(name: str) -> ModuleType:
    """Import a module from the current folder, or an installed module."""
    if "." in name and os.path.isfile(name):
        _refuse_other_file(name)
    if not all(part.isidentifier() for part in name.split(".")):
        raise UsageError(f"{USAGE}, not {name!r}")
    sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if not f"{name}.".startswith(f"{error.name}."):
            raise
        raise UsageError(f"no module named {error.name!r}, here or installed") from None


def _is_prompt(name: str, value: object, module: ModuleType) -> bool:
    """Return whether a value may be a target: a component, or a function of the module itself."""
    if name.startswith("_") or isinstance(value, type):
        return False
    if callable(value):
        return getattr(value, "__module__", None) == module.__name__
    is_imported = getattr(promptdsl, name, None) is value  # from promptdsl import *
    return type(value).__module__.startswith("promptdsl.") and not is_imported


# The calls of a TARGET: its function with the arguments of ``-p`` and of ``--inputs``.

INPUTS_USAGE = "--inputs is file.py:name or module:name"


def add_inputs(add_argument: Callable[..., object]) -> None:
    """Add the options ``--inputs`` and ``--input`` to a parser or to a group of a parser."""
    add_argument(
        "--inputs",
        metavar="TARGET",
        help="named arguments of the function, in code: file.py:name",
    )
    add_argument("--input", metavar="NAME", help="the name of those to use")


@attrs.frozen
class TargetCall:
    """A call of the function that a TARGET names; of a prompt without a function, the prompt.

    ``props`` are the arguments of ``-p`` and ``--props``; ``inputs`` has them, too.
    """

    target: str
    loaded_object: Any  # Any: a function or a prompt
    props: Arguments
    inputs: NamedInputs | None = None

    @property
    def arguments(self) -> Mapping[str, object]:
        """The arguments as a record has them: JSON data."""
        return self.props if self.inputs is None else self.inputs.data

    def prompt(self) -> Node | Prompt:
        """Return the prompt, or raise whatever its code raises."""
        if self.inputs is not None:
            prompt: Any = self.inputs.prompt_of(self.loaded_object, name=self.target)
        elif callable(self.loaded_object):
            prompt = call_function(self.loaded_object, self.props, self.target)
        else:
            prompt = self.loaded_object
        return prompt  # type: ignore[no-any-return]


@contextmanager
def target_calls(
    target: str, props: Arguments, arguments: argparse.Namespace
) -> Generator[list[TargetCall]]:
    """Give the calls of a TARGET: one for each of the ``--inputs``, or the one with ``props``.

    Output of the code goes to standard error. Raises :class:`UsageError` for a class, for arguments
    of what is no function and for an unknown ``--input``; and what the code of the inputs raises.
    """
    with redirect_stdout(sys.stderr), loaded_target(target) as loaded_object:
        yield calls_of(loaded_object, target, props, arguments)


def calls_of(
    loaded_object: object, target: str, props: Arguments, arguments: argparse.Namespace
) -> list[TargetCall]:
    """Return the calls of what a TARGET is, and raise what :func:`target_calls` raises."""
    if isinstance(loaded_object, type):
        raise UsageError(f"{target} is a class: name a prompt, or a function that returns one")
    if not callable(loaded_object) and (props or arguments.inputs):
        raise UsageError(f"{target} is not a function: it takes no parameters")
    if arguments.inputs is None:
        _refuse_input(arguments)
        return [TargetCall(target, loaded_object, props)]
    assert callable(loaded_object)
    typed_props = typed_arguments(loaded_object, props, target)
    return [
        TargetCall(
            target,
            loaded_object,
            props,
            attrs.evolve(inputs, arguments={**inputs.arguments, **typed_props}),
        )
        for inputs in _chosen(loaded_inputs(arguments.inputs), arguments)
    ]


@contextmanager
def target_call(
    target: str, props: Arguments, arguments: argparse.Namespace
) -> Generator[TargetCall]:
    """Give the call of a TARGET; of several ``--inputs``, ``--input`` has to name one."""
    with target_calls(target, props, arguments) as calls:
        if len(calls) != 1:
            names = ", ".join(
                visible(call.inputs.name, one_line=True) for call in calls if call.inputs
            )
            raise UsageError(f"{arguments.inputs} has several inputs: write --input NAME: {names}")
        yield calls[0]


def refuse_inputs(arguments: argparse.Namespace, target: str) -> None:
    """Raise :class:`UsageError` if ``--inputs`` are to be the arguments of a file or a log."""
    if arguments.inputs is not None:
        raise UsageError(f"--inputs are arguments of a function, and {target} is none")
    _refuse_input(arguments)


def _refuse_input(arguments: argparse.Namespace) -> None:
    if arguments.input is not None:
        raise UsageError("--input names one of the --inputs: write --inputs TARGET, too")


def loaded_inputs(target: str) -> tuple[NamedInputs, ...]:
    """Return the inputs that a function or a mapping in a file or module has.

    Call it where a TARGET is loaded: a file that both name is run once.
    """
    location, colon, name = target.rpartition(":")
    if not colon or not name.isidentifier():
        location, name = target, ""
    module = loaded_module(location)
    values = vars(module)
    if name not in values:
        candidates = [key for key, value in values.items() if _may_be_inputs(key, value, module)]
        problem = f"{location} has no name {name!r}" if name else INPUTS_USAGE
        raise UsageError(f"{problem}{suggestion(name, candidates)}")
    at = _line_of_name(module, name)
    return named_inputs(values[name], name=f"the inputs {target}", at=at)


def _may_be_inputs(name: str, value: object, module: ModuleType) -> bool:
    """Return whether a value of a module may be inputs: a mapping, or a function of its own."""
    if name.startswith("_"):
        return False
    if isinstance(value, FunctionType):
        return value.__module__ == module.__name__
    return isinstance(value, Mapping) and getattr(promptdsl, name, None) is not value


def _line_of_name(module: ModuleType, name: str) -> str:
    """Return the last line that gives a module a name, ``file:line``; without one, the first."""
    file = getattr(module, "__file__", None) or module.__name__
    tree = ast.parse("".join(linecache.getlines(file)))
    lines = [node.lineno for node in ast.walk(tree) if _binds(node, name)]
    return f"{file}:{max(lines, default=1)}"


def _binds(node: ast.AST, name: str) -> TypeGuard[ast.Name | ast.alias]:
    """Return whether a part of a module gives a name: to a value, or to what it imports."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id == name
    return isinstance(node, ast.alias) and (node.asname or node.name) == name


def _chosen(
    cases: tuple[NamedInputs, ...], arguments: argparse.Namespace
) -> tuple[NamedInputs, ...]:
    """Return the inputs that ``--input`` names; without it, all."""
    if arguments.input is None:
        return cases
    try:
        return (inputs_of_name(cases, arguments.input),)
    except OptionError as error:
        raise UsageError(f"{arguments.inputs}: {error.what}; {error.fix}") from None
