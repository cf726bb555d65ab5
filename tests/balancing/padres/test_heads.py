"""Two cluster heads: how clusters find each other, let their edge brokers see each other, and part."""

from random import Random

from tests.balancing.padres.brokers import sent
from tidings.balancing.padres import HeadBalancer, Metrics, Parameters, Place, Status
from tidings.balancing.padres.messages import (
    Announce,
    AskGlobal,
    Catchup,
    EndGlobal,
    Pie,
    Reply,
    Request,
    Send,
    Subscribe,
    Tick,
    Unsubscribe,
    WatchCluster,
)

HEAVY, LIGHT = Metrics(0.6, 0.01, 0.6), Metrics(0.2, 0.01, 0.2)


def head(number: int) -> HeadBalancer:
    place = Place(f"B{number}0", f"C{number}", f"B{number}0")
    return HeadBalancer(place, (f"B{number}1", f"B{number}2"), Parameters(), Random(1))


def local(broker: str, metrics: Metrics, status: Status = Status.OK) -> Pie:
    return Pie(broker, f"C{broker[1]}", metrics, status)


def pair() -> tuple[HeadBalancer, HeadBalancer]:
    """The first cluster has much more load, and both have told theirs."""
    one, other = head(1), head(2)
    for edge in ("B11", "B12"):
        one.on(local(edge, HEAVY), 0)
    for edge in ("B21", "B22"):
        other.on(local(edge, LIGHT), 0)
    for teller, listener in ((one, other), (other, one)):
        [pie] = [effect.pie for effect in teller.on(Tick("pie"), 1) if isinstance(effect, Announce)]
        listener.on(pie, 2)
    return one, other


def engaged() -> tuple[HeadBalancer, HeadBalancer, Request]:
    one, other = pair()
    [request] = sent(one.on(Tick("detect"), 3), Request)
    assert isinstance(request, Request)
    [reply] = sent(other.on(request, 4), Reply)
    one.on(reply, 5)
    return one, other, request


def test_a_head_tells_the_mean_of_its_edges() -> None:
    one = head(1)
    one.on(local("B11", HEAVY), 0)
    one.on(local("B12", LIGHT), 0)
    [pie] = [effect.pie for effect in one.on(Tick("pie"), 1) if isinstance(effect, Announce)]
    assert pie == Pie("B10", "C1", Metrics(0.4, 0.01, 0.4), Status.OK, is_global=True)
    assert not [effect for effect in one.on(Tick("pie"), 61) if isinstance(effect, Announce)]


def test_a_head_repeats_the_loads_that_it_knows() -> None:
    one = head(1)
    one.on(local("B11", HEAVY), 0)
    one.on(local("B12", LIGHT), 0)
    assert one.on(Catchup("B11"), 1) == [Send("B11", local("B12", LIGHT))]


def test_a_cluster_with_an_overloaded_edge_is_not_available() -> None:
    one = head(1)
    one.on(local("B11", LIGHT, Status.NOT_AVAILABLE), 0)
    one.on(Tick("pie"), 1)
    assert one.status is Status.NOT_AVAILABLE


def test_both_heads_let_their_edges_watch_the_other_cluster() -> None:
    one, other = pair()
    [request] = sent(one.on(Tick("detect"), 3), Request)
    effects = other.on(request, 4)
    [reply] = sent(effects, Reply)
    assert [effect for effect in effects if isinstance(effect, Subscribe)] == [Subscribe("C1")]
    assert sent(effects, WatchCluster) == [WatchCluster("C1", on=True)] * 2
    effects = one.on(reply, 5)
    assert [(e.to, e.message) for e in effects if isinstance(e, Send)] == [
        ("B11", WatchCluster("C2", on=True)),
        ("B12", WatchCluster("C2", on=True)),
    ]
    assert one.status is other.status is Status.BUSY


def test_a_session_ends_when_all_edges_are_balanced() -> None:
    one, other, request = engaged()
    even = Metrics(0.4, 0.01, 0.4)
    assert one.on(local("B21", even), 10) == []
    one.on(local("B22", even), 10)
    one.on(local("B11", even), 10)
    effects = one.on(local("B12", even), 10)
    assert sent(effects, EndGlobal) == [EndGlobal(request.session)]
    assert sent(effects, WatchCluster) == [WatchCluster("C2", on=False)] * 2
    assert Unsubscribe("C2") in effects
    effects = other.on(EndGlobal(request.session), 11)
    assert sent(effects, WatchCluster) == [WatchCluster("C1", on=False)] * 2
    assert sent(effects, EndGlobal) == []
    assert one.status is other.status is Status.STABILIZING
    assert one.partner is other.partner is None


def test_a_session_goes_on_while_an_edge_is_busy() -> None:
    one, _, _ = engaged()
    even = Metrics(0.4, 0.01, 0.4)
    for broker in ("B21", "B22", "B11"):
        one.on(local(broker, even), 10)
    assert one.on(local("B12", even, Status.BUSY), 10) == []


def test_a_pair_with_which_nothing_can_be_done_counts_as_balanced() -> None:
    one, _, _ = engaged()
    for broker in ("B21", "B22"):
        one.on(local(broker, LIGHT), 10)
    settled = frozenset({"B21", "B22"})
    one.on(Pie("B11", "C1", HEAVY, Status.OK, settled), 10)
    effects = one.on(Pie("B12", "C1", HEAVY, Status.OK, settled), 10)
    assert sent(effects, EndGlobal)


def test_a_head_in_a_session_refuses_another_one() -> None:
    _, other, _ = engaged()
    [reply] = sent(other.on(Request("B30-1", "B30", is_global=True), 6), Reply)
    assert reply == Reply("B30-1", "B20", Status.BUSY)


def test_the_lease_ends_a_session_with_a_head_that_is_gone() -> None:
    one, _, request = engaged()
    assert sent(one.on(Tick("lease", request.session), 4000), WatchCluster) == [WatchCluster("C2", on=False)] * 2
    assert one.partner is None


def test_the_third_request_of_an_overloaded_edge_begins_a_session() -> None:
    one, _ = pair()
    one.detection.detect(one.metrics, one.others)
    assert one.on(AskGlobal("B11"), 3) == one.on(AskGlobal("B11"), 4) == []
    assert [effect.to for effect in one.on(AskGlobal("B11"), 5) if isinstance(effect, Send)] == ["B20"]


def test_the_difference_has_to_exceed_the_global_threshold() -> None:
    one, other = head(1), head(2)
    one.on(local("B11", Metrics(0.34, 0.01, 0.3)), 0)
    other.on(local("B21", LIGHT), 0)
    for broker, metrics in (("B20", LIGHT),):
        one.on(Pie(broker, "C2", metrics, Status.OK, is_global=True), 0)
    assert sent(one.on(Tick("detect"), 3), Request) == []
    one.on(local("B11", Metrics(0.36, 0.01, 0.3)), 4)
    assert len(sent(one.on(Tick("detect"), 60), Request)) == 1
