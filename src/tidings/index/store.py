"""Where is the index between two runs? In a folder of segment files, and a manifest that says which of them count.

A file is written whole before the manifest names it, and deleted after the manifest has ceased to; so a process that
dies leaves the index of before or of after, and perhaps files that nobody names, which the next one removes. The index
can always be made again from the registry, so whatever is wrong with a file is told and then mended that way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa

from tidings.analysis import Analyser
from tidings.analysis.analyser import FOLDING
from tidings.arrays import IntArray, NamedArrays
from tidings.arrays.files import JSON, ArrayFile, named, open_verified, write_arrays
from tidings.arrays.pages import checked, read_page, replace_json
from tidings.arrays.strings import StringTable
from tidings.index.entries import Entries
from tidings.index.predicates import Predicates
from tidings.index.segment import Segment
from tidings.index.subscribers import Subscribers
from tidings.model import DataError
from tidings.terms.dictionary import Dictionary

MANIFEST = "manifest.json"
FORMAT = 4
"""A new one for other files, and where a query means something else in the same files: 4 has polygons."""
_SEGMENT = "segment-"
_NO_VERSION = 1 << 63
_PLAIN, _BOXES, _TERM, _PREDICATE = "plain_", "boxes_", "term_", "predicate_"


class Contents(NamedTuple):
    """What an index holds: terms and predicates, and the segments that are filed by their numbers."""

    terms: Dictionary
    predicates: Predicates
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Saved:
    """How much of an index is in files: the names of its first segments, and how many terms and predicates.

    ``files`` are those that it has mapped; a segment that was written later is still in memory.
    """

    names: tuple[str, ...] = ()
    terms: int = 0
    predicates: int = 0
    files: tuple[ArrayFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Unsaved:
    """What is not in files: segments, the terms and predicates that came with them, and who is dead in any segment."""

    segments: tuple[Segment, ...]
    new: NamedArrays
    dead: tuple[IntArray, ...]
    terms: int
    predicates: int


def unsaved(filed: Contents, saved: Saved) -> Unsaved:
    """What has to be written, as it is now: whatever happens to the index meanwhile does not change it."""
    numbers = np.arange(len(filed.terms), dtype=np.int32)
    numbers[: saved.terms] = -1
    terms = filed.terms.saved(numbers)
    predicates = filed.predicates.part(np.arange(saved.predicates, len(filed.predicates)))
    return Unsaved(
        filed.segments[len(saved.names) :],
        {
            **{f"{_TERM}{key}": array for key, array in terms.items()},
            **{f"{_PREDICATE}{key}": array for key, array in predicates.items()},
        },
        tuple(np.flatnonzero(segment.subscribers.died) for segment in filed.segments),
        len(filed.terms),
        len(filed.predicates),
    )


def described(analyser: Analyser) -> str:
    """The same text in every process, which ``repr`` of a set is not; another one where folding has changed."""
    words = FOLDING, analyser.language, analyser.stemming, sorted(analyser.stop_words or ())
    return repr((*words, analyser.fields.kinds) if analyser.fields.kinds else words)


@dataclass(frozen=True, slots=True)
class Store:
    """The folder ``path``, made when first written to. ``language`` names the analyser: another reads other words."""

    path: Path
    language: str

    def read(self) -> tuple[Contents, Saved, int, object] | None:
        """What is there, mapped, with the version of the registry and its mark; None if nothing is.

        A file that cannot be used is a DataError; the mark is as it was found.
        """
        manifest = self.path / MANIFEST
        try:
            found = read_page(manifest)
        except FileNotFoundError:
            return None
        except (ValueError, OSError) as error:
            raise DataError(f"{manifest}: not a manifest of tidings: {error}") from None
        if found.get("format") != FORMAT or found.get("language") != self.language:
            raise DataError(f"{manifest}: of another format or for another analyser")
        version, names = found.get("version"), found.get("segments")
        if type(version) is not int or not -1 <= version < _NO_VERSION:
            raise DataError(f"{manifest}: it has no version")
        if not isinstance(names, list) or not all(map(_is_segment, names)):
            raise DataError(f"{manifest}: what it names are no segments of its folder")
        return *self.load(names), version, found.get("mark", "")

    def load(
        self, names: Sequence[str], open_file: Callable[[Path], ArrayFile] = open_verified
    ) -> tuple[Contents, Saved]:
        """What the segments of these names hold, in the order in which they were written."""
        terms, predicates = Dictionary(), Predicates()
        segments: list[Segment] = []
        files: list[ArrayFile] = []
        for name in names:
            file = open_file(self.path / name)
            files.append(file)
            try:
                _load(file.arrays, file.meta, terms, predicates, segments)
            except (KeyError, TypeError, ValueError, IndexError) as error:
                raise DataError(f"{file.path}: not a segment of tidings: {error!r}") from None
        saved = Saved(tuple(names), len(terms), len(predicates), tuple(files))
        return Contents(terms, predicates, tuple(segments)), saved

    def write(self, what: Unsaved, saved: Saved, version: int, mark: str = "") -> Saved:
        """Write what is not saved, and let the index be at ``version``. After a DataError it is as before, or done.

        ``mark`` is that of the version (:meth:`tidings.registry.Registry.mark`).
        """
        after = self.add(what, saved)
        try:
            self._write_manifest(version, mark, after.names)
        except OSError as error:
            raise self._full(error) from error
        return after

    def add(self, what: Unsaved, saved: Saved) -> Saved:
        """Write what is not saved to files that no manifest names yet; no two ever have the same name."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            names = [f"{_SEGMENT}{uuid4().hex}.tidings" for _ in what.segments]
            for i, (name, segment) in enumerate(zip(names, what.segments, strict=True)):
                dead = what.dead if i == len(names) - 1 else ()
                self._write_segment(name, segment, what.new if i == 0 else {}, dead, what.terms)
        except OSError as error:
            raise self._full(error) from error
        return Saved((*saved.names, *names), what.terms, what.predicates, saved.files)

    def keep(self, names: Collection[str]) -> None:
        """Remove all segments but these."""
        for left in self.path.glob(f"{_SEGMENT}*"):
            if left.name not in names:
                left.unlink(missing_ok=True)

    def _full(self, error: OSError) -> DataError:
        return DataError(f"cannot write the index to {str(self.path)!r}: {error.strerror or error}; make room")

    def clear(self) -> None:
        """Remove the manifest, so that the index is built again."""
        (self.path / MANIFEST).unlink(missing_ok=True)

    def _write_segment(
        self, name: str, segment: Segment, new: NamedArrays, dead: Sequence[IntArray], terms: int
    ) -> None:
        subscribers = segment.subscribers
        texts = {"subscriber": subscribers.subscribers, "tag": subscribers.tags, "query": subscribers.queries}
        arrays: NamedArrays = {
            **{f"{_PLAIN}{key}": array for key, array in segment.tables[0].arrays().items()},
            **{f"{_BOXES}{key}": array for key, array in segment.tables[1].arrays().items()},
            **{f"id_{key}": array for key, array in subscribers.ids.arrays().items()},
            **{key: array for name, column in texts.items() for key, array in _text_arrays(name, column).items()},
            **{key: getattr(subscribers, key) for key in ("starts", "versions", "since", "until")},
            **new,
            "dead": np.concatenate([np.zeros(0, dtype=np.int64), *dead]).astype(np.int32),
        }
        meta: dict[str, JSON] = {
            "limits": [table.limit for table in segment.tables],
            "dead": [len(numbers) for numbers in dead],
            "terms": terms,
        }
        write_arrays(self.path / name, arrays, named(self.path / name, meta))

    def _write_manifest(self, version: int, mark: str, names: Sequence[str]) -> None:
        """Let these segments be the index, and remove all others."""
        manifest: dict[str, JSON] = {
            "format": FORMAT,
            "language": self.language,
            "version": version,
            "mark": mark,
            "segments": list(names),
        }
        replace_json(self.path / MANIFEST, checked(manifest))
        self.keep(names)


def _is_segment(name: object) -> bool:
    """Whether it can be the name of a segment: a manifest leads nowhere else."""
    return isinstance(name, str) and name.startswith(_SEGMENT) and "/" not in name


def _text_arrays(name: str, column: pa.LargeStringArray) -> NamedArrays:
    if column.offset:
        column = pa.concat_arrays([column])
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int64)[: len(column) + 1] if offsets else np.zeros(1, dtype=np.int64)
    return {
        f"{name}_offsets": bounds,
        f"{name}_data": np.frombuffer(data, dtype=np.uint8)[: bounds[-1]] if data else np.zeros(0, dtype=np.uint8),
    }


def _text_column(name: str, arrays: NamedArrays) -> pa.LargeStringArray:
    offsets, data = arrays[f"{name}_offsets"], arrays[f"{name}_data"]
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)


def _beginning(prefix: str, arrays: NamedArrays) -> NamedArrays:
    return {key[len(prefix) :]: array for key, array in arrays.items() if key.startswith(prefix)}


def _load(
    arrays: NamedArrays, meta: dict[str, Any], terms: Dictionary, predicates: Predicates, segments: list[Segment]
) -> None:
    """Add the segment of a file to ``segments``, with its terms and predicates, and bury who is dead in any."""
    if new := _beginning(_TERM, arrays):
        terms.load(new, meta["terms"])
        predicates.extend(_beginning(_PREDICATE, arrays))
    plain, boxes = (
        Entries(limit=limit, **_beginning(kind, arrays))
        for kind, limit in zip((_PLAIN, _BOXES), meta["limits"], strict=True)
    )
    ids = StringTable.from_arrays(_beginning("id_", arrays))
    subscribers = Subscribers(
        starts=arrays["starts"],
        ids=ids,
        subscribers=_text_column("subscriber", arrays),
        tags=_text_column("tag", arrays),
        queries=_text_column("query", arrays),
        versions=arrays["versions"],
        since=arrays["since"],
        until=arrays["until"],
        died=np.zeros(len(ids), dtype=np.int32),
    )
    segments.append(Segment((plain, boxes), subscribers))
    if meta["dead"]:
        ends = np.cumsum(meta["dead"])[:-1]
        for segment, numbers in zip(segments, np.split(arrays["dead"], ends), strict=True):
            segment.subscribers.died[numbers] = 1
