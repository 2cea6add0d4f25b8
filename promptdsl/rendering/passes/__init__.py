"""The passes: pure functions from tree to tree, one a file. ``pipeline`` writes their order."""
