"""When load is told, whose load is heard, and who is asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.balancing.padres.detection import Detection
from tidings.balancing.padres.messages import Action, Pie, Status
from tidings.balancing.padres.metrics import Metric, Metrics
from tidings.balancing.padres.parameters import Parameters
from tidings.balancing.padres.pie import AdaptivePie, PieSender

PARAMETERS = Parameters()
loads = st.builds(Metrics, st.floats(0, 1.5), st.floats(0, 0.5), st.floats(0, 1.5))


def pie(broker: str, metrics: Metrics, status: Status = Status.OK) -> Pie:
    return Pie(broker, "C1", metrics, status)


def test_a_load_message_is_due_after_a_change_by_the_threshold() -> None:
    sender = PieSender(PARAMETERS)
    assert sender.is_due(pie("B1", Metrics(0.5, 0.1, 0.5)))
    assert not sender.is_due(pie("B1", Metrics(0.52, 0.12, 0.48)))
    assert sender.is_due(pie("B1", Metrics(0.526, 0.1, 0.5)))
    assert sender.is_due(pie("B1", Metrics(0.526, 0.126, 0.5)))
    assert sender.is_due(pie("B1", Metrics(0.526, 0.126, 0.474)))
    assert sender.is_due(pie("B1", Metrics(0.526, 0.126, 0.474), Status.BUSY))
    sender.forget()
    assert sender.is_due(pie("B1", Metrics(0.526, 0.126, 0.474), Status.BUSY))


def test_equation_5() -> None:
    adaptive = AdaptivePie(PARAMETERS)
    for value in (0.4, 0.6):
        adaptive.published(Metrics(input_ratio=value))
    assert adaptive.wanted(Metric.INPUT, 0.6) == pytest.approx(0.6 - 0.1 + 0.1)
    assert adaptive.wanted(Metric.OUTPUT, 0.05) == 0.0
    assert adaptive.wanted(Metric.OUTPUT, 1.5) == 1.0


def test_a_static_load_gives_no_leeway_and_no_new_subscription() -> None:
    adaptive = AdaptivePie(PARAMETERS)
    for _ in range(10):
        adaptive.published(Metrics(0.5, 0.0, 0.0))
    assert adaptive.revise(Metrics(0.5, 0.0, 0.0), []) == [Metric.INPUT]
    assert adaptive.bounds[Metric.INPUT] == pytest.approx(0.4)
    assert adaptive.revise(Metrics(0.5, 0.0, 0.0), []) == []


def test_a_lower_bound_is_subscribed_only_if_it_filters_somebody_out() -> None:
    adaptive = AdaptivePie(PARAMETERS)
    adaptive.bounds[Metric.INPUT] = 0.8
    ours = Metrics(0.5, 0.0, 0.0)
    assert adaptive.revise(ours, [Metrics(0.2), Metrics(0.9)]) == []
    assert adaptive.revise(ours, [Metrics(0.6)]) == [Metric.INPUT]


def test_a_higher_bound_is_subscribed_only_beyond_half_of_the_detection_threshold() -> None:
    adaptive = AdaptivePie(PARAMETERS)
    adaptive.bounds[Metric.OUTPUT] = 0.3
    assert adaptive.revise(Metrics(output_ratio=0.44), []) == []
    assert adaptive.revise(Metrics(output_ratio=0.46), []) == [Metric.OUTPUT]


def test_the_history_is_of_the_last_ten() -> None:
    adaptive = AdaptivePie(PARAMETERS)
    for value in [0.0, *[0.5] * 10]:
        adaptive.published(Metrics(input_ratio=value))
    assert adaptive.wanted(Metric.INPUT, 0.5) == pytest.approx(0.4)


def test_an_overloaded_broker_asks_everybody_who_has_less_largest_difference_first() -> None:
    others = {
        "B2": pie("B2", Metrics(0.5, 0.1, 0.2)),
        "B3": pie("B3", Metrics(0.1, 0.1, 0.8)),
        "B4": pie("B4", Metrics(0.0, 0.0, 0.0), Status.BUSY),
    }
    actions = Detection(PARAMETERS).detect(Metrics(0.5, 0.1, 0.96), others)
    assert [(action.broker, action.metric) for action in actions] == [("B2", Metric.OUTPUT), ("B3", Metric.OUTPUT)]
    actions = Detection(PARAMETERS).detect(Metrics(0.96, 0.1, 0.5), others)
    assert actions[0] == Action("B3", Metric.INPUT, 0.86)


def test_a_broker_that_is_not_overloaded_waits_while_another_one_is() -> None:
    others = {"B2": pie("B2", Metrics()), "B3": pie("B3", Metrics(0.95, 0, 0), Status.NOT_AVAILABLE)}
    assert Detection(PARAMETERS).detect(Metrics(0.5, 0.0, 0.0), others) == []


def test_the_triggers_are_local_or_global() -> None:
    others = {"B2": pie("B2", Metrics(0.3, 0.010, 0.3))}
    ours = Metrics(0.42, 0.022, 0.3)
    found = Detection(PARAMETERS).detect(ours, others)
    assert [action.metric for action in found] == [Metric.INPUT, Metric.MATCH]
    assert Detection(PARAMETERS, is_global=True).detect(ours, others) == []


def test_a_session_that_found_nobody_is_not_tried_again_until_the_difference_grows() -> None:
    detection = Detection(PARAMETERS)
    others = {"B2": pie("B2", Metrics(0.3, 0.0, 0.0))}
    [action] = detection.detect(Metrics(0.5, 0.0, 0.0), others)
    detection.settled.note(action)
    assert detection.detect(Metrics(0.54, 0.0, 0.0), others) == []
    assert detection.balanced_with(Metrics(0.54, 0.0, 0.0), others) == {"B2"}
    assert detection.detect(Metrics(0.56, 0.0, 0.0), others) == [action]
    detection.settled.forget("B2")
    assert detection.detect(Metrics(0.5, 0.0, 0.0), others) == [action]


@given(loads, st.dictionaries(st.sampled_from(["B2", "B3", "B4"]), loads))
def test_nobody_asks_a_broker_with_as_much_load(ours: Metrics, known: dict[str, Metrics]) -> None:
    detection = Detection(PARAMETERS)
    others = {name: pie(name, metrics) for name, metrics in known.items()}
    actions = detection.detect(ours, others)
    assert all(ours.of(action.metric) > known[action.broker].of(action.metric) for action in actions)
    assert [action.difference for action in actions] == sorted((a.difference for a in actions), reverse=True)
    if not detection.overloads(ours):
        assert not {action.broker for action in actions} & detection.balanced_with(ours, others)
