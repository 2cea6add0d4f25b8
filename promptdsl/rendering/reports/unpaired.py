"""Reports of pairing: the calls and results it removed, and what they said."""

from typing import Literal

from promptdsl.budget.dropped import Dropped
from promptdsl.config.model_facts import ModelFacts
from promptdsl.config.transformation import Resolved
from promptdsl.messages import Block, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.rendering.passes.pair import removed_by_pairing
from promptdsl.rendering.text.blocks import MediaRoots
from promptdsl.rendering.text.lower import lower
from promptdsl.tokens import Tokens
from promptdsl.tokens.messages import block_tokens
from promptdsl.tree.rewrite import with_content
from promptdsl.tree.turn_nodes import RootNode


def dropped_by_pairing(
    root: RootNode,
    *,
    mode: Literal["fill", "prune"],
    config: Resolved,
    media_roots: MediaRoots,
    tokens: Tokens,
    facts: ModelFacts,
) -> tuple[Dropped, ...]:
    """Return the calls and results that pairing removes from a tree, in document order."""
    removed = removed_by_pairing(root, mode=mode)
    turns = with_content(root, tuple(part.turn for part in removed))
    messages, _ = lower(turns, config=config, media_roots=media_roots)
    dropped: list[Dropped] = []
    for part, message in zip(removed, messages, strict=True):
        (block,) = message.content
        count = block_tokens(block, tokens, facts)
        what, said = _described(block)
        _, address = part.place
        dropped.append(Dropped(what, address, count, None, part.why, part.source, said))
    return tuple(dropped)


def _described(block: Block) -> tuple[str, str]:
    """Return the name of a call or a result, and what it said: attachments are named."""
    if isinstance(block, ToolUseBlock):
        return f"call {block.id!r}", f"{block.name}({block.arguments})"
    if not isinstance(block, ToolResultBlock):
        return block.type, ""
    said = [
        inner.text if isinstance(inner, TextBlock) else f"[{inner.type}]" for inner in block.content
    ]
    return f"result {block.tool_use_id!r}", "\n\n".join(said)
