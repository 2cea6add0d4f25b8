"""prompt-poet: a template of parts with a truncation priority, tokenized and truncated.

It wants one old tiktoken. Install it first and a newer tiktoken over it: ``pip install prompt-poet
&& pip install 'tiktoken>=0.13'`` warns and works. A part has a role and a text and no more, so its
name says which message it is.
"""

import logging
import sys
from collections.abc import Sequence

# Its modules come as `template`, `prompt` and `examples`, before everybody else's.
_PATH = list(sys.path)
from prompt_poet import Prompt  # noqa: E402

sys.path[:] = _PATH

from benchmarks.conversation import Chat  # noqa: E402
from benchmarks.counting import Counter  # noqa: E402
from benchmarks.trimming import Trimmer  # noqa: E402

# It warns when there is nothing to truncate.
logging.getLogger("prompt_poet.prompt").setLevel(logging.ERROR)

TEMPLATE = """\
{% for message in messages %}
- name: "{{ loop.index0 }}"
  role: {{ message.role }}
  truncation_priority: {{ 0 if loop.first or loop.last else 1 }}
  content: |
    {{ escape_special_characters(message.content or call(message)) }}
{% endfor %}
"""


def trim(
    messages: Sequence[Chat], budget: int, counter: Counter, step: int = 1
) -> tuple[Sequence[Chat], Prompt]:
    """Return the messages, and the prompt that has some of them left."""

    def encode(text: str) -> list[int]:
        return [0] * (counter.of(text) + 4)

    data = {"messages": messages, "call": _call}
    prompt = Prompt(data, raw_template=TEMPLATE, encode_func=encode)
    prompt.tokenize()
    prompt.truncate(token_limit=budget - 3, truncation_step=step)
    return messages, prompt


def in_steps(
    messages: Sequence[Chat], budget: int, counter: Counter
) -> tuple[Sequence[Chat], Prompt]:
    """Truncate in steps of an eighth of the budget."""
    return trim(messages, budget, counter, budget // 8)


def chat(trimmed: tuple[Sequence[Chat], Prompt]) -> list[Chat]:
    """Return the Chat messages that are left."""
    messages, prompt = trimmed
    return [messages[int(part.name)] for part in prompt.parts]


def _call(message: Chat) -> str:
    function = message["tool_calls"][0]["function"]
    return "{name}({arguments})".format(**function)


TRIMMERS = (
    Trimmer(
        "prompt-poet", list, trim, chat, "prompt-poet", "renders a template; truncation_step 1"
    ),
    Trimmer(
        "prompt-poet, in steps", list, in_steps, chat, "prompt-poet", "truncation_step budget // 8"
    ),
)
