"""Compare the answers with the labels of the table.

Run it:     python compare.py answers.jsonl
"""

import json
import sys
from typing import Any


def report(answers: str) -> list[str]:
    """Return the share of right answers, and a line for each mail that is not right."""
    wrong: list[str] = []
    mails = 0
    with open(answers, encoding="utf-8") as file:
        for line in file:
            answer: dict[str, Any] = json.loads(line)
            mail, mails = answer["cells"], mails + 1
            given = answer["output"]["team"] if "output" in answer else answer["error"]
            if given != mail["label"]:
                wrong.append(f"{mail['id']}  {mail['label']:<8}  {given:<24}{mail['subject']}")
    right = mails - len(wrong)
    return [f"{right} of {mails} are right ({right / mails:.0%})", *wrong]


if __name__ == "__main__":
    print("\n".join(report(*sys.argv[1:])))
