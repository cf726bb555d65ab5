"""Is every mistake told in the same words, at the column where it is?"""

from __future__ import annotations

from typing import Literal

import pytest

from tidings.language import parse
from tidings.model import QueryError

MISTAKES: dict[Literal["tidings", "padres"], tuple[tuple[str, str], ...]] = {
    "tidings": (
        ("a )", "3: ')' closes nothing that is open"),
        ("a ]", "3: ']' closes nothing that is open"),
        ("(a ]", "4: expected a word, got ']'"),
        ("(a", "3: the query ends where ')' was expected"),
        ("()", "2: expected a word, got ')'"),
        ("a AND", "6: the query ends where a word was expected"),
        ("a AND OR b", '7: OR needs something on each side; to look for the word, quote it: "OR"'),
        ("OR a", '1: OR needs something on each side; to look for the word, quote it: "OR"'),
        ("NOT", "4: the query ends where a word was expected"),
        ("a -", "3: one '-' touches what it excludes, as in -drill"),
        ("- a", "1: one '-' touches what it excludes, as in -drill"),
        ("a & b", "3: unknown operator '&'; write AND, or nothing: words side by side are joined by"),
        ("a | b", "3: unknown operator '|'; write OR"),
        ("a ~2", "3: '~' and a number stand only behind a quoted phrase, as in \"white house\"~3"),
        ('"a b', '1: this quote is not closed; add the other "'),
        ("“a b", '1: this quote is not closed; add the other "'),
        ("a:", "3: the query ends where a value was expected"),
        ("x:(a", "5: the query ends where OR or ')' was expected"),
        ("x:(a b)", "6: expected OR or ')', got 'b)'"),
        ("x:(a ]", "6: expected OR or ')', got ']'"),
        ("x:(1..z ]", "9: expected OR or ')', got ']'"),
        ("x:(1..z b", "4: expected a number or a date on each side of '..', got 'z'"),
        ("or ]", "4: ']' closes nothing that is open"),
        ("or &", "4: unknown operator '&'; write AND, or nothing: words side by side are joined by"),
        ("x:>", "4: the query ends where a value was expected"),
        ("x:>a", "4: expected a number or a date after '>', got 'a'"),
        ("x:[1", "5: the query ends where TO, as in [10 TO 20] was expected"),
        ("x:[1]", "5: expected TO, as in [10 TO 20], got ']'"),
        ("x:[1 TO 2", "10: the query ends where ']' or '}' was expected"),
        ("x:[2 TO 1]", "3: the range of x is reversed: the smaller bound comes first"),
        ("x:{1 TO 1}", "3: the range of x is empty: its bounds are equal and one is excluded"),
        ("x:a *", "5: a '*' touches the text that it completes, as in name:Mc*"),
        ("x:*", "3: '*' alone stands for nothing; has:name asks whether an attribute is there"),
        ("x:=3", "3: unknown operator '='; there are x:value, x:>1, x:>=1, x:<1, x:<=1, x:[1 TO 2]"),
        ("x:-a", "3: to exclude, write -x:a; to look for this very text, quote it"),
        ("has:", "5: the query ends where the name of an attribute was expected"),
        ("has:(", "5: expected the name of an attribute, got '('"),
        (
            "has:2x",
            "5: '2x' is not a plain name of an attribute (letters, digits, '_', '.' and '-', not a digit first): "
            "take what is none away, or quote the name",
        ),
        ('has:""', "5: the name of an attribute is not empty"),
        ('" ":x', "1: the name of an attribute is not empty"),
        ('"text":x', "1: 'text' is no attribute: words are asked for by themselves, topics as topic:sports/soccer"),
        (
            '"white house": fire',
            "14: ':' stands behind the name of an attribute, which begins with a letter; quote text that has a ':'",
        ),
        ("(fire smoke)@1", "13: there is no least number of words; a space stands before @name"),
        ("price:10 TO 20", "10: a range has brackets, as in price:[10 TO 20]"),
        (
            "name:/<1-10>/",
            "6: '<1-10>' is an operator of Lucene's regular expressions alone; to look for it, put a "
            "backslash before it",
        ),
        ("topic:", "7: the query ends where a topic like sports/soccer was expected"),
        ("topic:(a b", "10: expected OR or ')', got 'b'"),
        ("topic:a/b*", "7: a '*' in a topic stands for one whole step, as in sports/*, got 'a/b*'"),
        ("bounding_box:", "14: the query ends where '[', as in bounding_box:[150.5 -34.2 151.4 -33.4] or po"),
        ("bounding_box:[1,]", "17: expected a number or ']', got ']'"),
        ("bounding_box:[1 2 3]", "1: a box is [west south east north], got 3 numbers"),
        ("bounding_box:[1 2 x 4]", "19: expected degrees, a plain number, got 'x'"),
        ("bounding_box:[1 2 3 400]", "21: north is between -90 and 90 degrees, got 400"),
        ("bounding_box:[5 2 3 4]", "15: west (5) is greater than east (3); the order is west south east north, and a"),
        ("bounding_box:[1 2 3] ]", "22: ']' closes nothing that is open"),
        ("point_radius:[1 2 3]", "19: expected a radius with its unit, as in 16km, 10mi or 500m, got '3'"),
        ("point_radius:[1 2 3km 4]", "1: a circle is [lon lat radius], as in [151.2 -33.9 16km], got 4 parts"),
        ("*ab", "1: a '*' may only end a word (terror*), or stand beside an attribute's text (nam"),
        ("a*b", "2: a '*' may only end a word (terror*), or stand beside an attribute's text (nam"),
        ("a^2", "2: unknown operator '^'; matches are not ranked, so there are no weights"),
        ("[1]", "1: a bracket needs a name before it, as in price:[10 TO 20] or bounding_box:[150"),
        ("the of", "1: nothing is left of it but stop words and signs, which are dropped from posts;"),
        ("fire OR -drill", "10: an alternative only excludes; add something that it must have, as in: fire -"),
        ("(-fire OR smoke)", "3: an alternative only excludes; add something that it must have, as in: fire -d"),
        ("fire -fire", "1: no publication can answer it: it requires and excludes the same thing"),
        ("x " + "NOT " * 64 + "a", "255: it is nested deeper than 64 levels"),
        ("http://t.co/x", "6: links are dropped from posts before they are matched; ask for words instead"),
        ('"@home"', "1: '@home': @names are no words; ask for one without quotes, as in @nswrfs"),
        ("text:a", "1: 'text' is no attribute: words are asked for by themselves, topics as topic:sp"),
    ),
    "padres": (
        ("fire", "1: expected '[', as in [volume,>,300000], got 'fire'"),
        ("[a,>", "5: the query ends where ',' was expected"),
        ("[a,>,1] x", "9: expected '[', as in [volume,>,300000], got 'x'"),
        ("[a,>,1]]", "8: ']' closes nothing that is open"),
        ("[a,>,'1", '6: expected a value, as in [volume,>,300000], got "\'1"'),
        ("[a,foo,1] x", "11: expected '[', as in [volume,>,300000], got 'x'"),
        ("[a,>,1],", "9: the query ends where '[', as in [volume,>,300000] was expected"),
        ("[,>,1]", "2: expected the name of an attribute, as in [volume,>,300000], got ',>,1]'"),
        ("[a b,>,1]", "4: expected ',', got 'b,>,1]'"),
    ),
}
CASES = [(syntax, *case) for syntax, cases in MISTAKES.items() for case in cases]


@pytest.mark.parametrize(("syntax", "text", "beginning"), CASES)
def test_each_mistake_is_told_so(syntax: Literal["tidings", "padres"], text: str, beginning: str) -> None:
    """Of two mistakes, a sign that cannot be read comes before the meaning of the condition right before it."""
    with pytest.raises(QueryError) as caught:
        parse(text, syntax=syntax)
    assert str(caught.value).startswith(f"query, column {beginning}")


@pytest.mark.parametrize(
    ("query", "is_name"), [('"@ada"', True), ('"!!"', False), ('"@ada the"', False), ('"the"', False)]
)
def test_only_who_asks_for_nothing_but_names_is_told_of_names(query: str, is_name: bool) -> None:
    with pytest.raises(QueryError) as told:
        parse(query)
    assert ("@names" in str(told.value)) == is_name
