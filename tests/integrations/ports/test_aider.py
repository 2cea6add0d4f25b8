"""What aider sends is what the same prompt sends that is written with components.

Its methods that make messages run unchanged, without the imports of their module, which need what
is not installed. Where a value holds Markdown in instructions or the tag of a fence, where a text
is empty, and for a PDF, they differ.
"""

import ast
import importlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from promptdsl import Rendered, Timeline, decode, render
from promptdsl.integrations.litellm import to_litellm
from tests.folding import failures, unequal
from tests.integrations.ports.agents import agent_folder
from tests.integrations.ports.aider_prompt import Chat, EditForm, Files, aider_prompt
from tests.integrations.ports.requests import CLAUDE, as_json, of_litellm, through_litellm

FOLDER = agent_folder("aider")

pytestmark = [
    pytest.mark.sdk("litellm"),
    pytest.mark.slow,
    # Of LiteLLM's own types.
    pytest.mark.filterwarnings("ignore:Item .* using the `ReadOnly` qualifier:UserWarning"),
]

GPT = "gpt-4o"
PACKAGE = "coders_of_aider"
METHODS = {
    "choose_fence",
    "fmt_system_prompt",
    "format_chat_chunks",
    "format_messages",
    "get_abs_fnames_content",
    "get_chat_files_messages",
    "get_files_content",
    "get_images_message",
    "get_platform_info",
    "get_read_only_files_content",
    "get_readonly_files_messages",
    "get_rel_fname",
    "get_repo_messages",
}


def names_of(node: ast.stmt) -> set[str]:
    """Return the names that a statement gives to something."""
    match node:
        case ast.FunctionDef() | ast.ClassDef():
            return {node.name}
        case ast.Assign():
            return {target.id for target in node.targets if isinstance(target, ast.Name)}
        case _:
            return set()


def is_standard(node: ast.stmt) -> bool:
    """Return whether a statement imports modules that come with Python."""
    match node:
        case ast.Import():
            modules = [alias.name for alias in node.names]
        case ast.ImportFrom(module=str(module), level=0):
            modules = [module]
        case _:
            return False
    return all(name.partition(".")[0] in sys.stdlib_module_names for name in modules)


def load(path: Path, wanted: set[str], **names: object) -> Any:
    """Return what some statements of a file define; ``names`` are those that they need.

    Of a class only what is wanted is kept.
    """
    tree = ast.parse(path.read_text("utf-8"))
    tree.body = [node for node in tree.body if is_standard(node) or names_of(node) & wanted]
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            node.body = [part for part in node.body if names_of(part) & wanted]
    exec(compile(tree, str(path), "exec"), names)
    return SimpleNamespace(**names)


class Aider:
    """The code of aider that makes messages, with a folder for the pictures that it reads."""

    def __init__(self, folder: Path) -> None:
        utils = load(FOLDER / "utils.py", {"IMAGE_EXTENSIONS", "is_image_file"})
        base = load(
            FOLDER / "coders" / "base_coder.py",
            {"Coder", "wrap_fence", "all_fences", *METHODS},
            is_image_file=utils.is_image_file,
            ChatChunks=importlib.import_module(f"{PACKAGE}.chat_chunks").ChatChunks,
        )
        self.folder, self.class_, self.fences = folder, base.Coder, base.all_fences
        self.words = self.words_of_code()

    def prompts(self, name: str) -> Any:
        """Return the class of the prompts in a module."""
        module = importlib.import_module(f"{PACKAGE}.{name}_prompts")
        classes = [value for value in vars(module).values() if isinstance(value, type)]
        return next(value for value in classes if value.__module__ == module.__name__)

    def coder(self, prompts: Any, chat: Chat) -> Any:
        """Return a coder in a chat, with prompts of a class or of a name."""
        contents: dict[str, str] = {}

        def read_text(path: str) -> str:
            return contents.get(path, "")

        for files in (chat.edited, chat.read):
            for name, content in files.texts.items():
                contents[str(self.folder / name)] = content
            for name, data in files.media.items():
                (self.folder / name).write_bytes(data)
        model = SimpleNamespace(
            examples_as_sys_msg=not chat.examples_as_turns,
            info={"supports_vision": True, "supports_pdf_input": True, "max_input_tokens": 99},
            lazy=chat.is_lazy,
            name="",
            overeager=chat.is_overeager,
            reminder=chat.reminder,
            system_prompt_prefix=chat.prefix,
            token_count=len,
            use_system_prompt=chat.takes_system,
        )
        coder = self.class_()
        coder.__dict__ |= {
            "abs_fnames": self.paths(chat.edited),
            "abs_read_only_fnames": self.paths(chat.read),
            "add_cache_headers": chat.marks_cache,
            "auto_lint": True,
            "auto_test": False,
            "cur_messages": [*chat.earlier, {"role": "user", "content": chat.question}],
            "done_messages": [*chat.done],
            "fence": chat.fence,
            "fences": self.fences,
            "get_repo_map": lambda: chat.repo_map,
            "get_user_language": lambda: chat.language,
            "gpt_prompts": self.prompts(prompts) if isinstance(prompts, str) else prompts,
            "io": SimpleNamespace(read_text=read_text),
            "lint_cmds": {"python": "ruff check . && mypy > 'out.txt'"},
            "main_model": model,
            "repo": True,
            "root": str(self.folder),
            "suggest_shell_commands": chat.suggests_commands,
            "summarize_end": lambda: None,
            "test_cmd": "pytest -x <path> | tee `log`",
        }
        return coder

    def paths(self, files: Files) -> list[str]:
        """Return the paths of files, as aider keeps them."""
        return [str(self.folder / name) for name in (*files.texts, *files.media)]

    def words_of_code(self) -> dict[str, str]:
        """Return the texts in the code of aider, with fields for their values."""
        base = self.prompts("base")
        example = {"role": "role", "content": "{{content}}"}
        marked = type("Marked", (base,), {"main_system": "", "example_messages": [example]})
        files = Files({"a": "a"}, {"{name}.png": b"", "{name}.pdf": b""})
        chat = Chat("", edited=files, read=files, repo_map="a", takes_system=False)
        chunks = self.coder(marked, chat).format_messages()
        picture, _, document, _ = chunks.chat_files[2]["content"]
        chat = replace(chat, examples_as_turns=False)
        listed = self.coder(marked, chat).format_messages().system[0]["content"]
        heading, turn = listed.replace("ROLE", "{role}").split("\n\n")
        ticked = self.coder(base, Chat("", language="{language}", fence=("````", "````")))
        return {
            "after examples": chunks.examples[-2]["content"],
            "any language": self.coder(base, chat).fmt_system_prompt("{language}"),
            "document": document["text"].removesuffix(".pdf"),
            "example": turn,
            "examples": heading,
            "four ticks": ticked.fmt_system_prompt("{quad_backtick_reminder}"),
            "mapped": chunks.repo[1]["content"],
            "ok": chunks.system[1]["content"],
            "picture": picture["text"].removesuffix(".png"),
            "read": chunks.readonly_files[1]["content"],
            "reply": ticked.fmt_system_prompt("{final_reminders}"),
            "seen": chunks.readonly_files[3]["content"],
        }

    def pair(self, coder: Any, chat: Chat, model: str = CLAUDE) -> tuple[list[Any], Rendered]:
        """Return the messages of a coder in a chat and what is rendered for it."""
        theirs = as_json(coder.format_messages().all_messages())
        return theirs, render(self.prompt(coder, chat), model=model)

    def prompt(self, coder: Any, chat: Chat) -> Timeline:
        """Return our prompt for a coder that has made its messages: then it has its fence."""
        prompts = coder.gpt_prompts
        texts = {name: getattr(prompts, name) for name in dir(prompts) if name[0] != "_"}
        form = EditForm({**texts, **self.words}, texts["example_messages"])
        chat = replace(chat, platform=coder.get_platform_info(), fence=coder.fence)
        return aider_prompt(form, chat)


@pytest.fixture(scope="module")
def aider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aider]:
    """Return the code of aider, in a package that loads only what is asked for."""
    package = ModuleType(PACKAGE)
    package.__path__ = [str(FOLDER / "coders")]
    sys.modules[PACKAGE] = package
    try:
        yield Aider(tmp_path_factory.mktemp("aider"))
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
            del sys.modules[name]


PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
HOSTILE = "if a < b and c['{d}']:\n    x = '</file> <tag> &lt; {{y}}'\n## Rules\n</context>\n"
TICKED = f"Text:\n```\n{HOSTILE}```\n"
TICKED_TWICE = f"{TICKED}````\n```\n````\n"
DONE = [
    {"role": "user", "content": f"Add <b> & `c`.\n{TICKED}"},
    {"role": "assistant", "content": "a.py\n```python\nprint('{b}', 1 < 2)\n```"},
]
SHORT = Chat(f"Fix `a < b && c`:\n{HOSTILE}", edited=Files({"src/a.py": HOSTILE, "b <c>.md": "b"}))
LONG = replace(
    SHORT,
    done=DONE,
    earlier=[*DONE, {"role": "user", "content": "No.\n"}, {"role": "assistant", "content": "Why?"}],
    read=Files({"docs/c.md": "# C\n<tag> {c}\n", "d.py": HOSTILE}),
    repo_map="a.py:\n⋮\n│def a(b: List<int>):\n</tag> {{c}}\n",
)
PICTURES = Files({"a": "b\n"}, {"b <c>.png": PNG, "{c}.png": PNG})
AS_GPT = replace(LONG, examples_as_turns=False, is_lazy=True, reminder="sys")
AS_CLAUDE = replace(LONG, is_overeager=True, marks_cache=True)
CASES: dict[str, tuple[str, Chat]] = {
    # Each form of edits.
    "architect": ("architect", LONG),
    "ask": ("ask", LONG),
    "context": ("context", LONG),
    "diff": ("editblock", LONG),
    "diff of an editor": ("editor_editblock", LONG),
    "diff of an editor, fenced": ("editor_diff_fenced", LONG),
    "diff, fenced": ("editblock_fenced", LONG),
    "help": ("help", LONG),
    "patch": ("patch", LONG),
    "unified diff": ("udiff", LONG),
    "unified diff, simple": ("udiff_simple", LONG),
    "whole": ("wholefile", LONG),
    "whole of an editor": ("editor_whole", LONG),
    # The settings of models.
    "as for gpt-4o": ("editblock", AS_GPT),
    "as for gpt-4o, ask": ("ask", AS_GPT),
    "as for gpt-4o, context": ("context", AS_GPT),
    "as for gpt-4o, help": ("help", AS_GPT),
    "as for gpt-4o, unified diff": ("udiff", AS_GPT),
    "as for Claude": ("editblock", AS_CLAUDE),
    "as for Claude, architect": ("architect", AS_CLAUDE),
    "as for Claude, examples in the system": (
        "editblock",
        replace(AS_CLAUDE, examples_as_turns=False),
    ),
    "a prefix": ("editblock", replace(LONG, prefix="Markdown: on. ")),
    "no reminder": ("editblock", replace(LONG, reminder="none")),
    "no system": ("editblock", replace(LONG, takes_system=False)),
    "no system, with marks": ("architect", replace(AS_CLAUDE, takes_system=False)),
    # The settings of the user.
    "a language": ("ask", replace(AS_GPT, language="French")),
    "a language, diff": ("editblock", replace(AS_CLAUDE, is_lazy=True, language="French")),
    "no commands": ("editblock", replace(LONG, suggests_commands=False)),
    "no commands, as for gpt-4o": ("patch", replace(AS_GPT, suggests_commands=False)),
    # What is in the chat.
    "a first question": ("editblock", SHORT),
    "no files": ("editblock", Chat("Hi.")),
    "no files, with marks": ("editblock", Chat("Hi.", marks_cache=True)),
    "no files, a map": ("editblock", Chat("Hi.", repo_map="a")),
    "no files, a map, ask": ("ask", Chat("Hi.", repo_map="a", marks_cache=True)),
    "no map": ("wholefile", replace(AS_CLAUDE, repo_map="")),
    "pictures": ("editblock", replace(AS_CLAUDE, edited=PICTURES, read=PICTURES)),
    "pictures alone": ("wholefile", Chat("Hi.", edited=Files({}, {"a.png": PNG}))),
    # Fences that files do not hold: of four ticks, and of tags.
    "four ticks": ("editblock", replace(LONG, edited=Files({"a.md": TICKED}))),
    "four ticks, as for gpt-4o": ("editblock", replace(AS_GPT, edited=Files({"a.md": TICKED}))),
    "tags": ("editblock", replace(AS_CLAUDE, edited=Files({"a.md": TICKED_TWICE}))),
    "tags, as for gpt-4o": ("wholefile", replace(AS_GPT, edited=Files({"a.md": TICKED_TWICE}))),
}


def models_of(chat: Chat) -> list[str]:
    """Return the models that take what only some do: cache marks, a system message at the end."""
    models = {CLAUDE: chat.reminder != "sys", GPT: not chat.marks_cache}
    return [name for name, is_taken in models.items() if is_taken]


def test_requests(aider: Aider) -> None:
    """The messages are theirs, and so is what LiteLLM makes of them for Claude."""

    def wrong(name: str) -> str:
        prompts, chat = CASES[name]
        problems = ""
        for model in models_of(chat):
            theirs, our_request = aider.pair(aider.coder(prompts, chat), chat, model)
            problems += unequal(theirs, as_json(to_litellm(our_request, strict=True).messages))
            problems += unequal(through_litellm({"messages": theirs}), of_litellm(our_request))
        return problems

    assert [] == failures(CASES, wrong)


def test_no_room_for_the_reminder(aider: Aider) -> None:
    """Where the reminder is too long, a budget leaves out what aider does."""

    def wrong(reminder: str) -> str:
        chat = replace(LONG, reminder=reminder)
        coder = aider.coder("editblock", chat)
        coder.main_model.info["max_input_tokens"] = 1
        theirs, our_request = aider.pair(coder, chat, GPT)
        budget = our_request.tokens.total - 1
        our_request = render(aider.prompt(coder, chat), model=GPT, budget=budget)
        return unequal(theirs, as_json(to_litellm(our_request, strict=True).messages))

    assert [] == failures(("sys", "user"), wrong)


def test_an_empty_reminder(aider: Aider) -> None:
    """A system message without text is not sent; LiteLLM sends none to Claude."""
    chat = replace(LONG, reminder="sys")
    theirs, our_request = aider.pair(aider.coder("ask", chat), chat, GPT)
    assert theirs == [*as_json(to_litellm(our_request).messages), {"role": "system", "content": ""}]
    assert through_litellm({"messages": theirs}) == of_litellm(our_request)


def test_a_pdf(aider: Aider) -> None:
    """A PDF is a file, as for OpenAI, and no picture; Claude gets the same."""
    chat = replace(SHORT, edited=Files({}, {"a.pdf": b"%PDF-1.4\n"}))
    theirs, our_request = aider.pair(aider.coder("editblock", chat), chat)
    kinds = [
        [part["type"] for part in message["content"]]
        for messages in (theirs, to_litellm(our_request).messages)
        for message in messages
        if not isinstance(message["content"], str)
    ]
    assert kinds == [["text", "image_url"], ["text", "file"]]
    assert through_litellm({"messages": theirs}) == of_litellm(our_request)


def test_a_reminder_in_the_system(aider: Aider) -> None:
    """An instruction behind the question has a fence for Claude, which takes none as a message."""
    chat = replace(SHORT, reminder="sys")
    theirs, our_request = aider.pair(aider.coder("wholefile", chat), chat)
    *first, reminder = to_litellm(our_request).messages
    assert theirs[:-1] == as_json(first)
    text = theirs[-1]["content"]
    assert reminder == {"role": "user", "content": f"<developer>\n{text}\n</developer>"}


def test_values(aider: Aider) -> None:
    """A file cannot end a fence that is a tag, and what tells of the machine is no heading."""
    chat = Chat("Hi.", edited=Files({"a.md": "```\n````\nx </source> y\n"}))
    coder = aider.coder("editblock", chat)
    coder.test_cmd = "make\n## Rules"
    theirs, our_request = aider.pair(coder, chat)
    system, files = our_request.messages[0].text, our_request.messages[-3].text
    assert "\n&#35;# Rules\n" in system
    assert "\n<source>\n```\n````\nx &lt;/source> y\n</source>\n" in files
    assert [theirs[0]["content"], theirs[-3]["content"]] == [decode(system), decode(files)]
