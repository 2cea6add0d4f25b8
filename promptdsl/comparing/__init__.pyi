# Written by python -m tests.stubs, from the table of names in __init__.py.

from promptdsl.comparing.canonical import prompt_file as prompt_file
from promptdsl.comparing.changes import Change as Change
from promptdsl.comparing.compared_prompts import PromptComparison as PromptComparison
from promptdsl.comparing.compared_prompts import Status as Status
from promptdsl.comparing.escapes import visible as visible
from promptdsl.comparing.escapes import visible_json as visible_json
from promptdsl.comparing.groups import ChangeGroup as ChangeGroup
from promptdsl.comparing.lines import changed_words as changed_words
from promptdsl.comparing.matrix import applied as applied
from promptdsl.comparing.payloads import payload_file as payload_file
from promptdsl.comparing.payloads import payload_rendered as payload_rendered
from promptdsl.comparing.payloads import record_rendered as record_rendered
from promptdsl.comparing.prefix import SharedPrefix as SharedPrefix
from promptdsl.comparing.prompt_diff import PromptDiff as PromptDiff
from promptdsl.comparing.prompt_diff import diff as diff
from promptdsl.comparing.report import MARKS as MARKS
from promptdsl.comparing.report import DiffReport as DiffReport
from promptdsl.comparing.report import is_report as is_report
from promptdsl.comparing.report_file import write_over as write_over
from promptdsl.comparing.snapshot_file import PromptFile as PromptFile
from promptdsl.comparing.snapshot_file import SnapshotFormatError as SnapshotFormatError
from promptdsl.comparing.snapshot_file import parse as parse
from promptdsl.comparing.snapshot_file import serialise as serialise
