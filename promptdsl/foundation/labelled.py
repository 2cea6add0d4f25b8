"""The mark of a string or a number as a value with a label, among strings that are author text."""


class Label:
    """What marks a value that differs from one rendering to the next: its ``label``.

    ``None`` is the label of every other value. ``pieces`` are those of a text in which a part is
    such a value. What is made from it by an operation is plain again.
    """

    label: str | None = None
    pieces: "tuple[Labelled, ...]" = ()


class Labelled(Label, str):
    """The text of a value."""


class LabelledInt(Label, int):
    """A whole number."""


class LabelledFloat(Label, float):
    """A number."""


def labelled(value: str | float, label: str) -> str | float:
    """Return a value with its label; a boolean, which has no place in a text, has none."""
    if type(value) is bool:
        return value
    kind = LabelledInt if type(value) is int else LabelledFloat
    marked = Labelled(value) if isinstance(value, str) else kind(value)
    marked.label = label
    return marked
