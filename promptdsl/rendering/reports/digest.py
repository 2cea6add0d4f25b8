"""A short digest of the content of a request."""

import json
from hashlib import sha256

import attrs

from promptdsl.messages.prompt import OutputSchema, Prompt, ToolDefinition


def digest_of(prompt: Prompt) -> str:
    """Return twelve hexadecimal digits that change with anything that is sent.

    Ids, metadata and lines are not sent. The same request has the same digest in every process.
    """
    messages = [
        (message.role, message.kind, message.name, [block.to_dict() for block in message.content])
        for message in prompt.messages
    ]
    beside: tuple[ToolDefinition | OutputSchema, ...]
    beside = (*prompt.tools, *([prompt.output] if prompt.output else []))
    # Fields that do not count when parts are compared, such as the line, are not sent.
    fields = [
        attrs.asdict(it, recurse=False, filter=lambda field, _: bool(field.eq)) for it in beside
    ]
    content = (messages, fields, prompt.tool_choice)
    return sha256(json.dumps(content, default=str).encode()).hexdigest()[:12]
