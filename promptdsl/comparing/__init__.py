"""The text form of prompts, and the differences of two: what a reviewer sees."""

from promptdsl.foundation.lazy_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    globals(),
    {
        "canonical": "prompt_file",
        "changes": "Change",
        "compared_prompts": "PromptComparison Status",
        "prompt_diff": "PromptDiff diff",
        "escapes": "visible visible_json",
        "groups": "ChangeGroup",
        "lines": "changed_words",
        "matrix": "applied",
        "payloads": "payload_file payload_rendered record_rendered",
        "prefix": "SharedPrefix",
        "snapshot_file": "PromptFile SnapshotFormatError parse serialise",
        "report": "MARKS DiffReport is_report",
        "report_file": "write_over",
    },
)
