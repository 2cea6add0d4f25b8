"""Tests of how sure a count is said to be."""

import pytest

from tests.internals import label_of


def test_texts_in_frames_are_exact_but_for_the_frames() -> None:
    """Frames are assumed, so that no count of messages is exact."""
    assert "exact text, estimated frame" == label_of("exact")


def test_one_text_without_frames_is_exact() -> None:
    """What a chat template makes is sent as it is."""
    assert "exact" == label_of("exact", framed=False)


@pytest.mark.parametrize("framed", [True, False])
def test_texts_that_are_estimates_stay_estimates(framed: bool) -> None:
    """A frame makes an estimate no surer."""
    assert "estimate (o200k x 1.6)" == label_of("estimate (o200k x 1.6)", framed=framed)


@pytest.mark.parametrize(
    ("text", "media", "tools", "label"),
    [
        ("exact", True, False, "estimate (exact text; attachments by published formulas)"),
        ("exact", False, True, "estimate (exact text; tools by published formulas)"),
        ("exact", True, True, "estimate (exact text; attachments and tools by published formulas)"),
        ("estimate (a guess)", False, True, "estimate (a guess; tools by published formulas)"),
        ("estimate", True, False, "estimate (estimate; attachments by published formulas)"),
        (
            "exact text, estimated frame",
            True,
            False,
            "estimate (exact text, estimated frame; attachments by published formulas)",
        ),
    ],
)
def test_attachments_and_tools_make_an_estimate(
    text: str, media: bool, tools: bool, label: str
) -> None:
    """The label names what is counted by formula, and how sure the rest is."""
    assert label == label_of(text, has_media=media, has_tools=tools)


def test_attachments_of_a_chat_template_are_estimates_too() -> None:
    """A template's text says where a picture is, not how many tokens."""
    expected = "estimate (exact text; attachments by published formulas)"
    assert expected == label_of("exact", has_media=True, framed=False)
