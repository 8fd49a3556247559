"""What replays of matches must keep, and those of matches in rating periods."""

import numpy as np

from jaxrate.events import periods
from jaxrate.replay.compiling import in_a_hurry
from jaxrate.replay.run import run
from jaxrate.testing.cases import Case, equal, key, near, strictly
from jaxrate.testing.histories import MATCHES, seasons
from jaxrate.testing.replays import replay, season


def streams_equal_levels(case: Case) -> None:
    near("the state and the predictions", season(case), season(case._replace(form="levels")), 1e-11)


def a_column_that_nobody_reads_changes_nothing(case: Case) -> None:
    events = seasons(case)[0]
    unread = {"unread": np.random.default_rng(7).normal(size=MATCHES)}
    context = events.context._replace(columns=unread | (events.context.columns or {}))
    equal("the state and the predictions", season(case), replay(case, events._replace(context=context)))


def a_period_of_one_match_is_that_match(case: Case) -> None:
    """Where no time passes between the periods."""
    system, events = case.system, seasons(case)[0]
    if "match_periods" in system.params._fields:  # how much time a match takes that is no period
        system = system._replace(params=system.params._replace(match_periods=1.0))
    events = events._replace(time=np.zeros(MATCHES))
    ragged = periods(events, period=np.arange(MATCHES))
    ragged = ragged._replace(events=ragged.events._replace(time=events.time))
    with strictly(case.double), in_a_hurry():
        one, other = (run(system, x, key=key(system)) for x in (events, ragged))
    if "time" in one.state._fields:  # of the last match; no time may have passed since the last period
        one, other = (x._replace(state=x.state._replace(time=0.0)) for x in (one, other))
    near("the state and the predictions", one, other, 1e-10)
