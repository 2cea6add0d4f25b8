"""Compares the answers with the labels of the table.

Run it:     python compare.py mails.csv answers.jsonl
"""

import csv
import json
import sys
from typing import Any


def report(table: str, answers: str) -> list[str]:
    """Return the share of right answers, and a line for each mail that is not right."""
    with open(table, encoding="utf-8", newline="") as file:
        mails = list(csv.DictReader(file))
    wrong: list[str] = []
    with open(answers, encoding="utf-8") as file:
        for line in file:
            answer: dict[str, Any] = json.loads(line)
            mail = mails[int(answer["row"]) - 1]
            given = answer["output"]["team"] if "output" in answer else answer["error"]
            if given != mail["label"]:
                wrong.append(f"{mail['id']}  {mail['label']:<8}  {given:<24}{mail['subject']}")
    right = len(mails) - len(wrong)
    return [f"{right} of {len(mails)} are right ({right / len(mails):.0%})", *wrong]


if __name__ == "__main__":
    print("\n".join(report(*sys.argv[1:])))
