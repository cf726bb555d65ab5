"""What is a publication made of? Terms: words, labels, cells, intervals; their ids and how often they occur."""

from tidings.terms.analyser import Analyser, Token, languages

__all__ = ["Analyser", "Token", "languages"]
