"""The automaton of Aho and Corasick over bytes, compiled by numba: built and run.

A state is a node of the tree of all literals; state 0 is its root, and a state has a smaller number than those of more
bytes. Bytes that no literal has are one and the same: ``classes`` uint8[256] numbers the others from 1 on. The first
states have a row each in ``rows`` int32[states, classes]: the next state for each byte. Those behind them are reached
seldom. Their steps lie in ``slots`` uint64[places, 2], an open hash table: a key of state and class, and the state that
follows; where there is none, the step is that of the state of the longest suffix. The table has random seeds, so nobody
can choose literals that meet in one slot.

``nodes`` int32[states, 4] has of each state: FAIL, the state of its longest suffix; OWN, the number of the literal that
ends here, or -1; LINK, the longest suffix that is a literal, or -1; OUT, the state itself if a literal ends here, else
LINK.
"""

# ruff: noqa: PLR0913, PLR0917  (kernels take arrays, not objects)
# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False
# mypy: disallow_untyped_decorators=False

import numba
import numpy as np

from tidings.arrays.kernels import mixed

FAIL, OWN, LINK, OUT = 0, 1, 2, 3
BEGIN, END = 0xFE, 0xFF
"""Bytes before and behind each text: no UTF-8 has them, so a literal with one of them begins or ends the text."""


@numba.njit(cache=True, nogil=True, inline="always")
def _slot(state, letter, seeds, slots):
    """Where a step lies, or the free slot where it would; and its key."""
    key = np.uint64(state) | (np.uint64(letter) + np.uint64(1)) << np.uint64(32)
    mask = np.uint64(len(slots) - 1)
    slot = mixed(key ^ seeds[0], seeds[1]) & mask
    while slots[slot, 0] != 0 and slots[slot, 0] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot, key


@numba.njit(cache=True, nogil=True)
def plant(data, bounds, classes, seeds, slots, parents, letters, depths, ends):
    """Make the tree of the different literals ``data[bounds[i] : bounds[i + 1]]``; returns how many states there are.

    States are numbered as they come. Of each: ``parents``, ``letters`` (the class that leads to it) and ``depths``,
    with room for a state for each byte and one more. ``ends`` int32[literals]: the states where they end.
    """
    states = 1
    for literal in range(len(bounds) - 1):
        state = np.int64(0)
        for i in range(bounds[literal], bounds[literal + 1]):
            letter = classes[data[i]]
            slot, key = _slot(state, letter, seeds, slots)
            if slots[slot, 0] == 0:
                slots[slot, 0] = key
                slots[slot, 1] = states
                parents[states] = state
                letters[states] = letter
                depths[states] = depths[state] + 1
                states += 1
            state = np.int64(slots[slot, 1])
        ends[literal] = state
    return states


@numba.njit(cache=True, nogil=True)
def connect(parents, letters, ends, seeds, slots, rows, nodes):
    """Fill ``slots``, ``rows`` and ``nodes`` for states in order of their bytes, of which the others were made."""
    nodes[:, OWN] = -1
    for literal in range(len(ends)):
        nodes[ends[literal], OWN] = literal
    rows[:] = -1
    for state in range(1, len(parents)):
        if parents[state] < len(rows):
            rows[parents[state], letters[state]] = state
        else:
            slot, key = _slot(parents[state], letters[state], seeds, slots)
            slots[slot, 0] = key
            slots[slot, 1] = state
    for state in range(len(parents)):
        fail = np.int64(0)
        if state > 0 and parents[state] > 0:
            fail = _after(np.int64(nodes[parents[state], FAIL]), letters[state], seeds, slots, rows, nodes)
        nodes[state, FAIL] = fail
        nodes[state, LINK] = nodes[fail, OUT] if state > 0 else -1
        nodes[state, OUT] = state if nodes[state, OWN] >= 0 else nodes[state, LINK]
        if state < len(rows):
            for letter in range(rows.shape[1]):
                if rows[state, letter] < 0:
                    rows[state, letter] = rows[fail, letter] if state > 0 else 0


@numba.njit(cache=True, nogil=True, inline="always")
def _after(state, letter, seeds, slots, rows, nodes):
    """The state that follows."""
    while state >= len(rows):
        slot, _ = _slot(state, letter, seeds, slots)
        if slots[slot, 0] != 0:
            return np.int64(slots[slot, 1])
        state = np.int64(nodes[state, FAIL])
    return np.int64(rows[state, letter])


@numba.njit(cache=True, nogil=True)
def find(first, data, bounds, classes, seeds, slots, rows, nodes, stamps, now, texts, literals):
    """Which literals do the texts ``data[bounds[i] : bounds[i + 1]]`` from ``first`` on have? Each pair once.

    Fills ``texts`` int64 and ``literals`` int32, side by side. Returns how many there are and the first text that has
    not been read, for lack of room. ``stamps`` int32[states] has no number of now + 1 … now + texts. A suffix that was
    seen in a text is not followed again: time is linear in the bytes and in what is found.
    """
    found = 0
    for text in range(first, len(bounds) - 1):
        before, own = found, now + 1 + text - first
        state = np.int64(0)
        for i in range(bounds[text] - 1, bounds[text + 1] + 1):
            byte = BEGIN if i < bounds[text] else END if i == bounds[text + 1] else np.int64(data[i])
            state = _after(state, classes[byte], seeds, slots, rows, nodes)
            out = nodes[state, OUT]
            while out >= 0 and stamps[out] != own:
                if found == len(texts):
                    return before, text
                stamps[out] = own
                texts[found] = text
                literals[found] = nodes[out, OWN]
                found += 1
                out = nodes[out, LINK]
    return found, len(bounds) - 1
