import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import tidings


def test_the_public_names_are_these() -> None:
    assert tidings.__all__ == [
        "Analyser",
        "Engine",
        "Explanation",
        "Match",
        "Publication",
        "PublicationError",
        "Query",
        "QueryError",
        "Rejected",
        "Subscription",
        "SubscriptionError",
        "TidingsError",
        "covers",
        "evaluate",
        "explain",
        "parse",
        "polygon",
        "to_text",
    ]
    assert all(hasattr(tidings, name) for name in tidings.__all__)


def test_importing_tidings_loads_nothing_heavy() -> None:
    heavy = ["matplotlib", "numba", "numpy", "pyarrow", "pyspark", "tomotopy", "rich", "shapely", "typer"]
    code = f"import sys, tidings; print([m for m in {heavy} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_everything_in_spark_needs_pyspark() -> None:
    modules = [path for path in (Path(tidings.__file__).parent / "spark").glob("*.py") if path.name != "__init__.py"]
    assert modules and [path.name for path in modules if "from pyspark" not in path.read_text()] == []


def test_no_two_classes_have_one_name() -> None:
    sources = (path.read_text() for path in Path(tidings.__file__).parent.rglob("*.py"))
    names = Counter(name for source in sources for name in re.findall(r"^class ([A-Z]\w*)", source, re.MULTILINE))
    assert names and [name for name, count in names.items() if count > 1] == []
