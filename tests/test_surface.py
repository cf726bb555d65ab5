import subprocess
import sys

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
        "to_text",
    ]
    assert all(hasattr(tidings, name) for name in tidings.__all__)


def test_importing_tidings_loads_nothing_heavy() -> None:
    heavy = ["matplotlib", "numba", "numpy", "pyarrow", "pyspark", "tomotopy", "rich", "typer"]
    code = f"import sys, tidings; print([m for m in {heavy} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
