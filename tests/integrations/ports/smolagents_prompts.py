"""What the agents of smolagents send, written with components.

The texts are smolagents' own: those of its YAML files, and ``words``, those that stand in its
code. Both are Jinja templates here.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

from PIL.Image import Image as Picture
from smolagents import CodeAgent, MultiStepAgent
from smolagents.memory import ActionStep, PlanningStep, TaskStep
from smolagents.utils import encode_image_base64

from promptdsl import *

SETTINGS: dict[str, object] = {**AS_WRITTEN, "lone_text": "list"}
"""Each content of smolagents is a list."""
Spoken: TypeAlias = tuple[type[User] | type[Assistant], Callable[[], object]]
"""Who speaks, and the function that writes what into the open block."""


def text(source: str, **inputs: object) -> Template:
    """Return a text of theirs; a method of a tool is a field, as objects are no variables."""
    source = re.sub(r"tool\.to_\w+\(\)", "tool.prompt", source)
    return Template.from_string(
        source, inputs, trim_blocks=False, lstrip_blocks=False, keep_trailing_newline=True
    )


def tools_of(agent: MultiStepAgent) -> dict[str, object]:
    """Return the variables that tell of the tools, in all texts that do."""
    is_code = isinstance(agent, CodeAgent)
    tools = {
        name: {"prompt": tool.to_code_prompt() if is_code else tool.to_tool_calling_prompt()}
        for name, tool in agent.tools.items()
    }
    return {"tools": tools, "managed_agents": {}}


def tool_calling_prompt(
    agent: MultiStepAgent, steps: Sequence[object], words: Mapping[str, str]
) -> Timeline:
    """Return the request for the next call of a tool."""
    with Timeline(transformation=SETTINGS) as prompt:
        for tool in agent.tools.values():
            inputs: dict[str, dict[str, Any]] = tool.inputs
            required = [name for name, schema in inputs.items() if not schema.get("nullable")]
            fields = {
                name: {**schema, "type": "string"} if schema["type"] == "any" else schema
                for name, schema in inputs.items()
            }
            schema = {"type": "object", "properties": fields, "required": required}
            Tool(name=tool.name, description=tool.description, input_schema=schema)
        source = agent.prompt_templates["system_prompt"]
        System(text(source, custom_instructions=agent.instructions, **tools_of(agent)))
        write(spoken(steps, words))
    return prompt


def code_prompt(
    agent: CodeAgent,
    steps: Sequence[object],
    words: Mapping[str, str],
    answer: Mapping[str, Any] | None = None,
) -> Timeline:
    """Return the request for the next piece of code, with the name and schema of its answer."""
    # The tags are the author's text: in variables they would be values.
    first, last = agent.code_block_tags
    tags = (
        f"{{% set code_block_opening_tag %}}{first}{{% endset %}}"
        f"{{% set code_block_closing_tag %}}{last}{{% endset %}}"
    )
    with Timeline(transformation=SETTINGS) as prompt:
        if answer is not None:
            Output(answer["schema"], name=answer["name"])
        System(
            text(
                tags + agent.prompt_templates["system_prompt"],
                custom_instructions=agent.instructions,
                authorized_imports=str(agent.authorized_imports),
                **tools_of(agent),
            )
        )
        write(spoken(steps, words))
    return prompt


def plan_prompt(agent: MultiStepAgent, task: str) -> Timeline:
    """Return the request for the first plan."""
    plan = text(agent.prompt_templates["planning"]["initial_plan"], task=task, **tools_of(agent))
    return Timeline(User(plan), transformation=SETTINGS)


def new_plan_prompt(
    agent: MultiStepAgent, steps: Sequence[object], words: Mapping[str, str], task: str
) -> Timeline:
    """Return the request for another plan: what was done, without what the model said."""
    planning = agent.prompt_templates["planning"]
    with Timeline(transformation=SETTINGS) as prompt:
        System(text(planning["update_plan_pre_messages"], task=task))
        asked = partial(text, planning["update_plan_post_messages"], **tools_of(agent))
        write([*spoken(steps, words, is_summary=True), (User, asked)])
    return prompt


def answer_prompt(
    agent: MultiStepAgent, steps: Sequence[object], words: Mapping[str, str], task: str
) -> Timeline:
    """Return the request for an answer when there are no steps left."""
    texts = agent.prompt_templates["final_answer"]
    with Timeline(transformation=SETTINGS) as prompt:
        System(texts["pre_messages"])
        asked = partial(text, texts["post_messages"], task=task)
        write([*spoken(steps, words), (User, asked)])
    return prompt


def write(turns: Iterable[Spoken]) -> None:
    """Write turns into the open block; neighbours of one role are one, a line end between texts."""
    for speaker, group in groupby(turns, itemgetter(0)):
        with speaker(separator="\n"):
            for _, write_part in group:
                write_part()


def spoken(
    steps: Sequence[object], words: Mapping[str, str], *, is_summary: bool = False
) -> Iterator[Spoken]:
    """Yield what happened so far, in the order in which it is said."""
    for step in steps:
        if isinstance(step, TaskStep):
            yield User, partial(text, words["task"], task=step.task)
            yield User, partial(pictures, step.task_images)
        elif isinstance(step, PlanningStep) and not is_summary:
            yield Assistant, partial(Text, step.plan.strip())
            yield User, partial(Text, words["proceed"])
        elif isinstance(step, ActionStep):
            yield from action(step, words, is_summary=is_summary)


def action(step: ActionStep, words: Mapping[str, str], *, is_summary: bool) -> Iterator[Spoken]:
    """Yield what the model said and called, and what came of it."""
    output = "" if is_summary else str(step.model_output or "").strip()
    calls = [call.dict() for call in step.tool_calls or ()]
    if output:
        yield Assistant, partial(Text, output)
    if calls:
        yield Assistant, partial(text, words["calls"], calls=str(calls))
    if step.observations_images:
        yield User, partial(pictures, step.observations_images)
    if step.observations is not None:
        yield User, partial(text, words["observation"], observation=step.observations)
    if step.error is not None and calls:
        error_text = words["error of a call"]
        yield User, partial(text, error_text, id=calls[0]["id"], error=str(step.error))
    elif step.error is not None:
        yield User, partial(text, words["error"], error=str(step.error))


def pictures(images: Sequence[Picture] | None) -> list[Image]:
    """Return pictures as smolagents sends them: PNG, in base64."""
    return [Image.from_base64(encode_image_base64(image), "image/png") for image in images or ()]
