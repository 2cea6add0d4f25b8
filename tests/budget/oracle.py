"""What a budget keeps, worked out the slow way: one removal after the other, all weighed each time.

This is section 1 of the rules on budgets, taken literally, on prompts that are described as data.
It knows nothing of nodes and prefix sums, and of frames only how many tokens they are, and that
neighbours who speak as one have one.
"""

from collections.abc import Iterator
from itertools import pairwise, takewhile
from math import inf

import attrs

from tests.budget.descriptions import K, Part, below

Words = frozenset[str]
Turns = tuple[Part, ...]
TURNS = ("user", "assistant", "tool", "developer", "event")
FRAMED = frozenset({*TURNS, "ephemeral", "grounding"})
"""What is a message of its own; all system content is one."""
FRAME = 3
"""The tokens around a message, and those that an answer begins with."""


@attrs.frozen
class Removal:
    """What goes in one go, and what comes in its place.

    ``unit`` are the numbers of the units it stands in and its own, the outermost first.
    ``history`` is the recorded conversation an exchange or round is of, if it is one.
    """

    unit: tuple[int, ...]
    gone: Words
    come: Words = frozenset()
    history: Part | None = None


def kept(tree: Part, limit: int, step: int) -> list[str] | None:
    """Return the words that stay, in document order; ``None`` when what is required is too much.

    ``step`` is an eighth of the budget: for a history that says none, the smallest step.
    """
    order = removals(tree)
    count = _least(tree, order, limit)
    if count is None:
        return None
    count = _stepped(tree, order, count, limit=limit, step=step)
    gone = [*range(count)]
    _put_back(tree, order, gone, limit=limit, step=step)
    return shown(tree, _present(tree, order, gone))


def least(tree: Part) -> int:
    """Return the tokens of what is required."""
    order = removals(tree)
    return size(tree, _present(tree, order, [*range(len(order))]))


def shown(tree: Part, present: Words) -> list[str]:
    """Return the words and the titles that are seen, in document order."""
    return [part.word for part in below(tree) if part.word in present or _titled(part, present)]


def _titled(part: Part, present: Words) -> bool:
    return part.kind == "section" and part.weight > 0 and bool(words_of(part) & present)


# How much there is.


def size(tree: Part, present: Words) -> int:
    """Return the tokens of the words that are there, of their titles and of their turns' frames.

    Neighbours that merge have one frame.
    """
    seen = [part for part in below(tree) if part.word in present or _titled(part, present)]
    return sum(part.weight for part in seen) * K + len(merged(tree, present)) * FRAME


def merged(tree: Part, present: Words) -> list[str]:
    """Return what is sent as a message of its own, by who speaks, in the order of sending."""
    said = [part for part in below(tree) if part.kind in FRAMED and words_of(part) & present]
    recorded = {one.number for part in below(tree) if part.kind == "history" for one in below(part)}
    rest = [part for part in said if part.kind != "grounding"]
    asked = [index for index, part in enumerate(rest) if part.kind == "user"]
    place = asked[-1] if asked else len(rest)
    rest[place:place] = [part for part in said if part.kind == "grounding"]
    speakers = [_speaker(part, is_recorded=part.number in recorded) for part in rest]
    instructs = [part for part in _among_turns(tree) if part.kind in ("system", "section")]
    if tree.kind == "timeline" and any(words_of(part) & present for part in instructs):
        speakers.insert(0, "system")
    return [
        speaker
        for before, speaker in pairwise(["", *speakers])
        if before != speaker or speaker == "tool"
    ]


def _speaker(turn: Part, *, is_recorded: bool) -> str:
    if turn.kind in ("event", "ephemeral", "grounding"):
        return "user"
    return f"{turn.kind} of a recording" if turn.kind == "developer" and is_recorded else turn.kind


def sent(tree: Part, present: Words) -> int:
    """Return the tokens of a request: of what is there, and of the beginning of an answer."""
    return size(tree, present) + FRAME


def _among_turns(part: Part) -> Iterator[Part]:
    for inner in part.parts:
        yield inner
        if inner.kind in ("fragment", "group", "first_fit", "history"):
            yield from _among_turns(inner)


def sizes(tree: Part, back: int) -> list[int]:
    """Return the tokens of a request as it shrinks, by what is gone up to there.

    The ``back``-th last of it is back again.
    """
    order = removals(tree)
    gone = [[*range(count)] for count in range(len(order) + 1)]
    left = [one[: len(one) - back] + one[len(one) - back + 1 :] if back else one for one in gone]
    return [sent(tree, _present(tree, order, one)) for one in left]


def leaves(part: Part) -> Words:
    """Return the words of a part: of what has several forms, those of the first."""
    if part.kind in ("words", "call"):
        return frozenset({part.word})
    inner = part.parts[:1] if part.kind == "first_fit" else part.parts
    return frozenset[str]().union(*map(leaves, inner))


def words_of(part: Part) -> Words:
    """Return all words of a part, of every form."""
    return frozenset(one.word for one in below(part) if one.kind in ("words", "call"))


def _present(tree: Part, order: list[Removal], gone: list[int]) -> Words:
    present = leaves(tree)
    for index in gone:
        present = present - order[index].gone | order[index].come
    return present


def _fits(tree: Part, order: list[Removal], gone: list[int], limit: int) -> bool:
    return sent(tree, _present(tree, order, gone)) <= limit


# In which order it goes.


def removals(tree: Part) -> list[Removal]:
    """Return what can go, in the order in which it does."""
    return [*_of_scope(tree, tree, ())]


def _of_scope(scope: Part, tree: Part, around: tuple[int, ...]) -> Iterator[Removal]:
    for unit in sorted(_units(scope, tree), key=lambda unit: _rank(unit, tree)):
        path = (*around, unit[0].number)
        if len(unit) > 1 or unit[0].kind == "group":
            yield Removal(path, frozenset[str]().union(*map(leaves, unit)))
        elif unit[0].kind == "first_fit":
            yield from _forms(unit[0], path)
        elif unit[0].kind == "history":
            items = items_of(unit[0], tree)
            yield from (Removal(path, item, history=unit[0]) for item in items)
        else:
            inside = [*_of_scope(unit[0], tree, path)]
            left = leaves(unit[0])
            for removal in inside:
                left = left - removal.gone | removal.come
            yield from inside
            yield Removal(path, left)


def _rank(unit: tuple[Part, ...], tree: Part) -> tuple[float, bool, int]:
    priorities = [_priority(part) for part in unit]
    lowest = min(inf if one is None else one for one in priorities)
    return lowest, unit[0].number < _protected(tree), unit[0].number


def _priority(part: Part) -> float | None:
    """Return the number a part has; a group without one has the lowest inside."""
    if part.kind != "group" or part.priority is not None:
        return part.priority
    inside = [one.priority for one in below(part) if one.priority is not None]
    return min(inside) if inside else None


def _protected(tree: Part) -> int:
    """Return the place of the last cache mark: what starts before it is covered."""
    marks = [part.number for part in below(tree) if part.kind == "mark"]
    marks += [max(inner.number for inner in below(part)) + 1 for part in below(tree) if part.cache]
    return max(marks, default=-1)


def _units(scope: Part, tree: Part) -> list[tuple[Part, ...]]:
    """Return what goes in one go in a scope; calls and results in several parts are one unit."""
    found: list[tuple[Part, ...]] = [(part,) for part in _alone(scope, tree)]
    for asked, told in _pairs(tree):
        with_call = next((unit for unit in found if _holds(unit, asked)), None)
        with_result = next((unit for unit in found if _holds(unit, told)), None)
        if with_call == with_result:
            continue
        found = [unit for unit in found if unit not in (with_call, with_result)]
        if with_call is not None and with_result is not None:
            found.append((*with_call, *with_result))
    return found


def _alone(scope: Part, tree: Part) -> Iterator[Part]:
    for part in scope.parts:
        if part.kind == "group":
            if _priority(part) is not None and not _asks(part, tree):
                yield part
        elif part.kind in ("first_fit", "history") or part.priority is not None:
            yield part
        else:
            yield from _alone(part, tree)


def _asks(part: Part, tree: Part) -> bool:
    """Return whether the last user turn or one after it stands in a group without a number."""
    turns = [one.number for one in below(part) if one.kind in TURNS]
    return part.priority is None and last_user(tree) <= max(turns, default=-2)


def last_user(tree: Part) -> int:
    """Return the place of the last turn a user wrote."""
    return max((part.number for part in below(tree) if part.kind == "user"), default=-1)


def _pairs(tree: Part) -> list[tuple[Part, Part]]:
    """Return the calls of written turns, each with the turn that answers it."""
    recorded = {one.number for part in below(tree) if part.kind == "history" for one in below(part)}
    written = [part for part in below(tree) if part.number not in recorded and part.id]
    told = {part.id: part for part in written if part.kind == "tool"}
    return [(part, told[part.id]) for part in written if part.kind == "call" and part.id in told]


def _holds(unit: tuple[Part, ...], part: Part) -> bool:
    return any(one.number == part.number for member in unit for one in below(member))


def _forms(part: Part, path: tuple[int, ...]) -> Iterator[Removal]:
    forms = [part.parts[0]]
    for form in part.parts[1:]:
        if size(form, leaves(form)) < size(forms[-1], leaves(forms[-1])):
            forms.append(form)
    for form, cheaper in pairwise(forms):
        yield Removal(path, leaves(form), leaves(cheaper))
    if part.priority is not None:
        yield Removal(path, leaves(forms[-1]))


# Recorded conversations.


def items_of(part: Part, tree: Part) -> list[Words]:
    """Return what can go of a history, oldest first: exchanges, rounds of the last, its rest."""
    free, _, rounds, rest = _taken_apart(part, tree)
    return [frozenset[str]().union(*map(leaves, one)) for one in [*free, *rounds, *rest]]


def _taken_apart(part: Part, tree: Part) -> tuple[list[Turns], Turns, list[Turns], list[Turns]]:
    """Return the exchanges that can go before the last, and of that the question that stays.

    Then the rounds of it that can go, and what is left of it when all of it can.
    """
    said = part.parts
    leading = len([*takewhile(lambda turn: turn.kind == "system", said)])
    starts = _starts(said)
    if not starts:
        return [], (), [], []
    bounds = [leading, *starts[1:], len(said)]
    exchanges = [said[a:b] for a, b in pairwise(bounds)]
    required = min(max(part.keep, _holds_on(part, tree)), len(exchanges))
    free = exchanges[: len(exchanges) - max(required, 1)]
    last = said[starts[-1] :]
    rounds = _rounds(last)[:-1] if required <= 1 else []
    if rounds and not free:
        # What is said before the first exchange goes with the first of them.
        rounds[0] = (*said[leading : starts[0]], *rounds[0])
    gone = {turn.number for one in rounds for turn in one}
    left = tuple(turn for turn in exchanges[-1] if turn.number not in gone)
    question = (*takewhile(lambda turn: turn.kind != "assistant", last),)
    return free, question, rounds, [] if required else [left]


def _starts(said: Turns) -> list[int]:
    """Return where exchanges start: at a user turn with no open call and no user turn before it.

    Instructions and events in between are none of the conversation's turns; the events directly
    before a user turn start its exchange.
    """
    starts: list[int] = []
    waiting: set[str] = set()
    last = ""
    for index, turn in enumerate(said):
        if turn.kind == "user" and not waiting and last != "user":
            events = [*takewhile(lambda turn: turn.kind == "event", reversed(said[:index]))]
            starts.append(index - len(events))
        waiting |= {one.id for one in turn.parts if one.kind == "call"}
        waiting -= {turn.id} if turn.kind == "tool" else set()
        last = turn.kind if turn.kind in ("user", "assistant", "tool") else last
    return starts


def _holds_on(part: Part, tree: Part) -> int:
    """Return 1 when the last exchange has the last user turn, or calls that are answered later."""
    inside = {one.number for one in below(part)}
    told = {turn.id for turn in part.parts if turn.kind == "tool"}
    waiting = {one.id for one in below(part) if one.kind == "call"} - told
    return int(last_user(tree) in inside or bool(waiting))


def _rounds(exchange: tuple[Part, ...]) -> list[tuple[Part, ...]]:
    """Return the assistant turns of an exchange, each with all that follows it."""
    starts = [index for index, turn in enumerate(exchange) if turn.kind == "assistant"]
    bounds = [*starts, len(exchange)]
    return [exchange[a:b] for a, b in pairwise(bounds)]


def starts_of(tree: Part, part: Part) -> list[int]:
    """Return where a history goes on after each cut: the tokens of it before that place.

    A cut among rounds is behind the question, which stays.
    """
    free, question, rounds, _ = _taken_apart(part, tree)
    items = items_of(part, tree)
    asked = frozenset[str]().union(*map(leaves, question))
    among = range(len(free) + 1, len(free) + len(rounds) + 1)
    return [
        size(part, frozenset[str]().union(*items[:cut], asked if cut in among else ()))
        for cut in range(len(items) + 1)
    ]


def positions(starts: list[int], step: int) -> list[int]:
    """Return where a history can be cut: at the first start of each multiple of the step."""
    if not step:
        return [*range(len(starts))]
    bounds = range(0, starts[-1] + 1, step)
    return sorted({_first(starts, bound) for bound in bounds})


def _first(starts: list[int], bound: int) -> int:
    return next((cut for cut, start in enumerate(starts) if start >= bound), len(starts) - 1)


def step_of(part: Part, tree: Part, limit: int, eighth: int) -> int:
    """Return the step of a history: by default the least that lets a cache serve 80 %, if any."""
    if part.step is not None:
        return part.step * K
    if not eighth:
        return 0
    budget = 8 * eighth
    alone = sum(size_alone(one) for one in _entries(tree) if one != part)
    room = limit - alone
    seen = min(budget // 2, max(room, eighth) // eighth * eighth)
    ends = [index for index, turn in enumerate(part.parts) if turn.kind == "assistant"]
    before = [sum(map(size_alone, part.parts[:end])) for end in ends]
    rounds = [b - a for a, b in pairwise(before) if b <= seen]
    usual = sum(rounds) // len(rounds) if rounds else seen
    return eighth if usual * 9 <= budget * (1 - 0.8) else budget // 4


def _entries(tree: Part) -> Iterator[Part]:
    for part in tree.parts:
        if part.kind == "fragment":
            yield from _entries(part)
        else:
            yield part


def size_alone(part: Part) -> int:
    """Return the tokens of a part in which nothing merges."""
    if part.kind == "first_fit":
        return size_alone(part.parts[0])
    if part.kind in ("group", "fragment", "history"):
        return sum(map(size_alone, part.parts))
    words = [one for one in below(part) if one.word in leaves(part) or _titled(one, leaves(part))]
    return sum(one.weight for one in words) * K + (FRAME if words else 0)


# How much of it goes.


def _least(tree: Part, order: list[Removal], limit: int) -> int | None:
    """Return the least number of removals with which it fits."""
    counts = range(len(order) + 1)
    return next((n for n in counts if _fits(tree, order, [*range(n)], limit)), None)


def _stepped(tree: Part, order: list[Removal], count: int, *, limit: int, step: int) -> int:
    """Move the cut through a history on to the next step."""
    part = order[count - 1].history if count else None
    step = 0 if part is None else step_of(part, tree, limit, step)
    if part is None or not step:
        return count
    first = next(index for index, one in enumerate(order) if one.history == part)
    cut, starts = count - first, starts_of(tree, part)
    return first + _first(starts, step * (starts[cut - 1] // step + 1))


def _put_back(tree: Part, order: list[Removal], gone: list[int], *, limit: int, step: int) -> None:
    """Put back what fits, the last that went first, up to a history that stays cut."""
    stuck: list[tuple[int, ...]] = []
    for index in reversed(range(len(gone))):
        removal = order[index]
        if index not in gone or any(removal.unit[: len(one)] == one for one in stuck):
            continue
        if (part := removal.history) is not None:
            stays = _moved_back(tree, order, gone, part, limit=limit, step=step)
            if stays and step_of(part, tree, limit, step):
                return
            continue
        gone.remove(index)
        if not _fits(tree, order, gone, limit):
            gone.append(index)
            gone.sort()
            stuck.append(removal.unit)


def _moved_back(
    tree: Part, order: list[Removal], gone: list[int], part: Part, *, limit: int, step: int
) -> bool:
    """Move the cut of a history back as far as it fits; return whether it stays cut."""
    mine = [index for index in gone if order[index].history == part]
    rest = [index for index in gone if order[index].history != part]
    cuts = positions(starts_of(tree, part), step_of(part, tree, limit, step))
    for cut in cuts:
        fewer = sorted([*rest, *mine[:cut]])
        if cut <= len(mine) and _fits(tree, order, fewer, limit):
            gone[:] = fewer
            return cut > 0
    return True
