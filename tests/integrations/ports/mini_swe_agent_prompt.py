"""What mini-swe-agent sends, written with components.

The texts are its own: those of its YAML files, which are Jinja templates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from promptdsl import *

Config: TypeAlias = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Command:
    """A command of the model, and what became of it; the id is that of its call, if it has one."""

    text: str
    output: Mapping[str, object]
    id: str | None = None


@dataclass(frozen=True)
class Step:
    """An answer of the model with its commands, or the variables that tell what is wrong in it."""

    answer: str | None = None
    commands: Sequence[Command] = ()
    problem: Mapping[str, object] | None = None


def jinja(source: str, inputs: Mapping[str, object] | None = None) -> Template:
    """Return a template with the settings that Jinja has by default."""
    return Template.from_string(source, inputs, trim_blocks=False, lstrip_blocks=False)


def mini_prompt(
    config: Config,
    task: Mapping[str, str],
    steps: Sequence[Step],
    tools: Sequence[Mapping[str, Any]] = (),
) -> Timeline:
    """Return the next request; ``task`` has the variables of its text.

    An answer in the wrong form is not sent again: only what is wrong with it is.
    """
    agent, model = config["agent"], config["model"]
    with Timeline(transformation=AS_WRITTEN) as prompt:
        for tool in tools:
            Tool(
                name=tool["name"],
                description=tool["description"],
                input_schema=tool["parameters"],
            )
        System(jinja(agent["system_template"]))
        User(jinja(agent["instance_template"], task))
        for step in steps:
            if step.problem is not None:
                User(jinja(model["format_error_template"], step.problem))
                continue
            with Assistant():
                Text(step.answer or "")
                for command in step.commands:
                    if command.id is not None:
                        ToolUse("bash", {"command": command.text}, id=command.id)
            for command in step.commands:
                result = jinja(model["observation_template"], {"output": command.output})
                if command.id is None:
                    User(result)
                else:
                    ToolMessage(command.id, result)
        CacheBreakpoint()
    return prompt
