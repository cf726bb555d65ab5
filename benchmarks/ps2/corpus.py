"""Which posts are divided? Notes from all over the world, on a map of any size, short or long."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidings.model import DataError

WIDTH_DEGREES = {"world": None, "country": 9.0, "city": 0.45}
"""To how many degrees, at the equator, the map of all posts is scaled: 1,000 km and 50 km."""

WIDTH_KM = {"world": 40_075.0, "country": 1_000.0, "city": 50.0}
LENGTHS = ("short", "own", "long")
"""The first 4 words of a note, all of them, or those of three neighbours together."""

_SHORT = 4
_JOINED = 3


def read_notes(data: Path, rows: int, seed: int, map_name: str = "world", length: str = "own") -> pa.Table:
    """Independent notes by chance, on a map of that size, of that length."""
    table = pq.read_table(data / "notes.parquet", columns=["id", "lat", "lon", "text", "kind", "app"])
    table = table.filter(pc.and_(pc.equal(table["kind"], "opened"), pc.equal(table["app"], "none")))
    needed = rows * (_JOINED if length == "long" else 1)
    if table.num_rows < needed:
        raise DataError(f"there are {table.num_rows:,} notes, and {needed:,} are asked for; ask for fewer")
    table = table.take(pa.array(np.random.default_rng(seed).permutation(table.num_rows)[:needed]))
    table = _of_length(table, length)
    width = WIDTH_DEGREES[map_name]
    lon, lat = table["lon"].to_numpy(), table["lat"].to_numpy()
    if width is not None:
        lon, lat = lon * width / 360, lat * width / 180
    return pa.table({"id": table["id"].cast(pa.string()), "lat": lat, "lon": lon, "text": table["text"]})


def _of_length(table: pa.Table, length: str) -> pa.Table:
    """Notes cut or joined; a joined one has the place of the first of three neighbours, in the order of that one."""
    texts = [text or "" for text in table["text"].to_pylist()]
    if length == "short":
        return table.set_column(
            table.column_names.index("text"), "text", [[" ".join(t.split()[:_SHORT]) for t in texts]]
        )
    if length == "own":
        return table
    place = np.lexsort((table["lat"].to_numpy(), np.round(table["lon"].to_numpy())))  # along stripes of a degree
    first = place[::_JOINED]
    joined = {int(n): " ".join(texts[m] for m in place[k * _JOINED : (k + 1) * _JOINED]) for k, n in enumerate(first)}
    kept = sorted(joined)
    taken = table.take(pa.array(kept))
    return taken.set_column(table.column_names.index("text"), "text", [[joined[n] for n in kept]])
