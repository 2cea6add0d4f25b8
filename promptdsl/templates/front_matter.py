"""The front matter of a template: its title, its description and its inputs."""

from collections.abc import Mapping

import attrs

from promptdsl.templates.inputs import Input


@attrs.frozen
class FrontMatter:
    """What a template says about itself between two lines ``---``; none of it is sent.

    ``inputs`` is ``None`` for a template that declares none: then it takes any variables.
    ``lines`` is the number of lines before the text of the template.
    """

    title: str = ""
    description: str = ""
    inputs: tuple[Input, ...] | None = None
    lines: int = 0

    def checked(self, variables: Mapping[str, object]) -> Mapping[str, object]:
        """Return the variables of a template, checked against its inputs, with the defaults.

        Raises :class:`TemplateError` for a missing, an unknown and a wrongly typed input.
        """
        raise NotImplementedError


def split(source: str, name: str | None) -> tuple[FrontMatter | None, str]:
    """Return the front matter of a template, and its text.

    Raises :class:`TemplateError`, with the name and the line, for front matter that is wrong.
    """
    raise NotImplementedError
