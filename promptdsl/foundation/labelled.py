"""The mark of a string as a value that was put into a text."""


class Labelled(str):
    """The text of a value, among strings that are author text.

    ``label`` is the name of a value that differs from one rendering to the next, ``None`` for
    every other value. A string made from it by an operation is a plain string again.
    """

    label: str | None = None
