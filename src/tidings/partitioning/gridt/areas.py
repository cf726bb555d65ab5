"""Where the publications are that can answer a conjunction."""

from tidings.language.areas import area_of

__all__ = ["area_of"]
