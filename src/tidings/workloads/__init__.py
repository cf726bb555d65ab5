"""Where do posts and subscriptions for demos, tests and benchmarks come from?

Seeded generators that need no file, and readers for files that you have. All tables are Arrow tables: posts with the
columns of a publication (id, ts, text, lat, lon, topic; every other one is an attribute), subscriptions with id,
query and subscriber.
"""

from tidings.workloads.files import read_notes, read_stocks, read_texts, read_topics, read_traffic, read_tweets
from tidings.workloads.operations import Delete, Insert, Operation, Publish, operations
from tidings.workloads.posts import Posts
from tidings.workloads.squares import Regions, q1, q2, q3, q3_regions
from tidings.workloads.stocks import Stocks
from tidings.workloads.templates import Template, stock_subscriptions
from tidings.workloads.topic_based import Topics, extract_topics, topic_based
from tidings.workloads.tweet_based import tweet_based

__all__ = [
    "Delete",
    "Insert",
    "Operation",
    "Posts",
    "Publish",
    "Regions",
    "Stocks",
    "Template",
    "Topics",
    "extract_topics",
    "operations",
    "q1",
    "q2",
    "q3",
    "q3_regions",
    "read_notes",
    "read_stocks",
    "read_texts",
    "read_topics",
    "read_traffic",
    "read_tweets",
    "stock_subscriptions",
    "topic_based",
    "tweet_based",
]
