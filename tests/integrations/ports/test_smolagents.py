"""What smolagents sends is what the same prompt sends that is written with components.

Its agents run with replies that are written here, and each request that they make is compared. A
value with Markdown or tags in instructions differs, and so do merged turns for Anthropic.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

pytest.importorskip("smolagents", reason="needs smolagents")
pytest.importorskip("openai", reason="needs openai")

from openai.types.chat import ChatCompletion
from PIL import Image
from smolagents import (
    CodeAgent,
    LiteLLMModel,
    MultiStepAgent,
    OpenAIServerModel,
    ToolCallingAgent,
    tool,
)
from smolagents.memory import ActionStep, PlanningStep, TaskStep, ToolCall

from promptdsl import Rendered, Timeline, render
from tests.folding import failures, unequal
from tests.integrations.ports import smolagents_prompts as port
from tests.integrations.ports.requests import (
    CLAUDE,
    as_json,
    of_anthropic,
    of_litellm,
    through_litellm,
)
from tests.renders import reported

pytestmark = [pytest.mark.sdk("smolagents", "openai", "litellm"), pytest.mark.slow]

GPT = "gpt-4o"
TASK = "Fix `a < b && c`:\n<task>No. 1</task> </task>\n## Urgent\n<end_plan>"
TICKED = "Run:\n```\n</task>\n```"
PICTURE = Image.new("RGB", (2, 2), "red")


@tool
def search(query: str, limit: int = 3) -> str:
    """Search the pages & <tags>.

    Args:
        query: What is looked for, such as "a -> b".
        limit: How many pages.
    """
    if query == "nothing":
        raise ValueError("no <page> & no </page>")
    return f"# Found\n<b>{query}</b> && {limit} </task>\n" + "A long page. " * 400


class Request(NamedTuple):
    """A request of an agent, and the steps that it had made by then."""

    sent: dict[str, Any]
    steps: list[Any]

    @property
    def params(self) -> dict[str, Any]:
        """Return what is compared: the model, and where it stops, are no part of a prompt."""
        return {name: self.sent[name] for name in self.sent.keys() - {"model", "stop"}}


class Client:
    """The client of a model, for OpenAI and for LiteLLM, which gives replies and notes requests."""

    def __init__(self, *replies: tuple[str | None, Sequence[tuple[str, str, Any]]]) -> None:
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=self.completion))
        self.replies: Iterator[Any] = iter(replies)
        self.requests: list[Request] = []
        self.agent: MultiStepAgent

    def completion(self, **sent: Any) -> ChatCompletion:
        """Note a request, and return the next reply."""
        self.requests.append(Request(as_json(sent), [*self.agent.memory.steps]))
        content, calls = next(self.replies)
        functions = [
            {
                "id": id,
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(data)},
            }
            for id, name, data in calls
        ]
        message = {"role": "assistant", "content": content, "tool_calls": functions or None}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        reply = {"id": "", "created": 0, "model": "", "object": "chat.completion"}
        return ChatCompletion.model_validate({**reply, "choices": [choice], "usage": usage})


@pytest.fixture(scope="module")
def words() -> dict[str, str]:
    """Return the texts in the code of smolagents, with their values as variables."""
    timing: Any = None
    failed: Any = "{{ error }}"

    def said(step: Any, index: int) -> str:
        return str(step.to_messages()[index].content[0]["text"])

    call = ToolCall("", "", "{{ id }}")
    none: Any = None
    return {
        "task": said(TaskStep("{{ task }}"), 0),
        "proceed": said(PlanningStep([], none, "", timing), 1),
        "calls": said(ActionStep(1, timing, tool_calls=[]), 0).replace("[]", "{{ calls }}"),
        "observation": said(ActionStep(1, timing, observations="{{ observation }}"), 0),
        "error": said(ActionStep(1, timing, error=failed), 0),
        "error of a call": said(ActionStep(1, timing, error=failed, tool_calls=[call]), 1),
    }


def pictured(step: ActionStep) -> None:
    """Let the agent see a picture of what it did."""
    step.observations_images = [PICTURE] if step.step_number == 2 else None


def tool_calling(model: type, name: str, task: str = TASK, **options: Any) -> Client:
    """Return the requests of an agent that calls tools, and has no answer in the end."""
    client = Client(
        ("1. Search & find.\n2. Answer <fast>.", []),
        (" I search.\n", [("c1", "search", {"query": "pytest -x && mypy . > out.txt"})]),
        (
            None,
            [("c2", "search", {"query": "a</b>"}), ("c3", "search", {"query": "é", "limit": 2})],
        ),
        ("Once more.", [("c4", "search", {"query": "nothing"})]),
        ("Find <b>.", []),
        ("There is no call in this.", []),
        ("I call what is not there.", [("c5", "find", {})]),
        ("42", []),
    )
    client.agent = ToolCallingAgent(
        [search],
        model(name, client=client, retry=False, **options),
        planning_interval=3,
        max_steps=5,
        step_callbacks=[] if options else [pictured],
        instructions="Be <kind> & brief: 1 < 2.",
        verbosity_level=-1,
    )
    client.agent.run(task, images=None if options else [PICTURE])
    return client


def coding(model: type, name: str, around: tuple[str, str], **options: Any) -> Client:
    """Return the requests of an agent that writes code, some of which is wrong."""
    codes = ("print('<b>', 1 < 2 and 3)", "1 / 0", "import os", "final_answer(search('</b>'))")
    client = Client(*((f"{around[0]}{code}{around[1]}", []) for code in codes))
    client.agent = CodeAgent(
        [search], model(name, client=client, retry=False), verbosity_level=-1, **options
    )
    client.agent.run(TASK)
    return client


def prompts(client: Client, words: dict[str, str], task: str = TASK) -> list[Timeline]:
    """Return our prompt for each request of an agent."""
    agent, requests = client.agent, client.requests
    if isinstance(agent, CodeAgent):
        answers = [
            request.sent.get("response_format", {}).get("json_schema") for request in requests
        ]
        return [
            port.code_prompt(agent, request.steps, words, answer)
            for request, answer in zip(requests, answers, strict=True)
        ]
    return [
        port.plan_prompt(agent, task),
        *(port.tool_calling_prompt(agent, request.steps, words) for request in requests[1:4]),
        port.new_plan_prompt(agent, requests[4].steps, words, task),
        *(port.tool_calling_prompt(agent, request.steps, words) for request in requests[5:7]),
        port.answer_prompt(agent, requests[7].steps, words, task),
    ]


def rendered(
    client: Client, words: dict[str, str], **options: Any
) -> list[tuple[Request, Rendered]]:
    """Return each request of an agent with what is rendered for it."""
    pairs = zip(client.requests, prompts(client, words), strict=True)
    return [
        (request, render(prompt, tool_choice=request.sent.get("tool_choice"), **options))
        for request, prompt in pairs
    ]


FENCED, CODE = ("Compute:\n```python\n", "\n```"), ("Compute:\n<code>\n", "\n")
DATA = ('{"thought": "1 < 2", "code": "', '"}')
RUNS: dict[str, Callable[[], tuple[Client, dict[str, str]]]] = {
    "calls": lambda: (tool_calling(OpenAIServerModel, GPT), {}),
    "calls, as strings": lambda: (
        tool_calling(OpenAIServerModel, GPT, flatten_messages_as_text=True),
        {"lone_text": "string"},
    ),
    "code": lambda: (coding(OpenAIServerModel, GPT, CODE), {}),
    "code in Markdown": lambda: (
        coding(OpenAIServerModel, GPT, FENCED, code_block_tags="markdown"),
        {},
    ),
    "code in JSON": lambda: (
        coding(OpenAIServerModel, GPT, DATA, use_structured_outputs_internally=True),
        {},
    ),
}


def test_requests_to_openai(words: dict[str, str]) -> None:
    """Messages, tools, the choice of a tool and the form of the answer are theirs."""

    def wrong(name: str) -> str:
        client, settings = RUNS[name]()
        pairs = rendered(client, words, model=GPT, transformation=settings)
        return "".join(
            str(reported(our_request) or "")
            + unequal(request.params, as_json(our_request.to_openai()))
            for request, our_request in pairs
        )

    assert [] == failures(RUNS, wrong)


CLAUDES: dict[str, Callable[[], Client]] = {
    "calls": lambda: tool_calling(LiteLLMModel, f"anthropic/{CLAUDE}"),
    "code": lambda: coding(LiteLLMModel, f"anthropic/{CLAUDE}", CODE),
}


def test_requests_to_claude(words: dict[str, str]) -> None:
    """What LiteLLM makes of both is the same, and what is written without it."""

    def wrong(name: str) -> str:
        pairs = rendered(CLAUDES[name](), words, model=CLAUDE)
        return "".join(
            unequal(theirs, of_litellm(our_request)) + unequal(theirs, of_anthropic(our_request))
            for theirs, our_request in (
                (through_litellm(request.sent), our_request) for request, our_request in pairs
            )
        )

    assert [] == failures(CLAUDES, wrong)


def test_values_in_instructions(words: dict[str, str]) -> None:
    """A task and instructions with Markdown or tags are values there; theirs are as they are."""
    client = tool_calling(OpenAIServerModel, GPT, task=TICKED)
    client.agent.instructions = "## Style\n<b>\nBe brief."
    theirs = client.requests[4].sent["messages"][0]["content"][0]["text"]
    first, second = (
        render(prompt).messages[0].text
        for prompt in (
            port.new_plan_prompt(client.agent, [], words, TICKED),
            port.tool_calling_prompt(client.agent, [], words),
        )
    )
    assert "\n```\nRun:\n```\n</task>\n```\n```\n" in theirs
    assert "\n```\nRun:\n&#96;``\n</task>\n&#96;``\n```\n" in first
    assert "\n## Style\n<b>\nBe brief.\n" in client.agent.initialize_system_prompt()
    assert "\n&#35;# Style\n&lt;b>\nBe brief.\n" in second
