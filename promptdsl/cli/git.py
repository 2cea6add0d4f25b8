"""Reading from git: the files at a revision, and a clean checkout of one in a new folder."""

import os
import subprocess
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from promptdsl.cli.errors import UsageError, near

# No hook or monitor of the repository is run, but filters of files are. Names are not patterns.
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
        self, *arguments: str, stdin: bytes = b"", environment: dict[str, str] | None = None
    ) -> bytes:
        """Return the output of a git command. Raises :class:`UsageError` with its message."""
        try:
            done = subprocess.run(
                [*GIT, *arguments],
                input=stdin,
                capture_output=True,
                check=True,
                cwd=self.here,
                env={**os.environ, "LC_ALL": "C", **(environment or {})},
            )
        except FileNotFoundError:
            raise UsageError("git is not installed") from None
        except subprocess.CalledProcessError as error:
            problem = error.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
            raise UsageError(f"git: {problem.splitlines()[0] if problem else 'failed'}") from None
        return done.stdout

    def commit(self, revision: str) -> str:
        """Return the id of a commit. Raises :class:`UsageError` with the nearest names."""
        name = f"{revision}^{{commit}}"
        try:
            commit = self.run("rev-parse", "--verify", "--quiet", "--end-of-options", name)
        except UsageError:
            refs = self.run("for-each-ref", "--format=%(refname:short)").decode("utf-8", "replace")
            advice = near(revision, refs.split())
            if self.run("rev-parse", "--is-shallow-repository") == b"true\n":
                advice += "\n  the clone is shallow: fetch all of it with git fetch --unshallow"
            raise UsageError(f"no such revision: {revision}{advice}") from None
        return commit.decode().strip()

    def merge_base(self, commit: str) -> str | None:
        """Return the last common commit of HEAD and another commit; ``None`` if there is none."""
        try:
            return self.run("merge-base", commit, "HEAD").decode().split()[0]
        except (UsageError, IndexError):
            return None

    def path(self, path: str) -> str:
        """Return a path relative to the root; ``""`` for the root itself."""
        full = os.path.normpath(self.here.resolve() / path)
        if os.path.isabs(path):
            full = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        inside = Path(os.path.relpath(full, self.root.resolve())).as_posix()
        if inside.split("/")[0] == "..":
            raise UsageError(f"{path} is outside of {self.root}")
        return "" if inside == "." else inside

    def blobs(self, commit: str) -> dict[str, str]:
        """Return the ids of the files of a commit by their paths from the root."""
        blobs: dict[str, str] = {}
        for row in _rows(self.run("ls-tree", "-r", "-z", "--full-tree", commit)):
            facts, _, path = row.partition("\t")
            mode, kind, blob = facts.split(" ")
            if kind == "blob" and mode != LINK:
                blobs[path] = blob
        return blobs

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
        answer = self.run("cat-file", "--batch", stdin="".join(f"{id}\n" for id in blobs).encode())
        contents: list[bytes] = []
        start = 0
        for _ in blobs:
            end = answer.index(b"\n", start)
            if answer.endswith(b" missing", start, end):
                raise UsageError(
                    "some files of the revision are not in this clone: fetch them first"
                )
            size = int(answer[start:end].rpartition(b" ")[2])
            contents.append(answer[end + 1 : end + 1 + size])
            start = end + size + 2
        return contents

    @contextmanager
    def checkout(self, commit: str) -> Generator[Path]:
        """Give a new folder with the files of a commit; it is removed at the end.

        It uses a separate index, so that neither the working tree nor the repository is changed.
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
    """Return the rows of a list of git; rows end with a zero byte, as names may have line ends."""
    return [os.fsdecode(row) for row in listed.split(b"\0")[:-1]]
