"""The program of the other processes of a preview: a nursery, or a child without a nursery."""

import os
import sys

from promptdsl.preview.child import LoadPrompts, end_with_parent, run_child


def run_process(load: LoadPrompts) -> None:
    """Run what the first argument of the command names: ``nursery``, or ``cold`` for a child.

    ``load`` runs the code of prompts. The process ends when its standard input ends.
    """
    if sys.argv[1:] == ["cold"]:
        end_with_parent(os.getppid())
        run_child(load)
    from promptdsl.preview.nursery import run_nursery  # only systems with fork() can import it

    run_nursery(load)
