"""The tree: frozen nodes, their masks, and pure functions from node to node."""
