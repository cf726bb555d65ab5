"""Is there a Java that Spark can run on?

As a program (``tools/require_java.py``) it is silent with exit code 0 if so; else there is one message on stderr and
exit code 1. It runs before anything is installed, so it needs nothing but Python 3.8.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

OLDEST = 17
TIMEOUT_S = 30.0

HOW_TO_INSTALL = """\
Spark 4 needs Java 17 or newer. To install it:
  Debian, Ubuntu  sudo apt install openjdk-17-jre-headless    (or openjdk-21-jre-headless)
  macOS           brew install openjdk@17
                  export JAVA_HOME="$(brew --prefix openjdk@17)/libexec/openjdk.jdk/Contents/Home"
  conda           conda install -c conda-forge openjdk=17"""

# The first number decides; Java 8 and older call themselves 1.8 and so on, and 1 is too old as well.
_VERSION = re.compile(r'version "((\d+)[^"]*)"')


class NoJavaError(Exception):
    """What was looked for, where, and what was found instead."""


def find_java() -> Path:
    """The program that Spark would start: of JAVA_HOME if that is set, else the first on PATH."""
    home = os.environ.get("JAVA_HOME")
    if home:
        java = Path(home) / "bin" / "java"
        if not Path(home).is_dir():
            raise NoJavaError(f"JAVA_HOME is set to {home}, and there is no such folder. Correct it or unset it.")
        if shutil.which(str(java)) is None:
            raise NoJavaError(f"JAVA_HOME is set to {home}, and there is no program {java}. Correct it or unset it.")
        return java
    found = shutil.which("java")
    if found is None:
        raise NoJavaError("No Java was found: JAVA_HOME is not set, and there is no program java on PATH.")
    return Path(found)


def ask_version(java: Path, timeout_s: float) -> str:
    """All that ``java -version`` prints; it uses stderr."""
    try:
        answer = subprocess.run(
            [str(java), "-version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NoJavaError(f"{java} did not answer `java -version` within {timeout_s:g} s.") from None
    except OSError as error:
        raise NoJavaError(f"{java} cannot be started: {error.strerror}.") from None
    return answer.stdout.decode(errors="replace")


def require_java(timeout_s: float = TIMEOUT_S) -> str:
    """Its version and place, if there is one that is new enough."""
    java = find_java()
    answer = ask_version(java, timeout_s)
    version = _VERSION.search(answer)
    where = f"{java} (from {'JAVA_HOME' if os.environ.get('JAVA_HOME') else 'PATH'})"
    if version is None:
        first_line = (answer.strip().splitlines() or [""])[0][:200]
        raise NoJavaError(f"{where} does not say which Java it is; `java -version` printed {first_line!r}.")
    if int(version.group(2)) < OLDEST:
        raise NoJavaError(f"{where} is Java {version.group(1)}, which is too old.")
    return f"{version.group(1)}, {where}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Exit with 0 if there is a Java that Spark 4 can run on, else with 1.")
    parser.add_argument("--timeout-s", type=float, default=TIMEOUT_S, help="how long Java may take to say its version")
    try:
        require_java(parser.parse_args().timeout_s)
    except NoJavaError as error:
        sys.stderr.write(f"{error}\n{HOW_TO_INSTALL}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
