"""What the tools of pr-agent send, written with components.

The texts are its own: those of its TOML files, which are Jinja templates. ``settings`` are these
files in one mapping, and ``pull`` has the variables that tell of a pull request.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, TypeAlias

from promptdsl import AS_WRITTEN, Image, System, Template, Timeline, User

Settings: TypeAlias = Mapping[str, Mapping[str, Any]]
Variables: TypeAlias = Mapping[str, object]


def text(source: str, variables: Variables) -> Template:
    """Return a text with the settings that Jinja has by default."""
    return Template.from_string(source, variables, trim_blocks=False, lstrip_blocks=False)


def turns(prompt: Mapping[str, str], variables: Variables, *images: Image) -> Timeline:
    """Return the two turns of a tool; both texts have the same variables."""
    return Timeline(
        System(text(prompt["system"], variables)),
        User(text(prompt["user"], variables), *images),
        transformation=AS_WRITTEN,
    )


def review(settings: Settings, pull: Variables, questions: str = "", answers: str = "") -> Timeline:
    """Return the request for a review, with what was asked of the author and answered."""
    options = settings["pr_reviewer"]
    variables = {
        **pull,
        **options,
        "require_score": options["require_score_review"],
        "require_tests": options["require_tests_review"],
        "question_str": questions,
        "answer_str": answers,
    }
    return turns(settings["pr_review_prompt"], variables)


def description(settings: Settings, pull: Variables, classes: str) -> Timeline:
    """Return the request for a title and a description."""
    return turns(settings["pr_description_prompt"], labelled(settings, pull, classes))


def labels(settings: Settings, pull: Variables, classes: str) -> Timeline:
    """Return the request for labels."""
    return turns(settings["pr_custom_labels_prompt"], labelled(settings, pull, classes))


def labelled(settings: Settings, pull: Variables, classes: str) -> Variables:
    """Return the variables that tell of the labels of a project too, which are a class."""
    enabled = settings["config"]["enable_custom_labels"]
    options = {"enable_custom_labels": enabled, "custom_labels_class": classes}
    return {**pull, **settings["pr_description"], **options}


def suggestions(settings: Settings, pull: Variables) -> Timeline:
    """Return the request for suggestions; Claude has instructions of its own."""
    is_claude = "claude" in settings["config"]["model"]
    user = settings["pr_code_suggestions_prompt"]["user"]
    name = "pr_code_suggestions_prompt_claude" if is_claude else "pr_code_suggestions_prompt"
    prompt = {"system": settings[name]["system"], "user": user}
    options = settings["pr_code_suggestions"]
    number = options["num_code_suggestions_per_chunk"]
    return turns(prompt, {**pull, **options, "num_code_suggestions": number})


def scores(settings: Settings, pull: Variables, suggested: Sequence[Variables]) -> Timeline:
    """Return the request for a score of each suggestion."""
    variables = {**pull, **numbered(suggested), "num_code_suggestions": len(suggested)}
    return turns(settings["pr_code_suggestions_reflect_prompt"], variables)


def order(settings: Settings, suggested: Sequence[Variables]) -> Timeline:
    """Return the request for the order of suggestions, which has no instructions."""
    return turns(settings["pr_sort_code_suggestions_prompt"], numbered(suggested))


def numbered(suggested: Sequence[Variables]) -> dict[str, object]:
    """Return the variables that tell of suggestions, which are written as Python writes them."""
    lines = [f"suggestion {number}: {data}\n\n" for number, data in enumerate(suggested, 1)]
    return {"suggestion_list": suggested, "suggestion_str": "".join(lines)}


def answer(settings: Settings, pull: Variables, question: str) -> Timeline:
    """Return the request for an answer about all changes, with the picture in the question."""
    images = [Image.from_url(address) for address in pictures(question)]
    return turns(settings["pr_questions_prompt"], {**pull, "questions": question}, *images)


def pictures(question: str) -> list[str]:
    """Return the address of the picture in a question, if it has one."""
    _, mark, marked = question.partition("![image]")
    _, scheme, rest = question.partition("https://")
    if mark:
        return [marked.strip().strip("()")]
    return [scheme + rest] if ".png" in rest or "jpg" in rest else []


def line_answer(
    settings: Settings, pull: Variables, *, hunk: str, lines: str, question: str
) -> Timeline:
    """Return the request for an answer about some lines."""
    variables = {**pull, "full_hunk": hunk, "selected_lines": lines, "question": question}
    return turns(settings["pr_line_questions_prompt"], variables)


def questions(settings: Settings, pull: Variables) -> Timeline:
    """Return the request for questions to the author."""
    return turns(settings["pr_information_from_user_prompt"], pull)


def changelog(settings: Settings, pull: Variables, content: str, today: date) -> Timeline:
    """Return the request for a change of the changelog."""
    options = settings["pr_update_changelog"]
    variables = {**pull, **options, "changelog_file_str": content, "today": today}
    return turns(settings["pr_update_changelog_prompt"], variables)


def docs(settings: Settings, pull: Variables, kind: str) -> Timeline:
    """Return the request for documentation of what has none, by the name of its kind."""
    variables = {**pull, **settings["pr_add_docs"], "docs_for_language": kind}
    return turns(settings["pr_add_docs_prompt"], variables)
