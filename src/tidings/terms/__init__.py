"""What is a publication made of? Terms: words, labels, cells, intervals; their ids and how often they occur."""

from tidings.terms.analyser import ENGLISH, Analyser, Token, languages

__all__ = ["ENGLISH", "Analyser", "Token", "languages"]
