"""How are publications read from Arrow tables? Row by row as values, or column by column as arrays."""

from tidings.tables.rows import publications

__all__ = ["publications"]
