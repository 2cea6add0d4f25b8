"""The calls and results that pairing removed, each with its text, as dropped parts."""

from promptdsl.budget.dropped import Dropped
from promptdsl.messages import Block, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.rendering.passes.pair import removed_by_pairing
from promptdsl.rendering.reports.report_input import ReportInput
from promptdsl.rendering.text.lower import lower
from promptdsl.tokens.messages import block_tokens
from promptdsl.tree.rewrite import with_content
from promptdsl.tree.turn_nodes import RootNode


def dropped_by_pairing(root: RootNode, report_input: ReportInput) -> tuple[Dropped, ...]:
    """Return the calls and results that pairing removes from a tree, in document order."""
    config = report_input.config
    if config.tool_pairing in ("error", "keep"):
        return ()
    removed = removed_by_pairing(root, mode=config.tool_pairing)
    turns = with_content(root, tuple(part.turn for part in removed))
    messages, _, _ = lower(turns, config=config, media_roots=report_input.media_roots)
    dropped: list[Dropped] = []
    for part, message in zip(removed, messages, strict=True):
        (block,) = message.content
        count = block_tokens(block, report_input.tokens, report_input.facts)
        what, text = _described(block)
        _, address = part.location
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
