"""The folder in which a test makes its batches."""

from tests.batch.conftest import folder

__all__ = ["folder"]
