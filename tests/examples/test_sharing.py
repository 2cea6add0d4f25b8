"""The page on sharing a library as a team follows it, without what an index of packages does."""

import re
from pathlib import Path

import pytest

from tests.examples.desk import ROOT, run

PAGE = (ROOT / "docs" / "how-to" / "sharing.md").read_text("utf-8")
SKIPPED = ("$ cd", "$ python", "$ pip", "$ .")
"""Commands that are tested elsewhere: they need an environment, or an index."""
BLOCKS = re.findall(r"^```(?:text|py)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
COMMANDS = [
    line.removeprefix("$ ")
    for line in re.findall(r"^\$ .*", PAGE, re.MULTILINE)
    if not line.startswith(SKIPPED)
]


@pytest.mark.slow
def test_a_shared_library(tmp_path: Path) -> None:
    """Each command of the page works, in the folder of the library and in that of a colleague."""
    library, info = tmp_path / "promptdsl-support", tmp_path / "promptdsl_support-0.1.0.dist-info"
    template, test, answer, shop, test_answer = BLOCKS
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: promptdsl-support\nVersion: 0.1.0")
    points = "[promptdsl.sections]\nsupport = promptdsl_support.library:support\n"
    (info / "entry_points.txt").write_text(points)
    installed = f"export PYTHONPATH=$PYTHONPATH:{tmp_path}:{library}"
    made = COMMANDS.index("promptdsl new section refunds") + 1
    used = COMMANDS.index("promptdsl list")

    new, *first = COMMANDS[:made]
    begun = run(tmp_path, "\n".join([new, "cd promptdsl-support", installed, *first]))
    (library / "promptdsl_support" / "templates" / "refunds.md.j2").write_text(template)
    (library / "tests" / "test_refunds.py").write_text(test)
    finished = run(library, "\n".join([installed, *COMMANDS[made:used]]))
    colleague = tmp_path / "colleague"
    colleague.mkdir()
    files = {"answer.py": answer, "shop.py": shop, "test_answer.py": test_answer}
    assert [len(text) for text in files.values()] == [
        (colleague / name).write_text(text) for name, text in files.items()
    ]
    shared = run(colleague, "\n".join([installed, *COMMANDS[used:]]))
    assert (0, 0, 0) == (begun[0], finished[0], shared[0]), begun[1] + finished[1] + shared[1]
    assert "A refund is possible within 100 days." in "".join(
        path.read_text("utf-8") for path in colleague.rglob("test_shop*.prompt.txt")
    )
