"""Only checked, never run: a user's file with all components, results and streams has no error."""

from anthropic import Anthropic
from openai import OpenAI

import promptdsl as p

TONE = p.Section("tone", "Be kind.", p.Note("Legal asked for this."), title="Tone", priority=2)


def search(query: str) -> str:
    """Search the articles."""
    return query


@p.component
def customer(name: str, plan: str | None) -> p.Node:
    """Return what is known of a customer."""
    known = p.List("Name: ", p.Item(p.Value(name)), plan and p.Item("Plan: ", p.Value(plan)))
    return p.Section("customer", known, p.Table([{"name": name, "plan": plan}]), p.Json({}))


def recent(context: p.LazyContext) -> p.Text | None:
    """Return the news, where there is room for them."""
    return p.Text("Nothing new.") if context.tokens is None else None


def support(name: str, question: str, log: list[p.Message], photo: bytes | None) -> p.Timeline:
    """Return the prompt of a question."""
    with p.Timeline(p.Tool(search), p.Output({"type": "object"}, strict=False)) as prompt:
        with p.System("You are a guide.", p.CacheBreakpoint(), priority=None) as system:
            p.include(TONE, p.TextBlock("Be brief."))
            p.Format(
                "xml",
                p.Template.from_string("{{ day }}", day="Monday"),
                customer(name, None),
            )
            with p.Checklist():
                p.Item("Ask for the order.", done=False)
            p.Example(p.Quote("Hi."), p.Code("print('Hi.')", "python"))
        assert system.options.priority is None
        p.History(log, keep=2, clear_results=3)
        p.Event(p.UserAction("opened", target="shop"), p.StateChange("plan", old="a", new="b"))
        p.Event(p.SystemEvent("restart", reason="update"))
        p.Assistant("I look.", p.Reasoning("Hm."), p.ToolUse("search", {"query": "tide"}, id="1"))
        p.User(p.ToolResult("1", p.Limit(200, p.Untrusted("A long page."), keep="ends")))
        p.Turn("assistant", "Found it.")
        p.Grounding("doc", p.Heading("Tides"), p.Paragraph("High at ", p.Volatile(6, "hour")))
        p.Developer(p.FirstFit(p.Lazy(recent), "No news.", None), p.Reserve(100))
        p.Ephemeral(p.Group("Three minutes are left.", priority=1))
        p.User(
            question,
            p.Image.from_bytes(photo, "image/png") if photo else None,
            p.Fragment("Thanks."),
            name=name,
        )
    return prompt


def answer(prompt: p.Timeline, model: str) -> tuple[str, p.Message]:
    """Return the answers of two providers."""
    rendered = p.render(prompt, model=model, budget=8_000, strict=True)
    assert rendered.tokens.total < 8_000, rendered.outline()
    client, payload = OpenAI(), rendered.for_target("openai").to_openai()
    stream = p.read_stream(client.chat.completions.create(model=model, stream=True, **payload))
    texts = [chunk.choices[0].delta.content or "" for chunk in stream]
    sent = rendered.for_target("anthropic").to_anthropic()
    reply = Anthropic().messages.create(model=model, max_tokens=100, **sent)
    message = p.read_response(reply)
    transcript = p.Transcript([*rendered.messages, stream.message])
    transcript.append(reply, provider="anthropic")
    for block in message.content:
        match block:
            case p.ToolUseBlock(name="search"):
                transcript.append(
                    p.ToolMessage(block.id, search(str((block.input or {})["query"])))
                )
            case _:
                texts.append(str(block))
    return "".join(texts), message


def changed(before: p.Rendered, after: p.Rendered) -> list[str]:
    """Return what a change of a prompt does."""
    moved = p.prefix_report(before, after)
    dropped = [f"{entry.priority}" for entry in after.dropped]
    return [str(moved), str(p.diff(before, after)), *dropped, *map(str, after.locations())]
