"""Which words does a text have?"""

from tidings.analysis.analyser import ENGLISH, Analyser, Token, languages

__all__ = ["ENGLISH", "Analyser", "Token", "languages"]
