"""The calls of a TARGET: its function with the arguments of ``-p`` and of ``--inputs``."""

import argparse
import ast
import linecache
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, redirect_stdout
from types import FunctionType, ModuleType
from typing import Any, TypeGuard

import attrs

import promptdsl
from promptdsl import Node, OptionError, Prompt
from promptdsl.batch import NamedInputs, inputs_of_name, named_inputs
from promptdsl.cli.arguments import Arguments, call_function, typed_arguments
from promptdsl.cli.errors import UsageError, near
from promptdsl.cli.target import loaded_module, loaded_target
from promptdsl.comparing import visible

USAGE = "--inputs is file.py:name or module:name"


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
    loaded: Any  # Any: a function or a prompt
    props: Arguments
    inputs: NamedInputs | None = None

    @property
    def arguments(self) -> Mapping[str, object]:
        """The arguments as a record has them: JSON data."""
        return self.props if self.inputs is None else self.inputs.data

    def prompt(self) -> Node | Prompt:
        """Return the prompt, or raise whatever its code raises."""
        if self.inputs is not None:
            prompt: Any = self.inputs.prompt_of(self.loaded, name=self.target)
        elif callable(self.loaded):
            prompt = call_function(self.loaded, self.props, self.target)
        else:
            prompt = self.loaded
        return prompt  # type: ignore[no-any-return]


@contextmanager
def target_calls(
    target: str, props: Arguments, arguments: argparse.Namespace
) -> Generator[list[TargetCall]]:
    """Give the calls of a TARGET: one for each of the ``--inputs``, or the one with ``props``.

    Output of the code goes to standard error. Raises :class:`UsageError` for a class, for arguments
    of what is no function and for an unknown ``--input``; and what the code of the inputs raises.
    """
    with redirect_stdout(sys.stderr), loaded_target(target) as loaded:
        yield calls_of(loaded, target, props, arguments)


def calls_of(
    loaded: object, target: str, props: Arguments, arguments: argparse.Namespace
) -> list[TargetCall]:
    """Return the calls of what a TARGET is, and raise what :func:`target_calls` raises."""
    if isinstance(loaded, type):
        raise UsageError(f"{target} is a class: name a prompt, or a function that returns one")
    if not callable(loaded) and (props or arguments.inputs):
        raise UsageError(f"{target} is not a function: it takes no parameters")
    if arguments.inputs is None:
        _refuse_input(arguments)
        return [TargetCall(target, loaded, props)]
    assert callable(loaded)
    more = typed_arguments(loaded, props, target)
    return [
        TargetCall(target, loaded, props, attrs.evolve(case, arguments={**case.arguments, **more}))
        for case in _chosen(loaded_inputs(arguments.inputs), arguments)
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
        known = [key for key, value in values.items() if _may_be_inputs(key, value, module)]
        problem = f"{location} has no name {name!r}" if name else USAGE
        raise UsageError(f"{problem}{near(name, known)}")
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
    lines = [node.lineno for node in ast.walk(tree) if _gives(node, name)]
    return f"{file}:{max(lines, default=1)}"


def _gives(node: ast.AST, name: str) -> TypeGuard[ast.Name | ast.alias]:
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
