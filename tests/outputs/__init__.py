"""What many prompts come to, written with two checkouts and compared: ``python -m tests.outputs``.

Who changes how a turn becomes text writes the outputs before and after, and compares them:

    python -m tests.outputs write before.json            # in a worktree of the commit before
    python -m tests.outputs write after.json             # in this one
    python -m tests.outputs compare before.json after.json
    python -m tests.outputs show "prompt 17"             # in both, for one that differs

The prompts are drawn at random from all components and options of the package
(``registry.py``, ``prompts.py``), or are those of the documentation, the examples and recorded
conversations (``cases.py``). ``results.py`` has what is compared.
"""
