"""What authors call: one file per family. A component places itself and becomes a node.

The life of a component is told in ``block``; ``arguments`` and ``scope`` are what it is made with.
"""
