"""What are the workloads and the peers called, and what of an engine is measured?

Apart from what makes them, so that the command line starts without loading that.
"""

from __future__ import annotations

from enum import StrEnum


class Name(StrEnum):
    """Words of a post (2 to 4, these of the most frequent, or all) or topic, squares, squares with words ([PS2]),
    quotes ([PADRES]): all or one."""

    words = "words"
    frequent = "frequent"
    posts = "posts"
    topics = "topics"
    squares = "squares"
    q1 = "q1"
    q2 = "q2"
    q3 = "q3"
    stock = "stock"
    volume = "volume"


class Peer(StrEnum):
    """Whom the index is compared with: Lucene Monitor, or the index of [PS2]."""

    lucene = "lucene"
    gi2 = "gi2"


class Placed(StrEnum):
    """Which file has the posts with places: road alerts, mostly of one city, or notes from all over the world."""

    traffic = "traffic"
    notes = "notes"


class Part(StrEnum):
    """Opening a folder, how long one post takes, posts while subscriptions change, and the same in a folder."""

    opens = "opens"
    latency = "latency"
    churn = "churn"
    durable = "durable"


class Seam(StrEnum):
    """What a user waits for: tables of posts, one post at a time, opening a folder, a DataFrame on Spark."""

    match = "match"
    publish = "publish"
    opening = "opening"
    spark = "spark"


class SparkPart(StrEnum):
    """Ours beside plain SQL and the floor, and to files; memory; both layouts by the number of subscriptions and
    matchers; and, with posts from Kafka, how long a match takes and whether memory and lag stay as they are."""

    replicated = "replicated"
    written = "written"
    memory = "memory"
    layouts = "layouts"
    latency = "latency"
    soak = "soak"


class SheddingPart(StrEnum):
    """What is left of the matches if posts go to fewer matchers, or some to none; and how the level follows a spike, on
    a simulated clock and on Spark."""

    accuracy = "accuracy"
    posts = "posts"
    spike = "spike"
    live = "live"


class BalancingPart(StrEnum):
    """What a post and a query cost a matcher; what is carried to move load; what adjustment brings in a drift."""

    loads = "loads"
    migration = "migration"
    drift = "drift"
    shares = "shares"


class Model(StrEnum):
    """Who subscribes, in the evaluation of [S3TM]: to the words of a post, or to a few of a topic."""

    tweets = "tweets"
    topics = "topics"


class Source(StrEnum):
    """Whose posts the evaluation of [S3TM] is made with: long tweets, or notes on a map, which are short."""

    tweets = "tweets"
    notes = "notes"


class Sent(StrEnum):
    """What a post is sent for: each word that somebody subscribes to ([S3TM] 3.1), or those that file something."""

    words = "words"
    guards = "guards"


class S3tmFigure(StrEnum):
    """The figures of [S3TM] 6: the data, throughput by matchers, subscriptions, weeks and posts learned from, the cost
    of a matcher (Fig. 3), where subscriptions are placed; ours on all posts: what is sent for, and split terms; both
    readings of SALB; and what Spark does."""

    words = "words"
    matchers = "matchers"
    subscriptions = "subscriptions"
    weeks = "weeks"
    learning = "learning"
    cost = "cost"
    placement = "placement"
    headline = "headline"
    readings = "readings"
    spark = "spark"
