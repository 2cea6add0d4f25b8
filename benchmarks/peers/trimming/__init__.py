"""Other libraries trimming a conversation, one file each: see ``benchmarks/trimming.py``.

Those that cannot be installed beside the others say how they are, and are measured when present.
"""
