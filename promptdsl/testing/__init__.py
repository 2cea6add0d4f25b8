"""Tools for the tests of prompts: snapshots that a person can review, and assertions."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from promptdsl.comparing.snapshot_file import SnapshotFormatError
    from promptdsl.testing.assertions import (
        assert_fits,
        assert_no_losses,
        assert_no_section,
        assert_prefix_stable,
        assert_same_prompt,
        assert_section,
    )
    from promptdsl.testing.hostile import HOSTILE, HostileText
    from promptdsl.testing.injection import assert_injection_safe
    from promptdsl.testing.snapshot import ComparedPrompt, PromptSnapshot
else:
    from promptdsl.foundation.lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "assertions": (
                "assert_fits assert_no_losses assert_no_section assert_prefix_stable "
                "assert_same_prompt assert_section"
            ),
            "hostile": "HOSTILE HostileText",
            "injection": "assert_injection_safe",
            "snapshot": "ComparedPrompt PromptSnapshot SnapshotFormatError",
        },
    )

__all__ = [
    "HOSTILE",
    "ComparedPrompt",
    "HostileText",
    "PromptSnapshot",
    "SnapshotFormatError",
    "assert_fits",
    "assert_injection_safe",
    "assert_no_losses",
    "assert_no_section",
    "assert_prefix_stable",
    "assert_same_prompt",
    "assert_section",
]
