"""The errors of a ``Rendered``: it has no such payload, no such attribute, or is no text.

``author()`` is the line outside of this package that called it: the line that the error names.
"""

from collections.abc import Sequence

from promptdsl.config.model_facts import ModelFacts
from promptdsl.config.models import facts_for, near_name
from promptdsl.config.wires import wire_of
from promptdsl.foundation.errors import (
    ContentError,
    PendingToolCalls,
    TargetError,
    UnknownNameError,
    nearest,
)
from promptdsl.foundation.source import author
from promptdsl.messages.message import Message, last_calls


def no_target(model: str | None) -> TargetError:
    """Return the error for a payload of a result that was rendered without a target."""
    problem, fix = "this was rendered without a target", "name one: render(tree, model=...)"
    if model is not None:
        problem = f"the model {model!r} is unknown, so there is no target"
        call = f'render(tree, model={model!r}, provider="openai_compatible")'
        fix = f"name its provider: {call} for open models and most servers"
        # The advice for a name that is near a known one; ``None`` if it is near none.
        advice = near_name(model, provider=None)
        fix = " Or ".join(filter(None, (advice, fix)))
    return TargetError(problem, fix=fix, at=(author(),))


def other_target(target: str, facts: ModelFacts) -> TargetError:
    """Return the error for a method like ``to_openai()`` of a result for another target."""
    model, own_method = facts.model, f"to_{facts.wire.provider_format}"
    if facts.wire.is_server:
        fix = f"call {own_method}() or payload(): {facts.provider} has this interface"
    elif wire_of(target).some_models and not facts.chat:
        # The target is OpenAI's Chat, which does not serve this model of OpenAI.
        fix = f"call {own_method}(): OpenAI serves {model!r} in the Responses API alone"
    else:
        model_argument = f"model={model!r}, " if facts_for(model, target).known else ""
        fix = (
            f"render it for that target: render(tree, {model_argument}provider={target!r}), "
            f"or call for_target({target!r}).to_{target}()"
        )
    problem = f"this was rendered for {facts.provider}, so it has no to_{target}()"
    return TargetError(problem, fix=fix, at=(author(),))


def unanswered(messages: Sequence[Message]) -> PendingToolCalls:
    """Return the error for a payload whose last calls have no results yet."""
    caller, waiting = last_calls(reversed(messages))
    assert caller is not None
    # A message that was made of data has no line of an author.
    source = caller.sources[0].source if caller._origins else None
    names = ", ".join(repr(block.id) for block in waiting)
    return PendingToolCalls(
        f"the last calls are not answered yet: {names}",
        fix=f"answer them: ToolMessage({waiting[0].id!r}, ...)",
        at=(source,),
    )


def unknown_name(name: str, names: Sequence[str]) -> UnknownNameError:
    """Return the error for a public name that a result does not have.

    ``names`` are the names that it has.
    """
    fix = nearest(name, names)
    if name.startswith("to_"):
        targets = ", ".join(
            known for known in names if known.startswith("to_") and known != "to_otel"
        )
        fix = f"it has {targets}; many other servers take to_openai()"
    if name in ("to_dict", "to_json"):
        fix = f"write rendered.record().{name}(), or rendered.payload() for what is sent"
    elif name in ("text", "content"):
        fix = "str(rendered) is all of it, rendered.messages[-1].text the last message"
    return UnknownNameError(f"a Rendered has no {name!r}", fix=fix, at=(author(),))


def no_text() -> ContentError:
    """Return the error for a result that is put into a text."""
    return ContentError(
        "a Rendered is messages, not a text to put into another text",
        fix='print(rendered) and f"{rendered!s}" show it; in another prompt, write its messages '
        "with History(rendered.messages), or the part itself",
        at=(author(),),
    )
