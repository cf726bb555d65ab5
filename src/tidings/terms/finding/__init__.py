"""Which of many pieces does a text have? All of them in one pass over the text."""
