"""The text form of prompts, and the differences of two: what a reviewer sees."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from promptdsl.comparing.canonical import prompt_file
    from promptdsl.comparing.changes import Change
    from promptdsl.comparing.comparison import PromptComparison, Status
    from promptdsl.comparing.groups import ChangeGroup
    from promptdsl.comparing.lines import changed_words
    from promptdsl.comparing.matrix import applied
    from promptdsl.comparing.payloads import payload_file
    from promptdsl.comparing.prefix import SharedPrefix
    from promptdsl.comparing.prompt_diff import PromptDiff, diff
    from promptdsl.comparing.report import DiffReport
    from promptdsl.comparing.snapshot_file import PromptFile, SnapshotFormatError, parse, serialise
else:
    from promptdsl.foundation.lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "canonical": "prompt_file",
            "changes": "Change",
            "comparison": "PromptComparison Status",
            "prompt_diff": "PromptDiff diff",
            "groups": "ChangeGroup",
            "lines": "changed_words",
            "matrix": "applied",
            "payloads": "payload_file",
            "prefix": "SharedPrefix",
            "snapshot_file": "PromptFile SnapshotFormatError parse serialise",
            "report": "DiffReport",
        },
    )

__all__ = [
    "Change",
    "ChangeGroup",
    "DiffReport",
    "PromptComparison",
    "PromptDiff",
    "PromptFile",
    "SharedPrefix",
    "SnapshotFormatError",
    "Status",
    "applied",
    "changed_words",
    "diff",
    "parse",
    "payload_file",
    "prompt_file",
    "serialise",
]
