"""Transcripts in files: whole after any fault, damage found by line and byte, one writer."""

import gc
import os
import re
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from promptdsl import ConflictError, Message, OptionError, ToolUseBlock, Transcript, TranscriptError

SAMPLE = Path(__file__).parents[1] / "samples" / "transcript-0.1.0.jsonl"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a file with six entries."""
    path = tmp_path / "a.jsonl"
    with Transcript.open(path, clock=None) as transcript:
        transcript.append("Grüße \u2028 \ud800")
        transcript.append(Message("assistant", [ToolUseBlock("c", "f", "{}")]))
        transcript.answer("c", "1")
        transcript.append(Message("assistant", "Ok."))
        transcript.replace(1, "Hi.")
        transcript.tag(title="T")
    return path


def read(path: Path, **options: bool) -> Transcript:
    """Return the transcript in a file."""
    with Transcript.open(path, read_only=True, **options) as transcript:
        return transcript


@pytest.mark.parametrize("step", [31, pytest.param(1, marks=pytest.mark.slow)])
def test_every_cut_opens(path: Path, step: int) -> None:
    """A file that ends at any byte opens with the whole lines before, and is written on."""
    data = path.read_bytes()
    whole = read(path).entries
    for end in range(0, len(data) + 1, step):
        path.write_bytes(data[:end])
        count = max(data[:end].count(b"\n") - 1, 0)
        assert read(path).entries == whole[:count]
        if end % 40 == 0:
            with Transcript.open(path) as transcript:
                transcript.note(1)
            assert len(read(path).entries) == count + 1


@pytest.mark.parametrize("step", [53, pytest.param(1, marks=pytest.mark.slow)])
def test_every_flipped_bit_is_found(path: Path, step: int) -> None:
    """A bit that flips is found, with line and byte; at the last line end the last record goes."""
    data = b"".join(path.read_bytes().splitlines(keepends=True)[:3])
    for place in (*range(0, len(data), step), len(data) - 1):
        for bit in range(8):
            flipped = bytearray(data)
            flipped[place] ^= 1 << bit
            path.write_bytes(flipped)
            if place == len(data) - 1:
                assert len(read(path).entries) == 1
                continue
            with pytest.raises(TranscriptError, match=r"line \d+ at byte \d+"):
                read(path)


@pytest.mark.parametrize("kind", ["lost", "doubled", "swapped"])
def test_lines_that_moved_are_found(path: Path, kind: str) -> None:
    """A line that is lost, doubled or in another place is found; salvage reads what is good."""
    lines = path.read_bytes().splitlines(keepends=True)
    for index in range(2, len(lines) - 1):
        changed = [*lines]
        if kind == "lost":
            del changed[index]
        elif kind == "doubled":
            changed.insert(index, lines[index])
        else:
            changed[index : index + 2] = reversed(lines[index : index + 2])
        path.write_bytes(b"".join(changed))
        with pytest.raises(TranscriptError, match="lost, doubled or moved"):
            read(path)
        good = read(path, salvage=True)
        assert len(good) >= (2 if kind == "lost" else 4)
        assert good.repairs or kind == "swapped"


def test_a_salvaged_copy_opens(path: Path) -> None:
    """What is good of a damaged file can be written to another one, which opens."""
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], *lines[3:]]))
    good = read(path, salvage=True)
    assert [message.role for message in good] == ["user", "assistant"]
    assert "entries 2 to 2 are missing" in good.repairs
    copy = path.with_name("b.jsonl")
    good.vacuum(copy)
    assert read(copy).messages == good.messages


def test_one_writer(path: Path) -> None:
    """A second writer is refused at once; readers follow the first."""
    with Transcript.open(path) as transcript, Transcript.open(path, read_only=True) as reader:
        with pytest.raises(ConflictError, match="another writer") as caught:
            Transcript.open(path)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__
        for write in (transcript.save, transcript.vacuum):
            with pytest.raises(ConflictError):
                write(path)
        transcript.append("More.")
        assert [entry.number for entry in reader.refresh()] == [7]
        assert reader.messages == transcript.messages
        with pytest.raises(TranscriptError, match="read-only"):
            reader.append("x")
    with pytest.raises(TranscriptError, match="closed"):
        transcript.append("x")
    assert len(transcript) == 5
    if os.name == "posix":
        assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_does_not_keep_a_file_locked(path: Path) -> None:
    """A file that was closed has no writer; a child that closes it does not end the lock."""
    with Transcript.open(path) as transcript:
        if (child := os.fork()) == 0:
            transcript.close()
            signal.pause()
        with pytest.raises(ConflictError):
            Transcript.open(path)
    try:
        Transcript.open(path).close()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_does_not_write_to_the_file_of_its_parent(path: Path) -> None:
    """A transcript that a parent opened is refused in a child: both would write the same entry."""
    with Transcript.open(path) as transcript, Transcript.open(path, read_only=True) as reader:
        if (child := os.fork()) == 0:
            for change in (lambda: transcript.append("child"), reader.refresh):
                with pytest.raises(ConflictError, match="forked"):
                    change()
            os._exit(0)
        assert (child, 0) == os.waitpid(child, 0)
        transcript.append("parent")
        assert 1 == len(reader.refresh())
    assert "parent" == read(path)[-1].text


def test_a_transcript_that_nobody_closes(path: Path) -> None:
    """Its lock and its descriptor end with the object, with a warning; closed ones warn not."""

    def open_and_drop(*, read_only: bool) -> None:
        assert len(Transcript.open(path, read_only=read_only)) > 0
        gc.collect()

    for read_only in (True, False):
        with pytest.warns(ResourceWarning, match="was not closed"):
            open_and_drop(read_only=read_only)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Transcript.open(path) as transcript:
            transcript.append("more")
        del transcript
        gc.collect()
    if os.path.isdir("/proc/self/fd"):
        names = [os.path.realpath(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")]
        assert str(path) not in names


@pytest.mark.skipif(os.name != "posix", reason="an open file cannot be replaced on Windows")
@pytest.mark.parametrize("is_linked", [False, True])
def test_a_file_that_was_replaced(path: Path, is_linked: bool) -> None:
    """Neither a writer nor a reader goes on in a file that another one replaced."""
    if is_linked:
        os.link(path, path.with_name("backup.jsonl"))
    other = path.with_name("b.jsonl")
    read(path).save(other)
    with Transcript.open(path) as transcript, Transcript.open(path, read_only=True) as reader:
        os.replace(other, path)
        for change in (lambda: transcript.append("lost"), reader.refresh):
            with pytest.raises(ConflictError, match="replaced by another file"):
                change()
        assert len(transcript.entries) == len(read(path).entries) == 6


def test_a_refresh_that_fails_takes_nothing(path: Path) -> None:
    """Entries before a damaged line are not passed over."""
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3]))
    with Transcript.open(path, read_only=True) as reader:
        path.write_bytes(b"".join([*lines[:5], b"{}\n"]))
        for _ in range(2):
            with pytest.raises(TranscriptError, match="line 6"):
                reader.refresh()
        path.write_bytes(b"".join(lines))
        assert [entry.number for entry in reader.refresh()] == [3, 4, 5, 6]


@pytest.mark.parametrize("name", ["write", "fsync", "lseek", "fstat"])
def test_a_call_that_fails_leaves_no_trace(
    path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What raised is not in the file, and what returned is."""
    real: Callable[..., Any] = getattr(os, name)
    with Transcript.open(path) as transcript:
        before = path.read_bytes()

        def fail_once(*args: object) -> object:
            monkeypatch.setattr(os, name, real)
            if name == "write":
                real(args[0], b'{"half')
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, name, fail_once)
        with pytest.raises(TranscriptError, match="No space left") as caught:
            transcript.append("lost")
        assert isinstance(caught.value.__cause__, OSError)
        assert path.read_bytes() == before
        transcript.append("kept")
    assert read(path)[-1].text == "kept"
    assert len(read(path).entries) == 7


def test_every_change_is_on_the_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of several entries is one write, then one fsync."""
    calls: list[str] = []
    for name in ("write", "fsync", "ftruncate"):
        real: Callable[..., Any] = getattr(os, name)

        def noted(*args: Any, name: str = name, real: Callable[..., Any] = real) -> Any:
            calls.append(name)
            return real(*args)

        monkeypatch.setattr(os, name, noted)
    with Transcript.open(path) as transcript:
        transcript.append(Message("assistant", [ToolUseBlock("d", "f", "{}")]))
        transcript.append("Stop.", interrupt=True)
    assert calls == ["write", "fsync"] * 2


LIMITED = """
import resource, signal, sys
sys.dont_write_bytecode = True  # a compiled module that is cut short stays broken
from promptdsl import Transcript, TranscriptError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
with Transcript.open(sys.argv[1]) as transcript:
    try:
        while True:
            transcript.append("x" * 100)
    except TranscriptError as error:
        print(len(transcript), error.what)
"""
ENDLESS = """
import sys
from promptdsl import Transcript
with Transcript.open(sys.argv[1]) as transcript:
    while True:
        print(transcript.append("x").number, flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="limits and signals of POSIX")
def test_a_full_disk(tmp_path: Path) -> None:
    """A file that cannot grow has what was returned, and nothing else."""
    path = tmp_path / "a.jsonl"
    command = [sys.executable, "-c", LIMITED, str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert re.search("too large", done.stdout, re.IGNORECASE)
    assert len(read(path)) == int(done.stdout.split()[0])
    assert read(path).repairs == ()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("wanted", [1, 5, 20])
def test_a_killed_writer(tmp_path: Path, wanted: int) -> None:
    """What a writer was told is recorded is there after it was killed."""
    path = tmp_path / "a.jsonl"
    command = [sys.executable, "-c", ENDLESS, str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        told = [writer.stdout.readline() for _ in range(wanted)]
        writer.send_signal(signal.SIGKILL)
        told += [line for line in writer.stdout if line.endswith("\n")]
    with Transcript.open(path) as transcript:
        assert len(transcript) in (len(told), len(told) + 1)


def test_the_file_of_a_release(tmp_path: Path) -> None:
    """A file of every release is read, kept to the byte, and written on."""
    data = SAMPLE.read_bytes()
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)
    with Transcript.open(path, clock=None) as transcript:
        assert transcript[0].text.startswith("<summary>")
        assert transcript.metadata == {"title": "Invoice 1881"}
        assert {entry.type for entry in transcript.entries} == {
            *("message", "replace", "remove", "summary", "undo", "note", "metadata", "erased"),
        }
        transcript.save(tmp_path / "b.jsonl")
        assert (tmp_path / "b.jsonl").read_bytes() == data
        transcript.append("Thanks.")
    assert path.read_bytes().startswith(data)


def with_line(path: Path, number: int, kind: str, data: str) -> bytes:
    """Add a line as a newer version would write it."""
    from zlib import crc32

    body = f'{{"n":{number},"type":"{kind}","data":{data},"new": [1.0]}}'.encode()
    line = body[:-1] + b',"sum":"%08x"}\n' % crc32(body)
    path.write_bytes(path.read_bytes() + line)
    return line


@pytest.mark.parametrize(
    ("kind", "data"),
    [("vote", '{"up":1}'), ("message", '{"message":{"role":"judge"}}'), ("undo", '{"far":1}')],
)
def test_an_entry_of_a_newer_version(path: Path, kind: str, data: str) -> None:
    """What this version cannot read is kept to the byte, and makes the transcript read-only."""
    line = with_line(path, 7, kind, data)
    with Transcript.open(path) as transcript:
        assert len(transcript) == 4
        assert transcript.entries[-1].type == kind
        with pytest.raises(TranscriptError, match="unknown type"):
            transcript.append("x")
        with pytest.raises(TranscriptError, match="cannot read"):
            transcript.vacuum(path.with_name("b.jsonl"))
        transcript.save(path.with_name("b.jsonl"))
    assert path.with_name("b.jsonl").read_bytes().endswith(line)


def test_a_key_of_a_newer_version_is_kept(path: Path) -> None:
    """A line with a further key is read, and copied to the byte."""
    line = with_line(path, 7, "note", '{"note":1}')
    assert [entry.line for entry in read(path).entries] == [None] * 6 + [line]
    read(path).save(path.with_name("b.jsonl"))
    assert path.with_name("b.jsonl").read_bytes().endswith(line)


def summed(body: str) -> bytes:
    """Return a line with the right checksum."""
    from zlib import crc32

    return body[:-1].encode() + b',"sum":"%08x"}\n' % crc32(body.encode())


TWICE = [
    '{"n":7,"n":8,"type":"note","data":{"note":1}}',
    '{"n":7,"type":"note","data":{"note":[{"a":1,"a":1}]}}',
    '{"n":7,"type":"note","data":{"note":{"a" :1,"a":1}}}',
    '{"n":7,"type":"note","data":{"note":{"a"\t:":","a"\t:2}}}',
    '{"n":7,"type":"note","data":{"note":{"a\\\\":":","a\\\\":2}}}',
    '{"n":7,"type":"note","data":{"note":{"a":1,"\\u0061":2}}}',
]
ONCE = [
    '{"n":7,"type":"note","data":{"note":{"a":":","b":"\\":","c :" :"\\\\"}}}',
    ' {"n":7,"type":"note","data":{"note":[{"a":1},{"a":1}]}}',
]


@pytest.mark.parametrize(
    ("body", "is_twice"), [*((b, True) for b in TWICE), *((b, False) for b in ONCE)]
)
def test_a_key_that_is_there_twice(path: Path, body: str, is_twice: bool) -> None:
    """A line whose data would lose one of two keys is damaged."""
    path.write_bytes(path.read_bytes() + summed(body))
    if not is_twice:
        assert len(read(path).entries) == 7
        return
    with pytest.raises(TranscriptError, match=r"line 8 .* it has a key twice"):
        read(path)


DAMAGED = {
    '{"n":7}}': "it is not a JSON object",
    '7,{"n":7}': "it is not a JSON object",
    '{"n":7,"data":NaN}': "it is not JSON",
    '{"a":' * 100_000 + "1" + "}" * 100_000: "it is nested too deep",
    '{"n":0,"type":"note","data":{}}': "it has no number, type or data",
    '{"n":7.0,"type":"note","data":{}}': "it has no number, type or data",
    '{"n":7,"type":null,"data":{}}': "it has no number, type or data",
    '{"n":7,"type":"note"}': "it has no number, type or data",
    '{"n":7,"at":1,"type":"note","data":{}}': "its time or the number of its change is wrong",
    '{"n":7,"change":8,"type":"note","data":{}}': "its time or the number of its change is wrong",
    '{"n":7,"change":0,"type":"note","data":{}}': "its time or the number of its change is wrong",
    '{"n":7,"type":"undo","data":{"to":7}}': "it undoes changes back to an entry that does not come before it",
    '{"n":7,"type":"undo","data":{"to":-1}}': "it undoes changes back to an entry that does not come before it",
    '{"n":9,"type":"note","data":{}}': "it is entry 9 after 6: lines were lost, doubled or moved",
}


@pytest.mark.parametrize("body", DAMAGED, ids=DAMAGED.values())
def test_what_is_wrong_with_a_line(path: Path, body: str) -> None:
    """A line with the right checksum and other content is told with line, byte and reason."""
    end = path.stat().st_size
    path.write_bytes(path.read_bytes() + summed(body))
    with pytest.raises(TranscriptError) as caught:
        read(path)
    assert caught.value.what == f"line 8 at byte {end} of {str(path)!r} is damaged: {DAMAGED[body]}"
    assert len(read(path, salvage=True).entries) in (6, 7)


def test_two_readers_of_one_writer(path: Path) -> None:
    """Each reads on from where it was: two entries at once, or one by one."""
    with Transcript.open(path, read_only=True) as first:
        start = path.stat().st_size
        with Transcript.open(path) as writer:
            writer.note("one")
            assert [7] == [entry.number for entry in first.refresh()]
            with Transcript.open(path, read_only=True) as second:
                writer.append(Message("assistant", [ToolUseBlock("d", "f", "{}")]))
                writer.append("Stop.", interrupt=True)
                assert [8, 9, 10] == [entry.number for entry in first.refresh()]
                writer.note("two")
                assert [8, 9, 10, 11] == [entry.number for entry in second.refresh()]
                assert [11] == [entry.number for entry in first.refresh()]
                assert first.turns == second.turns == writer.turns
        lines = path.read_bytes()[start:].splitlines(keepends=True)
        path.write_bytes(path.read_bytes() + lines[0] + lines[-1])
        with pytest.raises(TranscriptError) as caught:
            first.refresh()
    end = start + sum(map(len, lines))
    gap = "it is entry 7 after 11: lines were lost, doubled or moved"
    assert f"line 13 at byte {end} of {str(path)!r} is damaged: {gap}" == caught.value.what


def test_two_lines_that_are_damaged(path: Path) -> None:
    """The first one is told; salvage tells both, and reads the one between them."""
    lines = path.read_bytes().splitlines(keepends=True)
    for number in (4, 6):
        lines[number] = lines[number].replace(b'"data"', b'"Data"')
    path.write_bytes(b"".join(lines))
    starts = [sum(map(len, lines[:number])) for number in (4, 6)]
    changed = "its checksum is wrong: its bytes were changed"
    places = [
        f"line {n} at byte {at} of {str(path)!r}" for n, at in zip((5, 7), starts, strict=True)
    ]
    with pytest.raises(TranscriptError) as caught:
        read(path)
    assert f"{places[0]} is damaged: {changed}" == caught.value.what
    good = read(path, salvage=True)
    assert [
        *(f"{place} is left out: {changed}" for place in places),
        "entries 4 to 4 are missing",
    ] == [*good.repairs]
    assert [1, 2, 3, 5] == [entry.number for entry in good.entries]


@pytest.mark.parametrize("version", ["2.0", "10.1", None])
def test_the_version_of_a_file(path: Path, version: str | None) -> None:
    """A file of a later form is refused, one of a later version of this form is read."""
    from json import dumps, loads

    header, *lines = path.read_bytes().splitlines(keepends=True)
    form = loads(header)["format"]
    for known in (version, "1.7"):
        header = summed(dumps({"format": form, "version": known}))
        path.write_bytes(b"".join([header, *lines]))
        if known == "1.7":
            assert len(read(path)) == 4
            continue
        with pytest.raises(TranscriptError, match=f"has the format version {version}"):
            read(path)
    path.write_bytes(b"".join([summed('{"format":"other"}'), *lines]))
    with pytest.raises(TranscriptError, match="it is not the header of a transcript"):
        read(path)


@pytest.mark.parametrize("rest", ['"also":[9]', '"rest":{"9":{"role":"tool"}}', '"also":[]'])
def test_an_edit_of_what_is_not_there(path: Path, rest: str) -> None:
    """An edit of a turn that does not stand is an error, also of one result."""
    turn = 99 if rest == '"also":[]' else 2
    body = f'{{"n":7,"type":"remove","data":{{"turn":{turn},{rest}}}}}'
    path.write_bytes(path.read_bytes() + summed(body))
    with pytest.raises(TranscriptError, match="entry 7 changes a turn that is not current"):
        read(path)


UNREADABLE = [
    '"message","data":{"message":{"role":"user","content":5}}',
    '"replace","data":{"turn":1,"message":{"role":"user","content":[{"type":3}]}}',
    '"remove","data":{"turn":2,"rest":{"3":{"role":"tool","content":"x"}}}',
]


@pytest.mark.parametrize("rest", UNREADABLE)
def test_a_message_that_cannot_be_read(path: Path, rest: str) -> None:
    """A message that another program wrote wrong is an error; salvage leaves it out."""
    whole = read(path).messages
    path.write_bytes(path.read_bytes() + summed(f'{{"n":7,"type":{rest}}}'))
    with pytest.raises(TranscriptError, match="entry 7 cannot be read"):
        read(path).messages  # noqa: B018
    good = read(path, salvage=True)
    assert good.messages == whole
    told = re.fullmatch("entry 7 cannot be read: (.+)", good.repairs[0])
    assert told is not None
    assert "\n" not in told[1]


@pytest.mark.parametrize("kind", ["message", "replace", "remove", "summary", "undo", "metadata"])
@pytest.mark.parametrize(
    "data",
    [
        *("[]", "{}", '{"to":"1"}', '{"turn":1,"also":[[]]}', '{"turn":1,"rest":{"x":{}}}'),
        *('{"upto":2}', '{"text":1,"upto":2}', '{"message":{"role":[]}}', '{"metadata":[]}'),
        '{"turn":{},"message":{"role":"user","content":"x"}}',
        *('{"to":1,"more":1}', '{"text":"x","upto":2,"more":1}', '{"text":"x","upto":true}'),
        *('{"turn":1,"also":[3,"4"]}', '{"turn":1,"also":[3],"rest":[]}'),
        '{"turn":1,"also":[],"rest":{"3":{"role":"tool"},"4":{"role":"judge"}}}',
        '{"turn":1,"rest":{"3":{"role":"tool"},"4x":{"role":"tool"}}}',
        '{"turn":1,"message":{"role":"user","content":"x"},"reply":[]}',
        '{"message":{"role":"user","content":"x"},"reply":{},"also":[]}',
        '{"message":{"role":"user","content":"x","new":1}}',
    ],
)
def test_data_of_another_shape(path: Path, kind: str, data: str) -> None:
    """Data that this version does not know is that of a newer one."""
    path.write_bytes(path.read_bytes() + summed(f'{{"n":7,"type":"{kind}","data":{data}}}'))
    with Transcript.open(path) as transcript:
        assert len(transcript) == 4
        with pytest.raises(TranscriptError, match="unknown type"):
            transcript.note(1)
    assert read(path, salvage=True).messages == transcript.messages


@pytest.mark.parametrize("data", [b"Dear diary\n", b"{}\n", b"x", b'{"n":1}\n'])
def test_another_file_is_not_touched(tmp_path: Path, data: bytes) -> None:
    """A file that is not a transcript is refused, and stays as it is."""
    path = tmp_path / "diary"
    path.write_bytes(data)
    with pytest.raises(TranscriptError):
        Transcript.open(path)
    assert path.read_bytes() == data
    with pytest.raises(TranscriptError, match="cannot open"):
        Transcript.open(tmp_path / "none", read_only=True)


def test_a_vacuumed_file_has_only_what_stands(tmp_path: Path) -> None:
    """What was removed, replaced, undone, summarised or untagged is not in the new file."""
    transcript = Transcript(["secret-1", "secret-2", "b", "c", "secret-3", "d"])
    transcript.tag(owner="secret-4", title="T")
    transcript.tag(owner=None)
    transcript.compact("short", keep=4)
    transcript.replace(4, "C")
    transcript.remove(5)
    transcript.note("secret-5")
    transcript.append("secret-6")
    transcript.undo(11)
    transcript.append(Message("assistant", [ToolUseBlock("c", "f", "{}")]))
    transcript.append("Stop.", interrupt=True)
    path, copy = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    transcript.vacuum(path)
    transcript.save(copy)
    assert b"secret" not in path.read_bytes()
    assert b'"change"' not in path.read_bytes()
    read(copy).vacuum(copy)
    assert copy.read_bytes() == path.read_bytes()
    read(path).save(copy)
    assert copy.read_bytes() == path.read_bytes()
    assert read(path).turns == transcript.turns
    assert read(path).metadata == {"title": "T"}


def test_a_number_is_no_path(tmp_path: Path) -> None:
    """The descriptor of an open file is not taken for a path, and stays open."""
    with (tmp_path / "other.txt").open("w") as file:
        path: Any = file.fileno()
        with pytest.raises(OptionError, match="is not a path"):
            Transcript.open(path)
        file.write("still open")
    assert "still open" == (tmp_path / "other.txt").read_text()


@pytest.mark.parametrize("path", [5, "a\0b", None, b"a"])
def test_what_is_no_path(path: Any) -> None:
    """A path is a text or a ``Path``: anything else is refused by name."""
    for use in (Transcript.open, Transcript().save):
        with pytest.raises(OptionError, match="is not a path"):
            use(path)
