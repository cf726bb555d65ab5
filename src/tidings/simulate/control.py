"""How do load balancers speak through the overlay? By publications and subscriptions of their own ([PADRES] 3.2)."""

from __future__ import annotations

from functools import cache

from tidings.balancing.padres import EdgeBalancer, HeadBalancer, Metric
from tidings.balancing.padres.messages import Message, Pie
from tidings.model import Publication

Attributes = dict[str, str | float]
GLOBAL = "[class,=,'GLOBAL_PIE']"


def advertisements(balancer: EdgeBalancer | HeadBalancer) -> list[str]:
    """What a balancer will publish."""
    load = GLOBAL if isinstance(balancer, HeadBalancer) else _local(balancer.place.cluster)
    return ["[class,=,'BALANCE']", load]


def addressed(broker: str) -> str:
    """The subscription to all messages for one broker."""
    return f"[class,=,'BALANCE'],[to,=,'{broker}']"


def local_load(cluster: str, metric: Metric | None, below: float | None) -> str:
    """The subscription to the load of a cluster's edge brokers, all of it or that below a bound."""
    condition = "" if metric is None else f",[{metric.value},<,{below!r}]"
    return _local(cluster) + condition


@cache
def to_broker(broker: str) -> Publication:
    return _publication({"class": "BALANCE", "to": broker})


def load_of(pie: Pie) -> Publication:
    kind: Attributes = {"class": "GLOBAL_PIE" if pie.is_global else "LOCAL_PIE", "cluster": pie.cluster}
    return _publication(kind | {metric.value: pie.metrics.of(metric) for metric in Metric})


def is_pie(payload: Message | None) -> bool:
    return isinstance(payload, Pie)


def _publication(attributes: Attributes) -> Publication:
    """Control publications with the same attributes are the same to all subscriptions, so they share an id."""
    return Publication(repr(sorted(attributes.items())), attributes=attributes)


def _local(cluster: str) -> str:
    return f"[class,=,'LOCAL_PIE'],[cluster,=,'{cluster}']"
