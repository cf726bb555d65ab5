"""Is there a Java that Spark can run on? Asks ``tidings.cli.java``, also where tidings is not installed yet."""

import runpy
from pathlib import Path

if __name__ == "__main__":
    runpy.run_path(str(Path(__file__).parents[1] / "src" / "tidings" / "cli" / "java.py"), run_name="__main__")
