"""The passes: pure functions from tree to tree, one in each file, in the order of ``pipeline``."""
