"""Tools for the tests of prompts: assertions, and snapshots that a person can review."""

TYPE_CHECKING = not __name__  # False, but not to editors that run no code: they read these imports
if TYPE_CHECKING:  # Written by python -m tests.public_names, from the table below.
    from promptdsl.testing.assertions import assert_checked as assert_checked
    from promptdsl.testing.assertions import assert_fits as assert_fits
    from promptdsl.testing.assertions import assert_no_losses as assert_no_losses
    from promptdsl.testing.assertions import assert_no_section as assert_no_section
    from promptdsl.testing.assertions import assert_prefix_stable as assert_prefix_stable
    from promptdsl.testing.assertions import assert_same_prompt as assert_same_prompt
    from promptdsl.testing.assertions import assert_section as assert_section
    from promptdsl.testing.hostile import HOSTILE as HOSTILE
    from promptdsl.testing.hostile import HostileText as HostileText
    from promptdsl.testing.injection import assert_injection_safe as assert_injection_safe
    from promptdsl.testing.snapshot import ComparedPrompt as ComparedPrompt
    from promptdsl.testing.snapshot import PromptSnapshot as PromptSnapshot
    from promptdsl.testing.snapshot import SnapshotFormatError as SnapshotFormatError
    from promptdsl.testing.store_contract import check_store as check_store
else:
    from promptdsl.foundation.lazy_names import lazy_names

    __all__, __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "assertions": (
                "assert_checked assert_fits assert_no_losses assert_no_section "
                "assert_prefix_stable assert_same_prompt assert_section"
            ),
            "hostile": "HOSTILE HostileText",
            "injection": "assert_injection_safe",
            "snapshot": "ComparedPrompt PromptSnapshot SnapshotFormatError",
            "store_contract": "check_store",
        },
    )
