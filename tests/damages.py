"""What can happen to a file or a registry behind our back?"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path


def rewrite(file: Path, content: bytes) -> None:
    """In place: whoever has the file mapped sees it."""
    with file.open("r+b") as out:
        out.write(content)
        out.truncate()


def flip(file: Path) -> None:
    """Change some bytes of the arrays, which are at the end of a small file."""
    content = file.read_bytes()
    rewrite(file, content[:-64] + bytes(byte ^ 255 for byte in content[-64:]))


def swap(file: Path, other: Path) -> None:
    """Let two files have each other's names."""
    aside = other.rename(f"{other}.tmp")
    file.rename(other)
    aside.rename(file)


DAMAGES: dict[str, Callable[[Path, Path], object]] = {
    "flipped": lambda file, _: flip(file),
    "zeros": lambda file, _: rewrite(file, bytes(file.stat().st_size)),
    "cut off": lambda file, _: rewrite(file, file.read_bytes()[:-100]),
    "empty": lambda file, _: rewrite(file, b""),
    "longer": lambda file, _: rewrite(file, file.read_bytes() + b"x"),
    "deleted": lambda file, _: file.unlink(),
    "another": lambda file, other: rewrite(file, other.read_bytes()),
    "swapped": swap,
}
"""What is done to the first of two files."""

IN_PLACE = ["flipped", "zeros", "cut off", "empty", "another"]
"""Those that whoever has the file mapped would see."""


def replace_registry(path: Path, other: Path) -> None:
    """Let the registry of ``other`` take the place of that in ``path``; whatever lies beside it stays."""
    for table in ("log", "rejected"):
        shutil.rmtree(path / table, ignore_errors=True)
        if (other / table).exists():
            shutil.copytree(other / table, path / table)
