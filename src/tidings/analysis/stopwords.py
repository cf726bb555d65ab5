"""Which words say nothing about what a text is about?

English only, and few on purpose: a word on this list can never be asked for, so it holds function words alone
(articles, pronouns, auxiliaries, prepositions, conjunctions, their contractions), and neither "us" nor "may".
[S3TM] used Mallet's list, three times as long. For another language, or another taste, give ``Analyser`` your own.
"""

from __future__ import annotations

ENGLISH = frozenset(
    """
    a an the this that these those such same other another each every both either neither all any some few more most
    no nor not only own very too so than then there here when where why how what which who whom whose
    i me my mine myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers
    herself it its itself they them their theirs themselves
    am is are was were be been being do does did doing done have has had having
    can could will would shall should might must ought cannot
    and or but if else because as until while though although unless whether
    of at by for with about against between into through during before after above below to from up down in out on
    off over under again further once upon among within without toward towards per via onto
    just also even ever yet still already now
    i'm you're we're they're i've you've we've they've i'd you'd he'd she'd we'd they'd
    i'll you'll he'll she'll it'll we'll they'll that'll there'll
    isn't aren't wasn't weren't hasn't haven't hadn't doesn't don't didn't won't wouldn't shan't shouldn't
    can't couldn't mustn't mightn't needn't ain't y'all
    """.split()
)
"""Folded forms."""

MARKUP = frozenset({"http", "https", "rt"})
"""What is left of cut-off links, and the mark of a repeated post."""


def default(language: str) -> frozenset[str]:
    """The stop words of a language where none are given."""
    return ENGLISH | MARKUP if language == "english" else MARKUP
