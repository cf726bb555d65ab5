"""Do the parts of a pipeline's folder belong together? Its name is tied to Spark's checkpoint.

Sinks know a batch by the name of the pipeline and its number. If the numbers begin anew, because Spark's checkpoint was
deleted or exchanged, a sink takes new batches for old ones, and their matches are lost. So the page of the pipeline has
the id that Spark gave to its query, and where the folder was.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

from tidings.arrays.pages import replace_json
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.model import DataError

PAGE = "pipeline.json"
ANEW = "or name a new checkpoint folder, which matches all that the source still has, also what was matched before"


def claimed(home: PipelineFolder) -> str:
    """The name under which sinks know the pipeline of a folder; what does not belong together is refused."""
    query, page = query_id(home.checkpoint), home.path / PAGE
    if not page.exists():
        if query:
            raise DataError(
                f"{str(page)!r} is gone, and the sink knows the batches of this checkpoint by it; put it back, {ANEW}"
            )
        name = uuid4().hex
        replace_json(page, {"name": name, "path": str(home.path)})
        return name
    found = _read(page)
    if not query and (found.get("query") or home.journal.batches):
        raise DataError(
            f"Spark's checkpoint {str(home.checkpoint)!r} is gone, so it is not known which posts were matched; "
            f"put it back, {ANEW}"
        )
    if query and found.get("query", query) != query:
        raise DataError(
            f"Spark's checkpoint {str(home.checkpoint)!r} is that of another query than {str(page)!r} knows; "
            f"put the right one back, {ANEW}"
        )
    _refuse_a_copy(home, found)
    return str(found["name"])


def tie(home: PipelineFolder, query: str) -> None:
    """The pipeline of a folder runs as this query of Spark, here."""
    page = home.path / PAGE
    found, tied = _read(page), {"query": query, "path": str(home.path)}
    if found | tied != found:
        replace_json(page, found | tied)


def offsets(home: PipelineFolder, batch: int) -> str:
    """A hash of what Spark has written down about the posts of a batch; empty if that is not there."""
    try:
        return sha256((home.checkpoint / "offsets" / str(batch)).read_bytes()).hexdigest()[:16]
    except OSError:
        return ""


def _refuse_a_copy(home: PipelineFolder, found: dict[str, Any]) -> None:
    """Two pipelines of one name would take each other's batches for their own; one that was moved is no copy."""
    other = Path(str(found.get("path", home.path)))
    try:
        is_copy = not other.samefile(home.path) and _read(other / PAGE)["name"] == found["name"]
    except (OSError, DataError):
        return
    if is_copy:
        raise DataError(
            f"the checkpoint {str(home.path)!r} is a copy of {str(other)!r}, and a sink cannot tell their batches "
            f"apart; remove one of them, {ANEW}"
        )


def query_id(checkpoint: Path) -> str:
    """The id of the query that a checkpoint of Spark is of; empty if there is none."""
    metadata = checkpoint / "metadata"
    try:
        return str(json.loads(metadata.read_text())["id"])
    except FileNotFoundError:
        return ""
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"{str(metadata)!r} is not what Spark writes ({error!r}); put it back, {ANEW}") from None


def _read(page: Path) -> dict[str, Any]:
    try:
        found = json.loads(page.read_text())
        return {**found, "name": str(found["name"])}
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"{str(page)!r}: not of a pipeline: {error!r}; put it back, {ANEW}") from None
