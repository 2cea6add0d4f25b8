"""The text of a turn: a walk over its parts that writes each part.

The walk has its own stack, and the text is a flat list of pieces that is joined once, so that ten
thousand nested sections cost no more than ten thousand siblings.
"""

from promptdsl.messages import Block, ToolResultBlock
from promptdsl.rendering.text.containers import close_part, open_item, open_part
from promptdsl.rendering.text.leaves import LEAVES, write_strings
from promptdsl.rendering.text.page import PLAIN, Margin, OpenPart, Setting, TextState
from promptdsl.rendering.text.strings import StringRules
from promptdsl.tree.node import Node, mark_of
from promptdsl.tree.part_nodes import ToolResultNode


class TextWriter(TextState):
    """Writes the parts of one turn."""

    def write(self) -> tuple[Block, ...]:
        """Return the blocks that the parts become."""
        stack, page = self.open, self.page
        while stack:
            top = stack[-1]
            child = next(top.children, None)
            if child is None:
                stack.pop()
                self.close(top, stack[-1].margin if stack else PLAIN)
            elif top.listing is not None and open_item(self, child, top, top.listing):
                continue
            elif isinstance(child, str):
                write_strings(self, (child,), top.node, top)
            elif self.write_part(child, top):
                continue
            if stack and not stack[-1].rules.joined:
                page.flush()
        page.flush()
        return tuple(page.blocks)

    def write_part(self, node: Node, around: OpenPart) -> bool:
        """Write a part; return whether it is open, so that its children are next."""
        write = LEAVES.get(type(node))
        if write is not None:
            write(self, node, around)
        elif isinstance(node, ToolResultNode):
            setting = self.setting._replace(form=around.form)
            content = self.inside(setting, node, around.rules).write()
            name, mark = node.options.name, mark_of(node.options)
            error = (node.is_error, node.error_type)
            self.page.block(ToolResultBlock(node.tool_use_id, content, name, *error, mark))
        else:
            open_part(self, node, around)
            return True
        return False

    def close(self, part: OpenPart, outside: Margin) -> None:
        """Write the closing of a part whose children are written."""
        if part.frame is not None or part.node.options.cache:
            close_part(self, part, outside)

    def inside(self, setting: Setting, node: Node, rules: StringRules) -> "TextWriter":
        """Return a writer for a result in the turn, whose blocks are on a page of their own."""
        return TextWriter(setting, self.report, node, rules)
