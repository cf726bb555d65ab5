"""Which words does a text have?"""

from tidings.analysis.analyser import ENGLISH, Analyser, Token, languages, tags
from tidings.analysis.fields import ALL, EXACT, FOLDED, TEXT, Fields

__all__ = ["ALL", "ENGLISH", "EXACT", "FOLDED", "TEXT", "Analyser", "Fields", "Token", "languages", "tags"]
