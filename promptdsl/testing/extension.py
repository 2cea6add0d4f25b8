"""The extensions of syrupy for prompts: each snapshot is a file that is named after its test."""

import re
from functools import cache
from pathlib import Path
from typing import ClassVar

from syrupy.data import SnapshotCollections
from syrupy.extensions.single_file import SingleFileSnapshotExtension
from syrupy.location import PyTestLocation
from syrupy.types import SerializableData, SnapshotIndex

from promptdsl.comparing.snapshot_file import is_same_snapshot
from promptdsl.testing.names import name_of, stem_of, stems_in
from promptdsl.testing.run import run_of

CONFLICT = re.compile(r"^(<<<<<<<|>>>>>>>) ", re.MULTILINE)
"""A line that git writes where two branches changed the same lines."""


class PromptLocation(PyTestLocation):
    """The test of a snapshot; every name of our files is accepted as one of its names."""

    def matches_snapshot_name(self, snapshot_name: str) -> bool:
        """Return true: syrupy would warn of a shortened name."""
        return True

    def matches_snapshot_location(self, snapshot_location: str) -> bool:
        """Return true, as for the name."""
        return True


class PromptExtension(SingleFileSnapshotExtension):
    """The snapshots of prompts: ``<test>.prompt.txt``."""

    file_extension = "txt"
    ending: ClassVar[str] = ".prompt"
    """The end of the snapshot names, so that they differ from those of other syrupy formats."""

    @classmethod
    def get_snapshot_name(cls, *, test_location: PyTestLocation, index: SnapshotIndex = 0) -> str:
        """Return the name of the file without its extension."""
        item = test_location.item
        suffix = index if isinstance(index, str) else ""
        return f"{run_of(item.config).stem(item)}{suffix}{cls.ending}"

    def matches(
        self, *, serialized_data: SerializableData, snapshot_data: SerializableData
    ) -> bool:
        """Return whether the prompt is the same; git may have changed its line ends."""
        return is_same_snapshot(lines_of(snapshot_data), lines_of(serialized_data))

    def discover_snapshots(
        self, *, test_location: PyTestLocation, ignore_extensions: list[str] | None = None
    ) -> SnapshotCollections:
        """Return the files of a run; at its end only those that may be unused."""
        run = run_of(test_location.item.config)
        snapshots = SnapshotCollections()
        for path in run.files(f"{self.ending}.{self.file_extension}"):
            if run.may_be_unused(path):
                snapshots.add(self.read_snapshot_collection(snapshot_location=str(path)))
        return snapshots

    @classmethod
    def matches_test_location(
        cls, *, test_location: PyTestLocation, snapshot_location: str
    ) -> bool:
        """Return whether a file belongs to a test, by its folder and the beginning of its name.

        A test that passed accepts all files in its folder: syrupy only asks for files that are
        unused or belong to no test.
        """
        folder, stems = _tests_of(snapshot_location, f"{cls.ending}.{cls.file_extension}")
        if folder != _folder_of(test_location.filepath, cls.snapshot_dirname):
            return False
        item = test_location.item
        config = getattr(item, "config", None)  # the controller of xdist has none
        if config is not None and run_of(config).has_passed(item.nodeid):
            return True
        return not stems.isdisjoint(_stems_of(item.nodeid, item.name))


class PayloadExtension(PromptExtension):
    """The payloads next to the prompts: ``<test>.payload.json``."""

    file_extension = "json"
    ending = ".payload"


def lines_of(data: str | bytes) -> str:
    """Return the text of a snapshot; bytes that are not UTF-8 are escaped."""
    text = data if isinstance(data, str) else data.decode("utf-8", "backslashreplace")
    return text.replace("\r\n", "\n")


# These are called for each pair of a test and a file.


@cache
def _tests_of(snapshot: str, ending: str) -> tuple[str, frozenset[str]]:
    """Return the folder of a file, and the stems of the tests that it may belong to."""
    path = Path(snapshot)
    return str(path.parent), frozenset(stems_in(path.name.removesuffix(ending)))


@cache
def _folder_of(test_file: str, name: str | Path) -> str:
    path = Path(test_file)
    return str(path.parent / name / path.stem)


@cache
def _stems_of(nodeid: str, name: str) -> tuple[str, str]:
    """Return both possible beginnings of the files of a test: with and without a hash."""
    test = name_of(nodeid, name)
    return stem_of(test), stem_of(test, alone=False)
