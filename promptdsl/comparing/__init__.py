"""Snapshots of prompts as text, and the differences between two prompts, for a reviewer."""

TYPE_CHECKING = not __name__  # False, but not to editors that run no code: they read these imports
if TYPE_CHECKING:  # Written by python -m tests.public_names, from the table below.
    from promptdsl.comparing.canonical import prompt_file as prompt_file
    from promptdsl.comparing.changes import Change as Change
    from promptdsl.comparing.compared_prompts import PromptComparison as PromptComparison
    from promptdsl.comparing.compared_prompts import Status as Status
    from promptdsl.comparing.escapes import columns as columns
    from promptdsl.comparing.escapes import cut_to as cut_to
    from promptdsl.comparing.escapes import terminal_width as terminal_width
    from promptdsl.comparing.escapes import visible as visible
    from promptdsl.comparing.escapes import visible_json as visible_json
    from promptdsl.comparing.groups import ChangeGroup as ChangeGroup
    from promptdsl.comparing.html_policy import content_policy as content_policy
    from promptdsl.comparing.lines import changed_words as changed_words
    from promptdsl.comparing.matrix import applied as applied
    from promptdsl.comparing.payloads import payload_file as payload_file
    from promptdsl.comparing.payloads import payload_rendered as payload_rendered
    from promptdsl.comparing.payloads import record_rendered as record_rendered
    from promptdsl.comparing.prefix import ComparedRender as ComparedRender
    from promptdsl.comparing.prefix import SharedPrefix as SharedPrefix
    from promptdsl.comparing.prompt_diff import PromptDiff as PromptDiff
    from promptdsl.comparing.prompt_diff import diff as diff
    from promptdsl.comparing.report import MARKS as MARKS
    from promptdsl.comparing.report import DiffReport as DiffReport
    from promptdsl.comparing.report import is_report as is_report
    from promptdsl.comparing.report_file import write_or_refuse as write_or_refuse
    from promptdsl.comparing.snapshot_file import PromptFile as PromptFile
    from promptdsl.comparing.snapshot_file import SnapshotFormatError as SnapshotFormatError
    from promptdsl.comparing.snapshot_file import parse as parse
    from promptdsl.comparing.snapshot_file import serialise as serialise
else:
    from promptdsl.foundation.lazy_names import lazy_names

    __all__, __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "canonical": "prompt_file",
            "changes": "Change",
            "html_policy": "content_policy",
            "compared_prompts": "PromptComparison Status",
            "prompt_diff": "PromptDiff diff",
            "escapes": "columns cut_to terminal_width visible visible_json",
            "groups": "ChangeGroup",
            "lines": "changed_words",
            "matrix": "applied",
            "payloads": "payload_file payload_rendered record_rendered",
            "prefix": "ComparedRender SharedPrefix",
            "snapshot_file": "PromptFile SnapshotFormatError parse serialise",
            "report": "MARKS DiffReport is_report",
            "report_file": "write_or_refuse",
        },
    )
