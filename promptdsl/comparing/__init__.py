"""Snapshots of prompts as text, and the differences between two prompts, for a reviewer."""

TYPE_CHECKING = not __name__  # False, but not to editors that run no code: they read these imports
if TYPE_CHECKING:  # Written by python -m tests.public_names, from the table below.
    from promptdsl.comparing.canonical import prompt_file as prompt_file
    from promptdsl.comparing.changes import Change as Change
    from promptdsl.comparing.compared_prompts import ChangeGroup as ChangeGroup
    from promptdsl.comparing.compared_prompts import PromptComparison as PromptComparison
    from promptdsl.comparing.compared_prompts import Status as Status
    from promptdsl.comparing.compared_prompts import applied as applied
    from promptdsl.comparing.costs import ComparedRender as ComparedRender
    from promptdsl.comparing.costs import SharedPrefix as SharedPrefix
    from promptdsl.comparing.diff_page import content_policy as content_policy
    from promptdsl.comparing.prompt_diff import PromptDiff as PromptDiff
    from promptdsl.comparing.prompt_diff import diff as diff
    from promptdsl.comparing.prompt_diff import payload_file as payload_file
    from promptdsl.comparing.prompt_diff import payload_rendered as payload_rendered
    from promptdsl.comparing.prompt_diff import record_rendered as record_rendered
    from promptdsl.comparing.report import MARKS as MARKS
    from promptdsl.comparing.report import DiffReport as DiffReport
    from promptdsl.comparing.report import is_report as is_report
    from promptdsl.comparing.report import write_or_refuse as write_or_refuse
    from promptdsl.comparing.snapshot_file import PromptFile as PromptFile
    from promptdsl.comparing.snapshot_file import SnapshotFormatError as SnapshotFormatError
    from promptdsl.comparing.snapshot_file import columns as columns
    from promptdsl.comparing.snapshot_file import cut_to as cut_to
    from promptdsl.comparing.snapshot_file import parse as parse
    from promptdsl.comparing.snapshot_file import serialise as serialise
    from promptdsl.comparing.snapshot_file import terminal_width as terminal_width
    from promptdsl.comparing.snapshot_file import visible as visible
    from promptdsl.comparing.snapshot_file import visible_json as visible_json
    from promptdsl.comparing.text import changed_words as changed_words
else:
    from promptdsl.foundation.lazy_names import lazy_names

    __all__, __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "canonical": "prompt_file",
            "changes": "Change",
            "compared_prompts": "ChangeGroup PromptComparison Status applied",
            "costs": "ComparedRender SharedPrefix",
            "diff_page": "content_policy",
            "prompt_diff": ("PromptDiff diff payload_file payload_rendered record_rendered"),
            "report": "MARKS DiffReport is_report write_or_refuse",
            "snapshot_file": (
                "PromptFile SnapshotFormatError columns cut_to parse serialise "
                "terminal_width visible visible_json"
            ),
            "text": "changed_words",
        },
    )
