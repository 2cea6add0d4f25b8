"""The program that ``promptdsl preview`` starts to run the code of prompts in a process of its own.

Read ``loaded_prompts`` first.
"""

import argparse
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from typing import Any

from promptdsl import PromptError
from promptdsl.cli.commands import Arguments, read_arguments
from promptdsl.cli.options import render_options
from promptdsl.cli.output import UsageError
from promptdsl.cli.page import file_prompts, prompt_of_call
from promptdsl.cli.preview import files_of
from promptdsl.cli.target import calls_of, loaded_targets
from promptdsl.page import PagePrompt
from promptdsl.preview import LoadedPrompts, run_process


@contextmanager
def loaded_prompts(data: dict[str, Any]) -> Generator[LoadedPrompts]:
    """Yield the prompts that a command line names; a prompt that fails has its error instead.

    ``data`` are the arguments of the command line, by name.
    """
    arguments = argparse.Namespace(**data)
    with ExitStack() as stack, redirect_stdout(sys.stderr):
        try:
            props = read_arguments(arguments.pairs, arguments.props)
            options = render_options(arguments)
        except UsageError as error:
            yield LoadedPrompts([_failed_prompt(arguments.targets[0], error)])
            return
        prompts = [
            prompt
            for target in arguments.targets
            for prompt in _prompts(target, props, arguments, stack)
        ]
        yield LoadedPrompts(prompts, options, arguments.payloads, arguments.price)


def _prompts(
    target: str, props: Arguments, arguments: argparse.Namespace, stack: ExitStack
) -> Iterator[PagePrompt]:
    """Yield the prompts that a target names; for a folder, those of all its files."""
    for file in files_of(target):
        try:
            yield from _prompts_in(file, props, arguments, stack)
        except (Exception, SystemExit) as error:
            yield _failed_prompt(file, error)


def _prompts_in(
    target: str, props: Arguments, arguments: argparse.Namespace, stack: ExitStack
) -> Sequence[PagePrompt]:
    """Return the prompts of a file or of code; ``stack`` keeps the code loaded."""
    prompts_and_notes = file_prompts(target, arguments)
    if prompts_and_notes is not None:
        return prompts_and_notes[0]
    prompts: list[PagePrompt] = []
    for name, loaded_object in stack.enter_context(loaded_targets(target)).items():
        try:
            calls = calls_of(loaded_object, name, props, arguments)
            prompts += [prompt_of_call(call) for call in calls]
        except (Exception, SystemExit) as error:
            prompts.append(_failed_prompt(name, error))
    return prompts


def _failed_prompt(name: str, error: BaseException) -> PagePrompt:
    """Return a prompt that shows an error."""
    if isinstance(error, UsageError):
        # The text of this error has the problem in its first line, then the advice.
        what, _, fix = str(error).partition("\n")
        error = PromptError(what, fix=fix.strip())
    return PagePrompt(name, (error,))


if __name__ == "__main__":
    run_process(loaded_prompts)
