"""What is remembered of texts: bounded by their length, and shared by threads."""

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from tests.internals import OVERHEAD, TextCache


def test_what_is_put_is_got() -> None:
    """What is known of a text is remembered, 0 too, and of another text nothing is known."""
    memory: TextCache[int] = TextCache(10_000)
    memory.put("a", 0)
    assert (0, None) == (memory.get("a"), memory.get("b"))


@given(st.lists(st.integers(0, 2_000), max_size=50))
def test_any_texts_are_bounded_by_their_characters(sizes: list[int]) -> None:
    """Whatever is put, no more characters are held than there is room for."""
    memory: TextCache[int] = TextCache(10_000)
    for number, size in enumerate(sizes):
        memory.put(f"{number}{'x' * size}", number)
    held = [*memory.younger, *memory._older]
    assert sum(len(text) + OVERHEAD for text in held) <= 10_000


def test_what_is_too_long_is_not_remembered() -> None:
    """A text of half of all characters is not held, and drives nothing out."""
    memory: TextCache[int] = TextCache(1_000)
    memory.put("a", 1)
    memory.put("x" * 500, 2)
    assert (1, None) == (memory.get("a"), memory.get("x" * 500))


def test_what_is_in_use_stays() -> None:
    """A text that is asked for again and again is held, whatever else is put."""
    memory: TextCache[int] = TextCache(1_000)
    memory.put("a", 1)
    kept = [(memory.put(f"{n}", n), memory.get("a"))[1] for n in range(1, 100)]
    assert [1] * 99 == kept


def test_what_is_not_in_use_goes() -> None:
    """A text that nobody asks for is forgotten."""
    memory: TextCache[int] = TextCache(1_000)
    for number in range(100):
        memory.put(f"{number}", number)
    assert (None, 99) == (memory.get("0"), memory.get("99"))


def test_threads_share_it() -> None:
    """Threads that put and get at once get what was put, and the bound holds."""
    memory: TextCache[int] = TextCache(5_000)

    def work(start: int) -> bool:
        numbers = [n % 97 for n in range(start, start + 2_000)]
        found = [(memory.put(f"{n}", n), memory.get(f"{n}"))[1] for n in numbers]
        return all(got in (n, None) for got, n in zip(found, numbers, strict=True))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
    assert len(memory) <= 5_000 // OVERHEAD
