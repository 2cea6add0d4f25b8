"""Tools for the tests of prompts: snapshots that a person can review, and assertions."""

from promptdsl.foundation.lazy_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    globals(),
    {
        "assertions": (
            "assert_fits assert_no_losses assert_no_section assert_prefix_stable "
            "assert_same_prompt assert_section"
        ),
        "checked": "assert_checked",
        "hostile": "HOSTILE HostileText",
        "injection": "assert_injection_safe",
        "snapshot": "ComparedPrompt PromptSnapshot SnapshotFormatError",
        "store_contract": "check_store",
    },
)
