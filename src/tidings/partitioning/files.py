"""In which file is a mapping? Its parcels, and where these do not tell their first owners, the owners too."""

from __future__ import annotations

from pathlib import Path

from tidings.arrays.files import named, open_arrays, open_verified, write_arrays
from tidings.model import DataError
from tidings.partitioning.finer import FinerParcels
from tidings.partitioning.gridt import Gridt
from tidings.partitioning.mapping import Mapping, NamedParcels

_KIND = "mapping of places"
_OWNER = "owner"


def save_mapping(path: Path, mapping: Mapping) -> None:
    """Write a mapping as it was learned; parcels of words have their first owners."""
    gridt = mapping.parcels.gridt
    if gridt is None:
        mapping.parcels.save(path)
    else:
        meta = named(path, {"kind": _KIND, "matchers": mapping.matchers})
        write_arrays(path, {**gridt.arrays(), _OWNER: mapping.owner}, meta)


def open_mapping(path: Path) -> Mapping:
    """The mapping of a file; what cannot be used is a DataError."""
    if open_arrays(path).meta.get("kind") != _KIND:
        return NamedParcels.open(path).mapping()
    file = open_verified(path)
    try:
        gridt = Gridt.of_arrays(file.arrays)
        if gridt is None:
            raise ValueError("it has no grid of regions")
        owner, parts = file.arrays[_OWNER], len(file.arrays[_OWNER]) // gridt.count
        parcels = gridt if parts == 1 else FinerParcels(gridt, parts)
        return Mapping(parcels, owner, int(file.meta["matchers"]))
    except (KeyError, TypeError, ValueError, DataError) as error:
        raise DataError(f"{str(path)!r} is no mapping ({error!r}); check the path, or learn it anew") from None
