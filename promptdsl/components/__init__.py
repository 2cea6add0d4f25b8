"""The components that authors write, one file per family.

A component joins the block that is open, and is frozen at its first use. Its life is described in
``block``; ``scope`` knows the open blocks, ``arguments`` and ``options`` read the call.
"""
