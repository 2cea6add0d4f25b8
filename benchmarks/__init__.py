"""What building a prompt costs, measured against a hand-written function and other libraries.

Run all of it from the root of the repository with ``python -m benchmarks``.
"""
