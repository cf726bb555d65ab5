"""How can results be printed?"""

from enum import StrEnum


class Format(StrEnum):
    """For people, or for programs."""

    table = "table"
    json = "json"
    csv = "csv"
