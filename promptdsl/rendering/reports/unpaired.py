"""The calls and results that pairing removed, each with its text, as dropped parts."""

from promptdsl.budget.dropped import Dropped
from promptdsl.messages import Block, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.rendering.passes.pair import removed_by_pairing
from promptdsl.rendering.reports.outcome import Outcome
from promptdsl.rendering.text.lower import lower
from promptdsl.tokens.messages import block_tokens
from promptdsl.tree.rewrite import with_content
from promptdsl.tree.turn_nodes import RootNode


def dropped_by_pairing(root: RootNode, outcome: Outcome) -> tuple[Dropped, ...]:
    """Return the calls and results that pairing removes from a tree, in document order."""
    config = outcome.config
    if config.tool_pairing in ("error", "keep"):
        return ()
    removed = removed_by_pairing(root, mode=config.tool_pairing)
    turns = with_content(root, tuple(part.turn for part in removed))
    messages, _, _ = lower(turns, config=config, media_roots=outcome.media_roots)
    dropped: list[Dropped] = []
    for part, message in zip(removed, messages, strict=True):
        (block,) = message.content
        count = block_tokens(block, outcome.tokens, outcome.facts)
        what, text = _described(block)
        _, address = part.place
        dropped.append(Dropped(what, address, count, None, part.why, part.source, text))
    return tuple(dropped)


def _described(block: Block) -> tuple[str, str]:
    if isinstance(block, ToolUseBlock):
        return f"call {block.id!r}", f"{block.name}({block.arguments})"
    if not isinstance(block, ToolResultBlock):
        return block.type, ""
    texts = [
        inner.text if isinstance(inner, TextBlock) else f"[{inner.type}]" for inner in block.content
    ]
    return f"result {block.tool_use_id!r}", "\n\n".join(texts)
