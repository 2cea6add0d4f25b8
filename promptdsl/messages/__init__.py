"""Messages and their content blocks: frozen values, independent of components and providers.

Other packages import the types of blocks from here, everything else from its own file. Read
``blocks`` and ``message`` first, then ``prompt``, which is what a provider's adapter writes.
"""

from promptdsl.messages.blocks import AudioBlock as AudioBlock
from promptdsl.messages.blocks import Block as Block
from promptdsl.messages.blocks import CodeBlock as CodeBlock
from promptdsl.messages.blocks import DataBlock as DataBlock
from promptdsl.messages.blocks import DocumentBlock as DocumentBlock
from promptdsl.messages.blocks import EventBlock as EventBlock
from promptdsl.messages.blocks import ImageBlock as ImageBlock
from promptdsl.messages.blocks import JsonBlock as JsonBlock
from promptdsl.messages.blocks import MediaBlock as MediaBlock
from promptdsl.messages.blocks import ReasoningBlock as ReasoningBlock
from promptdsl.messages.blocks import StateChangeBlock as StateChangeBlock
from promptdsl.messages.blocks import SystemEventBlock as SystemEventBlock
from promptdsl.messages.blocks import TextBlock as TextBlock
from promptdsl.messages.blocks import ToolResultBlock as ToolResultBlock
from promptdsl.messages.blocks import ToolUseBlock as ToolUseBlock
from promptdsl.messages.blocks import UnknownBlock as UnknownBlock
from promptdsl.messages.blocks import UserActionBlock as UserActionBlock
from promptdsl.messages.blocks import VideoBlock as VideoBlock
from promptdsl.messages.read_blocks import block_from_dict as block_from_dict
