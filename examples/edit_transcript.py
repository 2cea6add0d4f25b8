"""An editor of a recorded conversation, for the command line. Each change can be undone.

Run it:     python examples/edit_transcript.py chat.jsonl show
            python examples/edit_transcript.py chat.jsonl replace 3 "Why twice?"
            python examples/edit_transcript.py chat.jsonl remove 3
            python examples/edit_transcript.py chat.jsonl undo
            python examples/edit_transcript.py chat.jsonl undo 7      (the state after entry 7)
            python examples/edit_transcript.py chat.jsonl compact "Ann was charged twice." --keep 4
            python examples/edit_transcript.py chat.jsonl note "Ann called."
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from promptdsl import (
    Block,
    PromptError,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    Transcript,
    TranscriptEntry,
)


def shown(block: Block) -> str:
    """Return a block as one text."""
    match block:
        case TextBlock():
            return block.text
        case ToolUseBlock():
            return f"[call {block.id}: {block.name} {block.arguments}]"
        case ToolResultBlock():
            return f"[result of {block.tool_use_id}: {' '.join(map(shown, block.content))}]"
        case _:
            return f"[{block.type}]"


def lines(transcript: Transcript) -> Iterator[str]:
    """Yield a text for each turn of a transcript: number, role and text, or a note."""
    for turn in transcript.turns:
        if turn.message is None:
            role, text = "note", json.dumps(turn.note, ensure_ascii=False)
        else:
            role, text = turn.message.role, " ".join(map(shown, turn.message.content))
        yield f"{turn.number:>4}  {role:<9}  {text}"


def change(transcript: Transcript, options: argparse.Namespace) -> TranscriptEntry:
    """Make the change of a command, and return its transcript entry."""
    match options.command:
        case "remove":
            return transcript.remove(options.number)
        case "replace":
            return transcript.replace(options.number, options.text)
        case "undo":
            return transcript.undo(options.number)
        case "compact":
            return transcript.compact(options.text, keep=options.keep)
        case _:
            return transcript.note(options.text)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(description="An editor of a recorded conversation.")
    top.add_argument("file", help="a transcript")
    commands = top.add_subparsers(dest="command", required=True)
    commands.add_parser("show")
    commands.add_parser("remove").add_argument("number", type=int)
    commands.add_parser("undo").add_argument("number", type=int, nargs="?")
    replace = commands.add_parser("replace")
    replace.add_argument("number", type=int)
    replace.add_argument("text")
    compact = commands.add_parser("compact")
    compact.add_argument("text")
    compact.add_argument("--keep", type=int, default=20, help="messages that stay (default: 20)")
    commands.add_parser("note").add_argument("text")
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Show or change a transcript; return the exit code."""
    options = parser().parse_args(arguments)
    if not Path(options.file).is_file():  # open() would make the file
        print(f"there is no file {options.file!r}", file=sys.stderr)
        return 1
    try:
        with Transcript.open(options.file, read_only=options.command == "show") as transcript:
            if options.command != "show":
                print(f"entry {change(transcript, options).number}: {options.command}")
            print(*lines(transcript), sep="\n")
    except PromptError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
