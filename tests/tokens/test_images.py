"""Tests of the tokens of pictures, by what providers publish and others have measured."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import ModelFacts
from tests.internals import (
    ASSUMED_SIZE,
    AttachedMedia,
    ImageFormula,
    attachment_tokens,
    facts_for,
    image_tokens,
    media_at,
    pixels,
)
from tests.providers.conversations import PDF, PNG
from tests.tokens.oracle import FREE, NO_MODEL


def of(model: str | None, provider: str | None = None) -> ModelFacts:
    """Return what is known of a model."""
    return facts_for(model, provider)


@pytest.mark.parametrize(
    ("size", "detail", "tokens"),
    [
        ((1024, 1024), "high", 765),
        ((2048, 4096), "high", 1105),
        ((4096, 8192), None, 1105),
        ((4096, 8192), "low", 85),
        ((150, 150), None, 255),
        ((512, 512), "auto", 255),
        ((513, 512), "auto", 425),
        ((2048, 768), None, 1445),
    ],
)
def test_tiles(size: tuple[int, int], detail: str | None, tokens: int) -> None:
    """OpenAI's guide: 85 and 170 a tile of 512, after a square of 2048 and a short side of 768."""
    assert tokens == image_tokens(size, of("gpt-4o"), detail)


@pytest.mark.parametrize(
    ("model", "tokens"),
    [("gpt-4.1", 765), ("gpt-4o-mini", 25_501), ("o1", 675), ("o3-pro", 675), ("gpt-4-turbo", 765)],
)
def test_tiles_of_other_models(model: str, tokens: int) -> None:
    """OpenAI's guide has figures of their own for some; a square of 1024 has four tiles."""
    assert tokens == image_tokens((1024, 1024), of(model))


@pytest.mark.parametrize(
    ("model", "tokens"), [("gpt-4o", 765), ("gpt-4.1-mini", 2_465), ("claude-opus-4-5", 1_521)]
)
def test_a_picture_is_as_many_tokens_elsewhere(model: str, tokens: int) -> None:
    """A model that another service offers in OpenAI's form counts pictures as it does at home."""
    facts = facts_for(model, "openai_compatible")
    assert (tokens, tokens) == (
        image_tokens(ASSUMED_SIZE, of(model)),
        image_tokens(ASSUMED_SIZE, facts),
    )


@pytest.mark.parametrize(
    ("size", "automatic", "high", "older"),
    [
        ((256, 256), 77, 77, 77),
        ((512, 512), 308, 308, 308),
        ((768, 768), 692, 692, 692),
        ((1024, 1024), 1229, 1229, 1229),
        ((1280, 720), 1104, 1104, 1104),
        ((1920, 1080), 2448, 2448, 2448),
        ((1080, 1920), 2448, 2448, 2448),
        ((2560, 1440), 4320, 2931, 4320),
        ((3840, 2160), 9792, 2931, 9792),
        ((4032, 3024), 14_364, 2942, 11_868),
    ],
)
def test_patches_as_measured(size: tuple[int, int], automatic: int, high: int, older: int) -> None:
    """Published measurements of gpt-6-astra and gpt-5.5, at 1.2 tokens a patch of 32 pixels.

    A picture of gpt-6 keeps its size; one of 10,000 patches at most is gpt-5.5's.
    """
    newest = of("gpt-6-astra")
    found = (
        image_tokens(size, newest),
        image_tokens(size, newest, "high"),
        image_tokens(size, of("gpt-5.5")),
    )
    assert (automatic, high, older) == found


@pytest.mark.parametrize(
    ("model", "size", "tokens"),
    [
        ("gpt-4.1-mini", (1024, 1024), 1659),
        ("gpt-4.1-mini", (1800, 2400), 2353),
        ("gpt-4.1-nano", (1024, 1024), 2520),
        ("o4-mini", (1024, 1024), 1762),
        ("gpt-5-mini", (1800, 2400), 2353),
        ("gpt-5-nano", (1800, 2400), 3572),
        ("gpt-5.4", (3840, 2160), 2931),
        ("gpt-5.4-mini", (1600, 1600), 4050),
        ("gpt-5", (1024, 1024), 1229),
        ("gpt-5.2", (1800, 2400), 1743),
    ],
)
def test_patches_of_older_models(model: str, size: tuple[int, int], tokens: int) -> None:
    """OpenAI's guide: 1,536 patches (1800 x 2400 pixels: 1,452 of them) times the multiplier."""
    assert tokens == image_tokens(size, of(model))


@pytest.mark.parametrize(("model", "tokens"), [("gpt-5.5", 308), ("gpt-5-mini", 2353)])
def test_low_detail_of_patches(model: str, tokens: int) -> None:
    """A square of 512 for models that have the detail, and what it would cost anyway for minis."""
    assert tokens == image_tokens(
        (1800, 1800) if model == "gpt-5.5" else (1800, 2400), of(model), "low"
    )


@pytest.mark.parametrize(
    ("size", "standard", "high"),
    [
        ((200, 200), 64, 64),
        ((1000, 1000), 1296, 1296),
        ((1092, 1092), 1521, 1521),
        ((1920, 1080), 1560, 2691),
        ((1080, 1920), 1560, 2691),
        ((2000, 1500), 1564, 3888),
        ((3840, 2160), 1560, 4784),
        ((1075, 1520), 1551, 2145),
        ((8000, 1), 56, 92),
    ],
)
def test_patches_of_claude(size: tuple[int, int], standard: int, high: int) -> None:
    """Anthropic's documentation: patches of 28 pixels, after the limits of each tier."""
    found = (image_tokens(size, of("claude-opus-4-5")), image_tokens(size, of("claude-opus-5-5")))
    assert (standard, high) == found


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("claude-3-haiku-20240307", 1560),
        ("claude-sonnet-4-20250514", 1560),
        ("claude-opus-4-1-20250805", 1560),
        ("claude-sonnet-4-6", 1560),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", 1560),
        ("claude-opus-4-7", 4784),
        ("claude-opus-4-8-20260528", 4784),
        ("claude-sonnet-5", 4784),
        ("claude-mythos-preview", 4784),
        (None, 4784),
    ],
)
def test_tiers_of_claude(model: str | None, tokens: int) -> None:
    """The larger limits hold from 4.7 on, and for a model that is not known."""
    assert tokens == image_tokens((3840, 2160), of(model, "anthropic"))


@pytest.mark.parametrize(
    ("size", "detail", "tokens"),
    [
        ((384, 384), None, 258),
        ((385, 384), None, 1032),
        ((960, 540), None, 1548),
        ((1000, 1000), None, 1032),
        ((4000, 3000), None, 2322),
        ((960, 540), "MEDIA_RESOLUTION_LOW", 258),
    ],
)
def test_tiles_of_gemini(size: tuple[int, int], detail: str | None, tokens: int) -> None:
    """Google's documentation: 258 a tile, of a size that the shape tells; about 2,300 at most."""
    assert tokens == image_tokens(size, of("gemini-2.5-pro"), detail)


@pytest.mark.parametrize(
    ("detail", "tokens"),
    [
        (None, 1120),
        ("MEDIA_RESOLUTION_LOW", 280),
        ("media_resolution_medium", 560),
        ("MEDIA_RESOLUTION_HIGH", 1120),
        ("MEDIA_RESOLUTION_ULTRA_HIGH", 2240),
        ("MEDIA_RESOLUTION_UNSPECIFIED", 1120),
    ],
)
def test_resolutions_of_gemini(detail: str | None, tokens: int) -> None:
    """Google's documentation: by the media resolution, whatever the size."""
    assert tokens == image_tokens((4000, 3000), of("gemini-3.1-pro"), detail)


@pytest.mark.parametrize(
    ("facts", "tokens"),
    [
        (of(None, "openai"), 4916),
        (of(None, "openai_responses"), 4916),
        (of(None, "gemini"), 2322),
        (of("amazon.nova-lite-v1:0"), 4761),
        (of(None, "chat_template"), 4761),
        (NO_MODEL, 4761),
    ],
)
def test_a_model_whose_formula_is_not_known(facts: ModelFacts, tokens: int) -> None:
    """The costliest formula of the provider is taken, or that of today's Claude."""
    assert tokens == image_tokens(ASSUMED_SIZE, facts)


FORMULAS = ["tiles-512", "patches-32", "patches-28", "tiles-258", "resolution", None]
MODELS = ["gpt-4o", "gpt-5.5", "gpt-4.1-mini", "claude-opus-4-5", "claude-opus-5", None]
SIDES = st.integers(-3, 2**32) | st.integers(1, 5_000)


@given(
    size=st.none() | st.tuples(SIDES, SIDES),
    formula=st.sampled_from(FORMULAS),
    model=st.sampled_from(MODELS),
    detail=st.sampled_from(["low", "high", "original", "auto", "", None, "nonsense"]),
)
def test_any_size_has_a_price(
    size: tuple[int, int] | None,
    formula: ImageFormula | None,
    model: str | None,
    detail: str | None,
) -> None:
    """Never an error, and never nothing: the header may say anything."""
    facts = attrs.evolve(NO_MODEL, model=model, image_tokens=formula)
    assert 1 <= image_tokens(size, facts, detail)


@pytest.mark.parametrize("size", [(100_000, 1), (1, 100_000), (60_000, 20)])
def test_a_strip_is_as_many_patches_as_a_picture_may_keep(size: tuple[int, int]) -> None:
    """A long strip that is less than a patch high when scaled is no picture of one pixel."""
    assert 1536 * 1.2 == pytest.approx(image_tokens(size, of("gpt-5")), abs=1)


@given(st.integers(1, 20_000), st.integers(1, 20_000))
def test_claude_never_sees_more_than_its_limit(width: int, height: int) -> None:
    """What is scaled down keeps the limit of its tier."""
    assert image_tokens((width, height), of("claude-opus-5")) <= 4784


@given(st.integers(1, 20_000), st.integers(1, 20_000))
def test_a_turned_picture_costs_as_much(width: int, height: int) -> None:
    """Every formula that goes by size is the same for a picture on its side."""
    models = ("gpt-4o", "gpt-4.1-mini", "gpt-5.5", "claude-opus-5", "gemini-2.5-pro")
    sizes = ((width, height), (height, width))
    upright, turned = ([image_tokens(size, of(model)) for model in models] for size in sizes)
    assert upright == turned


@pytest.mark.parametrize(
    "data", [PNG, PNG.rstrip("="), "Qk0=", "é", "", "A" * 5_000_000, None, b""]
)
def test_pixels_of_any_data(data: str | bytes | None) -> None:
    """The header tells the size where there is one; nothing raises."""
    expected = (1, 1) if data == PNG else None
    assert expected == pixels(data)


@pytest.mark.parametrize(
    ("attached", "model", "tokens"),
    [
        (AttachedMedia("image", PNG), "claude-opus-5", 1),
        (media_at("image", f"data:image/png;base64,{PNG}"), "claude-opus-5", 1),
        (media_at("image", "https://example.org/a.png"), "claude-opus-5", 4761),
        (media_at("image", None), "gemini-3.1-pro", 1120),
        (AttachedMedia("document", "SGVsbG8=", "text/plain"), "claude-opus-5", 5),
        (AttachedMedia("document", b"Hello!", "text/markdown"), "claude-opus-5", 6),
        (AttachedMedia("document", PDF, "application/pdf"), "claude-opus-5", 5145),
        (AttachedMedia("document", b"/Type /Page /Type/Pages /Type/Page"), "claude-opus-5", 10_290),
        (AttachedMedia("document", bytes(60_000)), "gemini-3.1-pro", 1680),
        (AttachedMedia("document", bytes(60_000)), "gemini-2.5-pro", 774),
        (AttachedMedia("document"), "claude-opus-5", 51_450),
        (AttachedMedia("audio", bytes(80_001)), "gemini-3.1-pro", 352),
        (AttachedMedia("audio"), "gemini-3.1-pro", 9600),
        (AttachedMedia("video", bytes(62_500)), "gemini-3.1-pro", 102),
        (AttachedMedia("video", b""), "gemini-2.5-pro", 295),
        (AttachedMedia("video"), "gemini-3.1-pro", 30_600),
    ],
)
def test_attachments(attached: AttachedMedia, model: str, tokens: int) -> None:
    """Pictures go by size, texts by text, documents by page, the rest by the second."""
    assert tokens == attachment_tokens(attached, FREE, of(model))


def wav(rate: int, length: int) -> bytes:
    """Return a recording of so many bytes, whose header tells how many a second is."""
    head = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\0\0\0\0"
    return (head + rate.to_bytes(4, "little")).ljust(length, b"\0")


@pytest.mark.parametrize(("rate", "seconds"), [(32_000, 3), (0, 96), (2**32 - 1, 1)])
def test_recordings_by_their_header(rate: int, seconds: int) -> None:
    """The header of a WAV tells its length; one that cannot be true is not believed."""
    found = attachment_tokens(AttachedMedia("audio", wav(rate, 96_000)), FREE, NO_MODEL)
    assert 32 * seconds == found
