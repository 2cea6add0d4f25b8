"""The components that authors write, one file per family.

A new component joins the open block, and it is frozen at its first use. Read ``block`` first, which
describes this life, then ``scope``, which has the open blocks. ``arguments`` and ``options`` read
the arguments of a call.
"""
