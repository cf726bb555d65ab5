"""Is this folder a registry, and who may write to it now?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tidings.analysis import Fields
from tidings.arrays.locks import LOCK
from tidings.arrays.pages import checked, read_page, replace_json
from tidings.model import DataError

LOG = "log"
REJECTED = "rejected"
FIELDS = "fields.json"


def check_folder(path: Path) -> None:
    """Refuse a folder that is in use for something else. One that is empty or not there can become a registry."""
    if not path.exists():
        return
    if not path.is_dir():
        raise DataError(f"{str(path)!r} is a file, and a registry is a folder; name a new or an empty one")
    if (path / "_delta_log").exists():
        raise DataError(f"{str(path)!r} is a single Delta table; name the folder of the registry that it belongs to")
    names = {entry.name for entry in path.iterdir() if not entry.name.startswith(".")}
    foreign = [name for name in (LOG, REJECTED) if name in names and _is_foreign(path / name)]
    if foreign or (names and not names & {LOG, REJECTED, LOCK, FIELDS}):
        holds = (foreign or sorted(names))[0]
        raise DataError(f"{str(path)!r} is no registry, it holds {holds!r}; name a registry, or a new or empty folder")


def kept_fields(path: Path) -> Fields | None:
    """The kinds of attributes that subscriptions of a registry were written for; None if nothing is kept."""
    try:
        return Fields.of(read_page(path / FIELDS)["fields"])
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{str(path / FIELDS)!r} cannot be read: {error}; put back the file that was written") from None


def keep_fields(path: Path, fields: Fields, is_new: Callable[[], bool]) -> None:
    """Keep the kinds of attributes with a registry; refuse others than it was made with."""
    kept = kept_fields(path)
    if kept is None and fields.kinds and is_new():
        replace_json(path / FIELDS, checked({"fields": dict(fields.kinds)}))
    elif (kept or Fields()) != fields:
        raise DataError(
            f"the registry {str(path)!r} was made for the fields {dict((kept or Fields()).kinds)}, got "
            f"{dict(fields.kinds)}: its subscriptions would mean something else; make a new registry"
        )


def _is_foreign(table: Path) -> bool:
    """Neither a Delta table nor one whose creation was cut short."""
    return not table.is_dir() or (not (table / "_delta_log").exists() and any(table.iterdir()))
