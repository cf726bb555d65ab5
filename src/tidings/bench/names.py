"""What are the workloads and the peers called, and what of an engine is measured?

Apart from what makes them, so that the command line starts without loading that.
"""

from __future__ import annotations

from enum import StrEnum


class Name(StrEnum):
    """Words of a post (2 to 4 or all) or topic, squares, squares with words ([PS2]), quotes ([PADRES]): all or one."""

    words = "words"
    posts = "posts"
    topics = "topics"
    squares = "squares"
    q1 = "q1"
    q2 = "q2"
    q3 = "q3"
    stock = "stock"
    volume = "volume"


class Peer(StrEnum):
    """Whom the index is compared with."""

    lucene = "lucene"


class Part(StrEnum):
    """Opening a folder, how long one post takes, posts while subscriptions change, and the same in a folder."""

    opens = "opens"
    latency = "latency"
    churn = "churn"
    durable = "durable"


class SparkPart(StrEnum):
    """Ours beside plain SQL and the floor, memory, both layouts by the number of subscriptions and matchers; and, with
    posts from Kafka, how long a match takes and whether memory and lag stay as they are."""

    replicated = "replicated"
    memory = "memory"
    layouts = "layouts"
    latency = "latency"
    soak = "soak"
