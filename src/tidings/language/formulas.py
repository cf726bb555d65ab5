"""What is verified as it was written, where multiplying it out would take too much? A formula over atoms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tidings.model.query import Query

ACCEPT, REJECT = -1, -2
"""Where a step of a program leads at the end: it holds, or it does not."""

Part = tuple[bool, Any]
"""Whether something must hold or must not, and what: an atom, or a formula that must."""


@dataclass(frozen=True, slots=True)
class Formula:
    """Parts joined by AND (``is_all``) or OR.

    ``source`` is the query as it was written; it does not count for equality.
    """

    is_all: bool
    parts: tuple[Part, ...]
    source: Query | None = field(default=None, compare=False, repr=False)
    size: int = field(init=False, compare=False, repr=False)
    """How many atoms it has."""

    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        sizes = [part.size if isinstance(part, Formula) else 1 for _, part in self.parts]
        object.__setattr__(self, "size", sum(sizes))
        object.__setattr__(self, "_hash", hash((self.is_all, self.parts)))

    def __hash__(self) -> int:  # once: it is looked up for each conjunction that has it
        return self._hash

    def holds(self, holds: Callable[[Any], bool]) -> bool:
        """Whether it holds where ``holds`` says of each atom whether it does."""
        answers = ((part.holds(holds) if isinstance(part, Formula) else holds(part)) == yes for yes, part in self.parts)
        return all(answers) if self.is_all else any(answers)

    def program(self) -> list[tuple[Any, int, int]]:
        """The same as steps: an atom, and the step that follows if it holds, and if it does not; ACCEPT or REJECT.

        Steps lead forward only, so each atom is asked once at most.

        >>> Formula(True, ((False, "a"), (True, Formula(False, ((True, "b"), (False, "c")))))).program()
        [('a', -2, 1), ('b', -1, 2), ('c', -2, -1)]
        """
        steps: list[tuple[Any, int, int]] = []
        self._write(steps, ACCEPT, REJECT)
        return steps

    def _write(self, steps: list[tuple[Any, int, int]], yes: int, no: int) -> None:
        """Append the steps of a formula that goes on with ``yes`` if it holds and with ``no`` if not."""
        for place, (is_wanted, part) in enumerate(self.parts):
            after = len(steps) + (part.size if isinstance(part, Formula) else 1)
            is_last = place == len(self.parts) - 1
            on_yes = yes if is_last or not self.is_all else after
            on_no = no if is_last or self.is_all else after
            if isinstance(part, Formula):
                part._write(steps, on_yes, on_no)
            else:
                steps.append((part, on_yes, on_no) if is_wanted else (part, on_no, on_yes))
