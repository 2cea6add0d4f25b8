"""The passes: pure functions from tree to tree, one in each file; ``pipeline`` has their order."""
