"""Reading from git: the files at a revision, and a clean checkout of one in a new folder."""

import os
import subprocess
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from promptdsl.cli.errors import UsageError, near

# No hook and no monitor of the repository runs (filters of its files do), and a name is no pattern.
GIT = (
    "git", "--literal-pathspecs", "-c", "core.fsmonitor=false",
    "-c", f"core.hooksPath={os.devnull}", "-c", "core.sparseCheckout=false",
)  # fmt: skip

LINK = "120000"
"""The mode of a symbolic link."""


class Repository:
    """The repository around the current folder; it is only read.

    Raises :class:`UsageError` outside of a repository, and where git is not installed.
    """

    def __init__(self) -> None:
        self.here = Path.cwd()
        self.root = Path(os.fsdecode(self.run("rev-parse", "--show-toplevel").rstrip(b"\n")))
        """The folder of the working tree."""

    @property
    def inside(self) -> Path:
        """The current folder, from the root."""
        return self.here.resolve().relative_to(self.root.resolve())

    def run(
        self, *arguments: str, given: bytes = b"", environment: dict[str, str] | None = None
    ) -> bytes:
        """Return the output of a git command; :class:`UsageError` with its message if it fails."""
        try:
            done = subprocess.run(
                [*GIT, *arguments],
                input=given,
                capture_output=True,
                check=True,
                cwd=self.here,
                env={**os.environ, "LC_ALL": "C", **(environment or {})},
            )
        except FileNotFoundError:
            raise UsageError("git is not installed") from None
        except subprocess.CalledProcessError as error:
            told = error.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
            raise UsageError(f"git: {told.splitlines()[0] if told else 'failed'}") from None
        return done.stdout

    def commit(self, revision: str) -> str:
        """Return the id of a commit; :class:`UsageError` with the nearest names for an unknown."""
        name = f"{revision}^{{commit}}"
        try:
            found = self.run("rev-parse", "--verify", "--quiet", "--end-of-options", name)
        except UsageError:
            refs = self.run("for-each-ref", "--format=%(refname:short)").decode("utf-8", "replace")
            advice = near(revision, refs.split())
            if self.run("rev-parse", "--is-shallow-repository") == b"true\n":
                advice += "\n  the clone is shallow: fetch all of it with git fetch --unshallow"
            raise UsageError(f"no such revision: {revision}{advice}") from None
        return found.decode().strip()

    def merge_base(self, commit: str) -> str | None:
        """Return the commit where the current branch left another one; ``None`` for none."""
        try:
            return self.run("merge-base", commit, "HEAD").decode().split()[0]
        except (UsageError, IndexError):
            return None

    def path(self, path: str) -> str:
        """Return a path from the root, ``""`` for the root itself."""
        full = os.path.normpath(self.here.resolve() / path)
        if os.path.isabs(path):
            full = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        found = Path(os.path.relpath(full, self.root.resolve())).as_posix()
        if found.split("/")[0] == "..":
            raise UsageError(f"{path} is outside of {self.root}")
        return "" if found == "." else found

    def blobs(self, commit: str) -> dict[str, str]:
        """Return the ids of the files of a commit by their paths from the root."""
        found: dict[str, str] = {}
        for row in _rows(self.run("ls-tree", "-r", "-z", "--full-tree", commit)):
            facts, _, path = row.partition("\t")
            mode, kind, blob = facts.split(" ")
            if kind == "blob" and mode != LINK:
                found[path] = blob
        return found

    def files(self) -> list[str]:
        """Return the files of the working tree, tracked and new ones, by their paths."""
        listed = self._listed("--cached", "--others", "--exclude-standard")
        return sorted({*_rows(listed)})

    def left_out(self) -> set[str]:
        """Return the files that a sparse checkout leaves out of the working tree."""
        rows = _rows(self._listed("-t", "--cached"))
        return {row.removeprefix("S ") for row in rows if row.startswith("S ")}

    def conflicts(self) -> set[str]:
        """Return the files that a merge left with conflicts."""
        return {row.partition("\t")[2] for row in _rows(self._listed("--unmerged"))}

    def _listed(self, *options: str) -> bytes:
        return self.run("-C", str(self.root), "ls-files", "-z", *options)

    def contents(self, blobs: Sequence[str]) -> list[bytes]:
        """Return the content of blobs, all read by one process."""
        if not blobs:
            return []
        answer = self.run("cat-file", "--batch", given="".join(f"{it}\n" for it in blobs).encode())
        found: list[bytes] = []
        start = 0
        for _ in blobs:
            end = answer.index(b"\n", start)
            if answer.endswith(b" missing", start, end):
                raise UsageError("git has not all files of the revision: fetch them first")
            size = int(answer[start:end].rpartition(b" ")[2])
            found.append(answer[end + 1 : end + 1 + size])
            start = end + size + 2
        return found

    @contextmanager
    def checkout(self, commit: str) -> Generator[Path]:
        """Give a new folder with the files of a commit; it is removed at the end.

        An index of its own is used: neither the working tree nor the repository is changed.
        """
        with tempfile.TemporaryDirectory(prefix="promptdsl-") as folder:
            files = Path(folder).resolve() / "files"
            index = {"GIT_INDEX_FILE": os.path.join(folder, "index")}
            self.run("read-tree", commit, environment=index)
            prefix = f"--prefix={files}{os.sep}"
            self.run("-C", str(self.root), "checkout-index", "-a", "-q", prefix, environment=index)
            files.mkdir(exist_ok=True)
            yield files


def _rows(listed: bytes) -> list[str]:
    """Return the rows of a list of git; each ends with a zero byte, as names may have line ends."""
    return [os.fsdecode(row) for row in listed.split(b"\0")[:-1]]
