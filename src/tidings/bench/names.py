"""What are the workloads called? Apart from what makes them, so that the command line starts without loading that."""

from __future__ import annotations

from enum import StrEnum


class Name(StrEnum):
    """Words of a post (2 to 4 or all), squares, squares with words ([PS2]), quotes ([PADRES]): all templates or one."""

    words = "words"
    posts = "posts"
    squares = "squares"
    q1 = "q1"
    q2 = "q2"
    stock = "stock"
    volume = "volume"
