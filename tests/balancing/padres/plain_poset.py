"""The poset by definition: everything is compared with everything."""

from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")


class PlainPoset(Generic[K]):
    def __init__(self, covers: Callable[[K, K], bool]) -> None:
        self.covers = covers
        self.keys: list[K] = []

    def add(self, key: K) -> None:
        if key not in self.keys:
            self.keys.append(key)

    def remove(self, key: K) -> set[K]:
        before = self.css
        self.keys.remove(key)
        return self.css - before

    @property
    def css(self) -> set[K]:
        return {key for key in self.keys if not any(self._above(other, key) for other in self.keys)}

    def children(self, key: K) -> set[K]:
        below = {other for other in self.keys if self._above(key, other)}
        return {one for one in below if not any(self._above(other, one) for other in below)}

    def _above(self, wide: K, narrow: K) -> bool:
        """Strictly; of two that cover each other the older one is above."""
        if wide == narrow or not self.covers(wide, narrow):
            return False
        return not self.covers(narrow, wide) or self.keys.index(wide) < self.keys.index(narrow)
