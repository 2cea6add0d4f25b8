"""The parts that adapters share: the state of a request while it is written, and reading checks."""
