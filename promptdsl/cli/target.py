"""The object that a TARGET names, and its calls with arguments.

In this order: loading the object from a file, a module or a library, and its calls with the
arguments of ``-p`` and of ``--inputs``.
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

PYTHON_ENDINGS = (".py", ".pyw")
"""The endings of the names of files that a command may run."""
TARGET_USAGE = "TARGET is file.py:name or module:name"
"""The advice of an error about a target."""


class _LoadedFile(ModuleType):
    """The module of a file; ``_paths_kept`` removes it from ``sys.modules``."""


@contextmanager
def loaded_target(target: str) -> Generator[object]:
    """Yield the object that TARGET names; imports work as when Python runs its file or module.

    If a file or module has only one timeline or function, the target needs no name. The same is
    true for its only component, if it has neither of them. ``support:refunds`` is a section of an
    installed library, if no module has the name of the library. Raises :class:`UsageError` for a
    missing file, module or name, and whatever the code raises.
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
    """Yield all objects that TARGET names, each by its complete target.

    A target without a name means all prompts of a file or module. These are its timelines, and the
    functions that are annotated to return a prompt; without them, all other components. A library
    without a name means all its sections. Raises what :func:`loaded_target` raises.
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
    """Return the file, module or library of a target, and the name in it; ``""`` without a name."""
    location, colon, name = target.rpartition(":")
    is_drive = len(location) == 1 and not name.isidentifier()  # as in C:\a.py
    if not colon or is_drive:
        return target, ""
    return location, name


@contextmanager
def _paths_kept() -> Generator[None]:
    """Restore ``sys.path`` at the end, and remove the modules of loaded files."""
    paths = list(sys.path)
    try:
        yield
    finally:
        sys.path[:] = paths
        for key in [key for key, module in sys.modules.items() if type(module) is _LoadedFile]:
            del sys.modules[key]


def loaded_module(location: str) -> ModuleType:
    """Return the module of a file or of a name; a file that is already loaded is not run again.

    Call it inside ``loaded_target``, which removes the modules of files at its end. Raises
    :class:`UsageError` for a missing file or module, and whatever its code raises.
    """
    return _load_file(location) if _is_file(location) else _import_module(location)


def _is_file(location: str) -> bool:
    """Return whether a location is written as the path of a file, not as the name of a module."""
    return location.endswith(".py") or "/" in location or os.sep in location


def _object_named(module: ModuleType, name: str, location: str) -> object:
    """Return the object of a name in a module; without a name, its only prompt or function.

    Raises :class:`UsageError` for an unknown name, and if there is more than one such prompt.
    """
    values = vars(module)
    if name in values:
        return values[name]
    prompt_names = sorted(key for key, value in values.items() if _is_prompt(key, value, module))
    if name:
        function_name, bracket, _ = name.partition("(")
        if bracket and function_name in prompt_names:
            problem = f"{name} is a call"
            raise UsageError(f"{problem}: write {function_name}, and arguments as -p KEY=VALUE")
        raise UsageError(f"{location} has no name {name!r}{suggestion(name, prompt_names)}")
    prompts = _unnamed_prompts([values[key] for key in prompt_names])
    if len(prompts) != 1:
        names = ", ".join(prompt_names) or "no prompt and no function"
        raise UsageError(f"{TARGET_USAGE}; {location} has {names}")
    return prompts[0]


def _prompts_in(module: ModuleType) -> dict[str, object]:
    """Return the prompts of a module by name, in the order of its code."""
    prompts = {
        name: value for name, value in vars(module).items() if _is_prompt(name, value, module)
    }
    # A function without this annotation may be a helper, which returns something else.
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
    """Return the prompts that a target without a name may mean.

    These are the timelines and functions; without them, all values. Next to a timeline, a turn or a
    section is probably a part of it, and a component writes such a part.
    """
    distinct = list({id(value): value for value in values}.values())
    prompts: list[object] = [
        value for value in distinct if isinstance(value, Timeline | FunctionType)
    ]
    return prompts or distinct


def _is_library(name: str) -> bool:
    """Return whether a name is that of an installed library, and not of a file or module.

    A module is looked for, but not imported.
    """
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
    """Run a file as a module with its name, and return the module; its folder is first in sys.path.

    A file that is already loaded is not run again. Raises :class:`UsageError` for a missing file,
    and for a file that is not Python.
    """
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
    # If another module has this name, add an underscore.
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
    # The source is compiled here: so errors show the path as typed, and no cache file is written.
    exec(loader.source_to_code(source, path), module.__dict__)
    return module


def _refuse_other_file(path: str) -> None:
    """Raise :class:`UsageError` for a file that is not Python: it must never be run."""
    if path.endswith(PYTHON_ENDINGS):
        return
    from promptdsl.cli.logs import described_file

    problem = f"{path} is not a Python file"
    if kind := described_file(path):
        problem += f", but {kind}"
    raise UsageError(f"{problem}\n  {TARGET_USAGE}")


def _is_installed(name: str, full: str) -> bool:
    """Return whether this is the name of an importable module other than the file ``full``."""
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return False
    if spec is None or spec.origin is None:
        return False
    return os.path.realpath(spec.origin) != os.path.realpath(full)


def _import_module(name: str) -> ModuleType:
    """Return a module of the current folder, or an installed module, after importing it.

    The current folder becomes the first in ``sys.path``. Raises :class:`UsageError` for a name that
    is not valid, and for a missing module.
    """
    if "." in name and os.path.isfile(name):
        _refuse_other_file(name)
    if not all(part.isidentifier() for part in name.split(".")):
        raise UsageError(f"{TARGET_USAGE}, not {name!r}")
    sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # If the missing module is another one, the code of this module has a wrong import.
        if not f"{name}.".startswith(f"{error.name}."):
            raise
        raise UsageError(f"no module {error.name!r} is in this folder or installed") from None


def _is_prompt(name: str, value: object, module: ModuleType) -> bool:
    """Return whether a value may be a target: a component, or a function the module defines."""
    if name.startswith("_") or isinstance(value, type):
        return False
    if callable(value):
        return getattr(value, "__module__", None) == module.__name__
    is_imported = getattr(promptdsl, name, None) is value  # from promptdsl import *
    return type(value).__module__.startswith("promptdsl.") and not is_imported


# The calls of a TARGET: its function, with the arguments of ``-p`` and of ``--inputs``.

INPUTS_USAGE = "--inputs is file.py:name or module:name"
"""The problem of ``--inputs`` without a name."""


def add_inputs(add_argument: Callable[..., object]) -> None:
    """Add the options ``--inputs`` and ``--input`` to a parser or to a group of options."""
    add_argument(
        "--inputs",
        metavar="TARGET",
        help="arguments of the function, defined in code: file.py:name",
    )
    add_argument("--input", metavar="NAME", help="which of the --inputs to use")


@attrs.frozen
class TargetCall:
    """A call of the function that a TARGET names, or the prompt if TARGET names a prompt.

    ``props`` are the arguments of ``-p`` and ``--props``. ``inputs`` are those of ``--inputs``, in
    which ``props`` have replaced the arguments of the same names.
    """

    target: str
    loaded_object: Any  # Any: a function or a prompt
    props: Arguments
    inputs: NamedInputs | None = None

    @property
    def arguments(self) -> Mapping[str, object]:
        """The arguments as JSON data, for a record."""
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
    """Yield the calls of a TARGET: one for each of the ``--inputs``, else one with ``props``.

    Output of the code goes to standard error. Raises :class:`UsageError` for a class, for arguments
    of a prompt that is not a function, and for an unknown ``--input``. Also raises whatever the
    code raises.
    """
    with redirect_stdout(sys.stderr), loaded_target(target) as loaded_object:
        yield calls_of(loaded_object, target, props, arguments)


def calls_of(
    loaded_object: object, target: str, props: Arguments, arguments: argparse.Namespace
) -> list[TargetCall]:
    """Return the calls of the object of a TARGET, which run later.

    Raises what :func:`target_calls` raises.
    """
    if isinstance(loaded_object, type):
        raise UsageError(f"{target} is a class: name a prompt, or a function that returns one")
    if not callable(loaded_object) and (props or arguments.inputs):
        raise UsageError(f"{target} is not a function: it takes no arguments")
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
        for inputs in _chosen_inputs(loaded_inputs(arguments.inputs), arguments)
    ]


@contextmanager
def target_call(
    target: str, props: Arguments, arguments: argparse.Namespace
) -> Generator[TargetCall]:
    """Yield the call of a TARGET. Raises :class:`UsageError` if ``--input`` must choose inputs."""
    with target_calls(target, props, arguments) as calls:
        if len(calls) != 1:
            names = ", ".join(
                visible(call.inputs.name, one_line=True) for call in calls if call.inputs
            )
            problem = f"{arguments.inputs} has several inputs"
            raise UsageError(f"{problem}: choose one with --input NAME: {names}")
        yield calls[0]


def refuse_inputs(arguments: argparse.Namespace, target: str) -> None:
    """Raise :class:`UsageError` for ``--inputs`` or ``--input`` if the target is not code."""
    if arguments.inputs is not None:
        raise UsageError(f"--inputs are arguments of a function: {target} is not a function")
    _refuse_input(arguments)


def _refuse_input(arguments: argparse.Namespace) -> None:
    if arguments.input is not None:
        raise UsageError("--input chooses one of the --inputs: write --inputs TARGET, too")


def loaded_inputs(target: str) -> tuple[NamedInputs, ...]:
    """Return the inputs of a mapping or a function in a file or module.

    Call it inside ``loaded_target``: then a file with both the target and its inputs is run once.
    Raises :class:`UsageError` for a missing file or name, and whatever the code raises.
    """
    location, colon, name = target.rpartition(":")
    if not colon or not name.isidentifier():  # without a name, the error lists candidates
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
    """Return whether a value of a module may be inputs: a mapping, or a function it defines."""
    if name.startswith("_"):
        return False
    if isinstance(value, FunctionType):
        return value.__module__ == module.__name__
    return isinstance(value, Mapping) and getattr(promptdsl, name, None) is not value


def _line_of_name(module: ModuleType, name: str) -> str:
    """Return the last line that binds a name in a module, as ``file:line``; else its first line."""
    file = getattr(module, "__file__", None) or module.__name__
    tree = ast.parse("".join(linecache.getlines(file)))
    lines = [node.lineno for node in ast.walk(tree) if _binds(node, name)]
    return f"{file}:{max(lines, default=1)}"


def _binds(node: ast.AST, name: str) -> TypeGuard[ast.Name | ast.alias]:
    """Return whether a node of code binds a name: in an assignment or an import."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id == name
    return isinstance(node, ast.alias) and (node.asname or node.name) == name


def _chosen_inputs(
    all_inputs: tuple[NamedInputs, ...], arguments: argparse.Namespace
) -> tuple[NamedInputs, ...]:
    """Return the inputs that ``--input`` names; without this option, all."""
    if arguments.input is None:
        return all_inputs
    try:
        return (inputs_of_name(all_inputs, arguments.input),)
    except OptionError as error:
        raise UsageError(f"{arguments.inputs}: {error.what}; {error.fix}") from None
