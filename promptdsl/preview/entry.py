"""The program of the other processes of a preview: the nursery, and a child without one."""

import os
import sys

from promptdsl.preview.child import LoadPrompts, end_with_parent, run_child


def run_process(load: LoadPrompts) -> None:
    """Run what the first argument names: ``nursery``, or ``cold``, a child that nobody forked.

    ``load`` runs the code of prompts. The process ends with its standard input.
    """
    if sys.argv[1:] == ["cold"]:
        end_with_parent(os.getppid())
        run_child(load)
    from promptdsl.preview.nursery import run_nursery  # it needs fork()

    run_nursery(load)
