"""Which networks (``ip:10.0.0.0/8``) are asked for, and in which of them does an address lie?

An address is a path of bits and a network the beginning of one: labels of a hierarchy. A value has the terms of all
networks above it that are asked for; one look-up for each length that is asked for finds them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from tidings.model.networks import IpNetwork, network_of
from tidings.model.publication import Publication
from tidings.model.query import InNetwork
from tidings.model.values import Value
from tidings.terms.finding.finder import MAX_KNOWN, MAX_KNOWN_CHARS
from tidings.terms.forms import LikelyForms
from tidings.terms.kinds.kind import Key, Kind, Reading, of_values
from tidings.terms.pairs import Pairs

_Label = tuple[int, int, int]
"""The version, the length and the first bits of a network."""


class _Asked:
    """The networks that are asked of one attribute."""

    def __init__(self) -> None:
        self._terms: dict[_Label, int] = {}
        self._lengths: dict[int, tuple[int, ...]] = {4: (), 6: ()}
        self._known: dict[str, tuple[int, ...]] = {}

    def put(self, network: IpNetwork, term: int) -> None:
        self._terms[_label(network, network.prefixlen)] = term
        lengths = {*self._lengths[network.version], network.prefixlen}
        self._lengths[network.version] = tuple(sorted(lengths))
        self._known = {}  # after it: what is remembered from now on knows it

    def terms(self, text: str) -> tuple[int, ...]:
        """The terms of a value. Those of the last values are remembered."""
        known = self._known
        found = known.get(text)
        if found is None:
            found = tuple(self._above(text))
            if len(text) <= MAX_KNOWN_CHARS:
                if len(known) >= MAX_KNOWN:
                    known.clear()
                known[text] = found
        return found

    def _above(self, text: str) -> Iterable[int]:
        network = network_of(text)
        if network is None:
            return
        for length in self._lengths[network.version]:
            if length <= network.prefixlen and (term := self._terms.get(_label(network, length))) is not None:
                yield term


class Networks(Kind):
    """By attribute."""

    names = ("network",)
    atoms = (InNetwork,)
    guess = 0.05

    def __init__(self) -> None:
        super().__init__()
        self._asked: dict[str, _Asked] = {}

    @staticmethod
    def key(atom: InNetwork) -> Key:
        return "network", atom.name, atom.network

    @staticmethod
    def called(key: Key) -> str:
        return f"{key[1]}={key[2]}"

    def put(self, key: Key, term: int) -> None:
        _, name, text = key
        network = network_of(text)
        if network is None:
            raise ValueError(f"{text!r} is no network")
        asked = self._asked if name in self._asked else {**self._asked, name: _Asked()}
        asked[name].put(network, term)
        self._asked = asked
        super().put(key, term)

    def attributes(self) -> Iterable[str]:
        return [*self._asked]

    def of_table(self, reading: Reading) -> list[Pairs]:
        return [reading.pairs(name, partial(self._terms, name)) for name in reading.asked(self._asked)]

    def of_one(self, publication: Publication, forms: LikelyForms) -> Iterable[int]:  # noqa: ARG002
        return of_values(publication, self._asked, self._terms)

    def _terms(self, name: str, value: Value) -> tuple[int, ...]:
        return self._asked[name].terms(value) if isinstance(value, str) else ()


def _label(network: IpNetwork, length: int) -> _Label:
    """The network of so many bits that a network lies in."""
    return network.version, length, int(network.network_address) >> network.max_prefixlen - length
