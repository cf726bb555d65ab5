"""Both sides of a session, message by message; and a subscriber between two brokers."""

from hypothesis import given
from hypothesis import strategies as st

from tests.balancing.padres.brokers import FakeBroker, edge, sent, woken
from tidings.balancing.padres import EdgeBalancer, LoadProfile, Metric, Migrant, Status
from tidings.balancing.padres.messages import (
    Announce,
    Arrived,
    AskGlobal,
    Attach,
    BeginSampling,
    Cancel,
    Catchup,
    Detach,
    Done,
    Leave,
    Lost,
    MoveTo,
    Pie,
    Profiled,
    Reply,
    Request,
    Send,
    Subscribe,
    Tell,
    Tick,
    ToSubscriber,
    Unsubscribe,
    WatchCluster,
)
from tidings.balancing.padres.sessions import PATIENCE_S

PROFILE = LoadProfile({}, css=1, samples=1, rate=1.0)


def status(balancer: EdgeBalancer) -> Status:
    return balancer.status


def pie_of(balancer: EdgeBalancer, now: float) -> Pie:
    effects = balancer.on(Tick("pie"), now)
    return next(effect.pie for effect in effects if isinstance(effect, Announce))


def pair() -> tuple[EdgeBalancer, EdgeBalancer]:
    """B1 has 0.8 of its output used, B2 nothing, and B1 knows."""
    giver, taker = edge("B1", [f"s{n}-100" for n in range(8)]), edge("B2", [])
    giver.on(pie_of(taker, 0), 0)
    pie_of(giver, 0)
    return giver, taker


def asked() -> tuple[EdgeBalancer, EdgeBalancer, Request]:
    giver, taker = pair()
    [request] = sent(giver.on(Tick("detect"), 1), Request)
    assert isinstance(request, Request)
    return giver, taker, request


def moving() -> tuple[EdgeBalancer, EdgeBalancer, list[Tell]]:
    giver, taker, request = asked()
    [reply] = sent(taker.on(request, 2), Reply)
    effects = giver.on(reply, 3)
    assert isinstance(effects[0], BeginSampling)
    told = giver.on(Profiled(request.session, PROFILE), 4)
    return giver, taker, [effect for effect in told if isinstance(effect, Tell)]


def test_a_session_from_the_request_to_the_last_leave() -> None:
    giver, taker, told = moving()
    assert status(giver) is status(taker) is Status.BUSY
    assert len(told) == 4
    moves = {tell.subscriber: tell.message for tell in told}
    assert set(moves.values()) == {MoveTo("B1-1@1", "B2", 4)}
    *early, last = [taker.on(Arrived("B1-1@1", name, 4), 5) for name in moves]
    assert not any(sent(effects, Done) for effects in early)
    [done] = [effect for effect in last if isinstance(effect, Send)]
    assert done == Send("B1", Done("B1-1@1", frozenset(moves)), in_order=True)
    assert status(taker) is Status.STABILIZING
    left = giver.on(done.message, 6)
    assert left == [Tell(name, Leave("B1-1@1", arrived=True), in_order=True) for name in moves]
    assert status(giver) is Status.STABILIZING
    assert giver.moved == 4


def test_a_window_out_of_the_ordinary_is_no_reason_for_a_session() -> None:
    """The last window of B1 says more; counted over the same windows as the offer it has as much as B2."""
    giver, taker, request = asked()
    assert isinstance(giver.view, FakeBroker)
    giver.view.subscribers = ["s0-50"]
    [reply] = sent(taker.on(request, 2), Reply)
    assert sent(giver.on(reply, 3), Cancel) == [Cancel(request.session)]
    assert status(giver) is Status.OK


def test_an_overload_is_what_the_last_window_says() -> None:
    giver, taker = edge("B1", [f"s{n}-100" for n in range(10)]), edge("B2", [])
    giver.on(pie_of(taker, 0), 0)
    pie_of(giver, 0)
    [request] = sent(giver.on(Tick("detect"), 1), Request)
    assert isinstance(request, Request)
    assert isinstance(giver.view, FakeBroker)
    giver.view.subscribers = []
    [reply] = sent(taker.on(request, 2), Reply)
    assert not sent(giver.on(reply, 3), Cancel)


def test_the_taker_waits_so_many_times_the_timeout_and_no_longer() -> None:
    giver, taker, told = moving()
    effects = taker.on(Arrived("B1-1@1", told[0].subscriber, 4), 5)
    tick = woken(effects, "expect")
    [done] = sent(taker.on(tick, 25), Done)
    assert done == Done("B1-1@1", frozenset({told[0].subscriber}))
    left = giver.on(done, 26)
    assert [
        effect.message.arrived for effect in left if isinstance(effect, Tell) and isinstance(effect.message, Leave)
    ] == [
        True,
        False,
        False,
        False,
    ]


def test_a_giver_that_hears_nothing_keeps_its_subscribers() -> None:
    giver, _, told = moving()
    left = giver.on(Tick("moved", "B1-1@1"), 4 + 4 * 5 + PATIENCE_S)
    assert left == [Tell(tell.subscriber, Leave("B1-1@1", arrived=False), in_order=True) for tell in told]
    assert status(giver) is Status.OK
    assert giver.on(Done("B1-1@1", frozenset({"s0-100"})), 1000) == []


def test_a_taker_that_hears_nothing_is_free_again() -> None:
    _, taker, request = asked()
    effects = taker.on(request, 2)
    assert status(taker) is Status.BUSY
    taker.on(woken(effects, "lease"), 60)
    assert status(taker) is Status.OK


def test_a_broker_in_a_session_refuses_another_one() -> None:
    _, taker, request = asked()
    taker.on(request, 2)
    [reply] = sent(taker.on(Request("B3-1", "B3"), 3), Reply)
    assert reply == Reply("B3-1", "B2", Status.BUSY)


def test_a_broker_that_asks_refuses_to_be_asked() -> None:
    giver, _, _ = asked()
    [reply] = sent(giver.on(Request("B3-1", "B3"), 2), Reply)
    assert reply == Reply("B3-1", "B1", Status.BUSY)


def test_the_next_one_of_the_list_is_asked_after_a_refusal_and_after_silence() -> None:
    giver, _ = pair()
    giver.on(Pie("B3", "C1", pie_of(edge("B3", ["s9-300"]), 0).metrics, Status.OK), 0)
    giver.on(Pie("B4", "C1", pie_of(edge("B4", ["s9-400"]), 0).metrics, Status.OK), 0)
    effects = giver.on(Tick("detect"), 1)
    assert [effect.to for effect in effects if isinstance(effect, Send)] == ["B2"]
    effects = giver.on(Reply("B1-1@1", "B2", Status.BUSY), 2)
    assert [effect.to for effect in effects if isinstance(effect, Send)] == ["B3"]
    effects = giver.on(Tick("reply", "B1-2@2"), 12)
    assert [effect.to for effect in effects if isinstance(effect, Send)] == ["B4"]
    assert giver.on(Reply("B1-3@12", "B4", Status.BUSY), 13) == []
    assert not giver.giving.is_active
    assert set(giver.others) == {"B2", "B4"}


def test_an_offer_that_comes_too_late_is_cancelled() -> None:
    giver, taker, request = asked()
    [reply] = sent(taker.on(request, 2), Reply)
    giver.on(Tick("reply", request.session), 11)
    [cancel] = sent(giver.on(reply, 12), Cancel)
    taker.on(cancel, 13)
    assert status(taker) is Status.OK


def test_a_broker_that_has_got_as_heavy_meanwhile_is_left_alone() -> None:
    """What B1 has heard of B2 is old: with Adaptive PIE it does not hear that B2 has got heavier."""
    giver, taker, request = asked()
    taker.view.subscribers += [f"s{n}-75" for n in range(20, 30)]  # type: ignore[attr-defined]  # 0.75 beside 0.8
    [reply] = sent(taker.on(request, 2), Reply)
    effects = giver.on(reply, 3)
    assert effects == [Send("B2", Cancel(request.session))]
    assert status(giver) is Status.OK
    taker.on(Cancel(request.session), 4)
    assert status(taker) is Status.OK
    assert giver.on(Tick("detect"), 30)[:-1] == []  # now it knows
    assert sent(giver.on(Tick("detect"), 60), Request) == []


def test_nothing_to_move_ends_the_session_and_is_remembered() -> None:
    giver, taker = edge("B1", ["s1-800"]), edge("B2", [])
    giver.on(pie_of(taker, 0), 0)
    pie_of(giver, 0)
    [request] = sent(giver.on(Tick("detect"), 1), Request)
    [reply] = sent(taker.on(request, 2), Reply)
    giver.on(reply, 3)
    [cancel] = sent(giver.on(Profiled("B1-1@1", PROFILE), 4), Cancel)
    taker.on(cancel, 5)
    assert status(giver) is status(taker) is Status.OK
    assert sent(giver.on(Tick("detect"), 30), Request) == []


def test_an_overloaded_broker_without_a_free_one_asks_its_head() -> None:
    lonely = edge("B1", ["s1-990"])
    pie_of(lonely, 0)
    assert sent(lonely.on(Tick("detect"), 1), AskGlobal) == [AskGlobal("B1")]


def test_another_cluster_is_watched_and_forgotten() -> None:
    broker = edge("B1", ["s1-100"])
    foreign = Pie("B7", "C2", pie_of(edge("B7", []), 0).metrics, Status.OK)
    broker.on(foreign, 0)
    assert broker.others == {}
    assert broker.on(WatchCluster("C2", on=True), 1) == [Subscribe("C2")]
    broker.on(foreign, 2)
    assert set(broker.others) == {"B7"}
    assert broker.on(WatchCluster("C2", on=False), 3) == [Unsubscribe("C2")]
    assert broker.others == {}


def test_adaptive_subscriptions_follow_the_load() -> None:
    broker = edge("B1", [f"s{n}-100" for n in range(8)], adaptive=True)
    assert [effect for effect in broker.start(0) if isinstance(effect, Subscribe)] == [
        Subscribe("C1", metric, 0.0) for metric in Metric
    ]
    [changed] = [effect for effect in broker.on(Tick("pie"), 30) if isinstance(effect, Subscribe)]
    assert (changed.metric, round(changed.below or 0, 6)) == (Metric.OUTPUT, 0.7)


def test_a_subscriber_is_at_both_brokers_until_it_leaves() -> None:
    migrant = Migrant("B1")
    assert migrant.accepts("p0")
    assert migrant.on(MoveTo("x", "B2", 3)) == [Attach("B2", "x", 3)]
    assert migrant.homes == ("B1", "B2")
    assert migrant.on(MoveTo("y", "B3", 1)) == []
    assert [migrant.accepts(p) for p in ("p1", "p2", "p1", "p0")] == [True, True, False, False]
    assert migrant.on(Leave("other", arrived=True)) == []
    assert migrant.on(Leave("x", arrived=True)) == [Detach("B1")]
    assert migrant.home == "B2"
    assert migrant.moving is None
    assert not migrant.accepts("p2")


def test_the_history_of_a_subscriber_is_short() -> None:
    migrant = Migrant("B1", history=2)
    assert [migrant.accepts(p) for p in ("p1", "p2", "p3", "p1", "p3")] == [True, True, True, True, False]


def test_a_subscriber_whose_broker_is_lost_is_at_the_other_one() -> None:
    for lost, home in (("B1", "B2"), ("B2", "B1")):
        migrant = Migrant("B1")
        migrant.on(MoveTo("x", "B2", 1))
        assert migrant.on(Lost(lost)) == [Detach(lost)]
        assert migrant.homes == (home,)


@given(st.lists(st.sampled_from(["move", "leave", "stay", "lost old", "lost new"]), max_size=20))
def test_a_subscriber_has_one_home_or_a_session(steps: list[str]) -> None:
    migrant = Migrant("B0")
    for number, step in enumerate(steps):
        session = migrant.moving.session if migrant.moving else ""
        target = migrant.moving.to if migrant.moving else "B9"
        messages: dict[str, ToSubscriber] = {
            "move": MoveTo(f"x{number}", f"B{number}", 1),
            "leave": Leave(session, arrived=True),
            "stay": Leave(session, arrived=False),
            "lost old": Lost(migrant.home),
            "lost new": Lost(target),
        }
        migrant.on(messages[step])
        assert len(migrant.homes) == (2 if migrant.moving else 1)
        assert len(set(migrant.homes)) == len(migrant.homes)


@given(st.lists(st.integers(10, 200), min_size=1, max_size=12), st.lists(st.integers(10, 200), max_size=12))
def test_a_session_never_leaves_the_taker_with_more_than_the_giver_had(ours: list[int], theirs: list[int]) -> None:
    giver = edge("B1", [f"a{n}-{size}" for n, size in enumerate(ours)])
    taker = edge("B2", [f"b{n}-{size}" for n, size in enumerate(theirs)])
    giver.on(pie_of(taker, 0), 0)
    had = pie_of(giver, 0).metrics.output_ratio
    for request in sent(giver.on(Tick("detect"), 1), Request):
        for reply in sent(taker.on(request, 2), Reply):
            giver.on(reply, 3)
    told = giver.on(Profiled("B1-1@1", PROFILE), 4)
    assert isinstance(taker.view, FakeBroker)
    taker.view.subscribers += [tell.subscriber for tell in told if isinstance(tell, Tell)]
    assert taker.view.measure(5).output_ratio <= max(had, sum(theirs) / 1000)


def test_after_a_new_connection_load_is_told_again_although_it_has_not_changed() -> None:
    balancer = edge("B1", ["s1-100"])
    pie = pie_of(balancer, 0)
    assert not [effect for effect in balancer.on(Tick("pie"), 30) if isinstance(effect, Announce)]
    assert balancer.on(Tick("linked"), 31) == [Send("B0", Catchup("B1"))]
    assert pie_of(balancer, 60) == pie
