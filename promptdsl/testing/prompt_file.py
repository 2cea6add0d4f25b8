"""The content of a snapshot: a header, and for each message its texts between marks."""

import attrs


@attrs.frozen
class FilePart:
    """A mark of one line, such as ``─▷ rules/tone``, and the text after it, not yet escaped.

    The mark is empty for text directly after the title of an entry.
    """

    mark: str
    text: str


@attrs.frozen
class FileEntry:
    """A message, the tools or the form of the answer; ``title`` is such as ``event as user``."""

    title: str
    parts: tuple[FilePart, ...]


@attrs.frozen
class PromptFile:
    """A prompt as a snapshot keeps it.

    ``header`` has pairs of a name and a line of text, in order; a name such as ``hint`` may be
    there more than once.
    """

    header: tuple[tuple[str, str], ...]
    entries: tuple[FileEntry, ...]
