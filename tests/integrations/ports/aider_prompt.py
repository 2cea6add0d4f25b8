"""What aider sends, written with components.

The texts are aider's own: those of its classes of prompts, and those that stand in its code. Both
are texts for ``str.format``, some of which stand in others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from promptdsl import *

Turns: TypeAlias = Sequence[Mapping[str, str]]
Fence: TypeAlias = tuple[str, str]


@dataclass(frozen=True)
class EditForm:
    """A form of edits: its texts by their names, and its examples."""

    texts: Mapping[str, str]
    examples: Turns


@dataclass(frozen=True)
class Files:
    """The texts of some files, and the bytes of some pictures and PDFs, by their names."""

    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    media: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


@dataclass(frozen=True)
class Chat:
    """What the user has and asks, and the settings of aider and of a model."""

    question: str
    earlier: Turns = ()
    done: Turns = ()
    edited: Files = Files()
    read: Files = Files()
    repo_map: str = ""
    platform: str = ""
    language: str | None = None
    fence: Fence = ("```", "```")
    prefix: str = ""
    reminder: str = "user"
    is_lazy: bool = False
    is_overeager: bool = False
    suggests_commands: bool = True
    takes_system: bool = True
    examples_as_turns: bool = True
    marks_cache: bool = False


def aider_prompt(form: EditForm, chat: Chat) -> Timeline:
    """Return the next request; a budget leaves out the reminder first."""
    texts = form.texts
    with Timeline(transformation=AS_WRITTEN) as prompt:
        write_instructions(form, chat)
        if chat.marks_cache:
            CacheBreakpoint()
        if chat.read.texts:
            write_files(texts["read_only_files_prefix"], chat.read, chat.fence)
            Assistant(texts["read"])
        write_media(chat.read, texts, texts["seen"])
        if chat.repo_map:
            User(chat.repo_map)
            Assistant(texts["mapped"])
        if chat.marks_cache:
            CacheBreakpoint()
        History(chat.done)
        write_edited(texts, chat)
        if chat.marks_cache:
            CacheBreakpoint()
        History(chat.earlier)
        write_question(texts, chat)
    return prompt


def write_instructions(form: EditForm, chat: Chat) -> None:
    """Write the instructions, and the examples in them or after them."""
    texts = form.texts
    source = filled(texts["main_system"], texts, chat)
    if not chat.examples_as_turns:
        sources = [source]
        if form.examples:
            sources = [f"{source}\n{texts['examples']}"]
        for example in form.examples:
            titled = texts["example"].replace("{role}", example["role"].upper())
            sources.append(filled(titled.replace("{content}", example["content"]), texts, chat))
        source = "\n\n".join(sources).strip()
    if texts["system_reminder"]:
        source += "\n" + filled(texts["system_reminder"], texts, chat)
    with (System if chat.takes_system else User)(separator="\n"):
        Text(chat.prefix)
        text(source, texts, chat)
    if not chat.takes_system:
        Assistant(texts["ok"])
    if chat.examples_as_turns and form.examples:
        for example in form.examples:
            speaker = User if example["role"] == "user" else Assistant
            speaker(text(filled(example["content"], texts, chat), texts, chat))
        User(texts["after examples"])
        Assistant(texts["ok"])


def filled(source: str, texts: Mapping[str, str], chat: Chat) -> str:
    """Return a text with the other texts and the fences that it names."""
    prefix = "" if chat.suggests_commands else "no_"
    reminders = [
        texts["lazy_prompt"] if chat.is_lazy else "",
        texts["overeager_prompt"] if chat.is_overeager else "",
        texts["reply"] if chat.language else "",
    ]
    pieces = {
        "shell_cmd_prompt": texts[f"{prefix}shell_cmd_prompt"],
        "shell_cmd_reminder": texts[f"{prefix}shell_cmd_reminder"],
        "rename_with_shell": texts["rename_with_shell"] if chat.suggests_commands else "",
        "go_ahead_tip": texts["go_ahead_tip"],
        "quad_backtick_reminder": texts["four ticks"] if chat.fence[0] == "````" else "",
        "final_reminders": "\n\n".join(filter(None, reminders)),
        "fence[0]": chat.fence[0],
        "fence[1]": chat.fence[1],
        "platform": "{platform}\n",
    }
    for name, piece in pieces.items():
        source = source.replace(f"{{{name}}}", piece)
    return source


def text(source: str, texts: Mapping[str, str], chat: Chat) -> Template:
    """Return a text with what the user has as values."""
    values = {
        "platform": chat.platform.removesuffix("\n"),
        "language": chat.language or texts["any language"],
    }
    return Template.from_format(source, values)


def write_edited(texts: Mapping[str, str], chat: Chat) -> None:
    """Write the files that may be edited, or that there are none."""
    if chat.edited.texts or chat.edited.media:
        write_files(texts["files_content_prefix"], chat.edited, chat.fence)
        Assistant(texts["files_content_assistant_reply"])
    elif chat.repo_map and texts["files_no_full_files_with_repo_map"]:
        User(texts["files_no_full_files_with_repo_map"])
        Assistant(texts["files_no_full_files_with_repo_map_reply"])
    else:
        User(texts["files_no_full_files"])
        Assistant(texts["ok"])
    write_media(chat.edited, texts, texts["ok"])


def write_files(prefix: str, files: Files, fence: Fence) -> None:
    """Write a turn with the texts of files in fences."""
    with User(separator=""):
        Text(prefix)
        for name, content in files.texts.items():
            Text("\n", Value(name), f"\n{fence[0]}\n", Value(content), f"{fence[1]}\n")


def write_media(files: Files, texts: Mapping[str, str], reply: str) -> None:
    """Write a turn with pictures and PDFs, if there are any, and the reply to it."""
    if not files.media:
        return
    with User():
        for name, data in files.media.items():
            if name.endswith(".pdf"):
                Template.from_format(texts["document"], name=name)
                Document.from_bytes(data)
            else:
                Template.from_format(texts["picture"], name=name)
                Image.from_bytes(data, detail="high")
    Assistant(reply)


def write_question(texts: Mapping[str, str], chat: Chat) -> None:
    """Write the question, and the reminder in the same turn or after it."""
    reminder = filled(texts["system_reminder"], texts, chat)
    with User(separator=""):
        Text(chat.question)
        if chat.reminder == "user" and texts["system_reminder"]:
            with Group(priority=-1):
                Text("\n\n")
                text(reminder, texts, chat)
    if chat.reminder == "sys" and texts["system_reminder"]:
        Developer(text(reminder, texts, chat), priority=-1)
