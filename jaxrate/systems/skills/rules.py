"""What skills expect before an event, and learn after it."""

import jax.numpy as jnp

from jaxrate.events import Array, Matches, Periods
from jaxrate.plain import bind
from jaxrate.system import Rules
from jaxrate.systems.outlook import Outlook
from jaxrate.systems.reversion import since
from jaxrate.systems.skills.model import Constants, Model, State, prepare
from jaxrate.systems.skills.observations import expected_score, in_full, margin_loss, messages
from jaxrate.systems.skills.passing import advance, begun, by_season
from jaxrate.systems.skills.posterior import learn
from jaxrate.systems.skills.strengths import Meeting, meeting


def predict(model: Model, constants: Constants, rows: State, event: Matches | Periods) -> Array:
    """Expected score of the first player."""
    return expected_score(model, constants, to_come(model, constants, rows, event))


def outlook(model: Model, constants: Constants, rows: State, event: Matches | Periods) -> Outlook:
    return in_full(constants, to_come(model, constants, rows, event))


def surprise(model: Model, constants: Constants, rows: State, event: Matches | Periods) -> Array:
    """What the margins lose, minus the logarithms of their densities."""
    return margin_loss(model, constants, to_come(model, constants, rows, event), event)


def to_come(model: Model, constants: Constants, rows: State, event: Matches | Periods) -> Meeting:
    rows = begun(model, constants, rows, event)
    return meeting(model, constants, rows, event, None)


def update(model: Model, constants: Constants, rows: State, event: Matches | Periods, key: Array | None) -> State:
    """Learn from the games, at the ratings before them; seasons that begin within a rating period follow its games."""
    del key
    rows, end = begun(model, constants, rows, event), event.time
    pair = meeting(model, constants, rows, event, event.context.weight)
    after = learn(model, constants, rows, event, pair, messages(model, constants, pair, event))
    if isinstance(event, Periods):
        end = end + constants.params.period
        after = by_season(model, constants, after, since(event, rows.time), end)
    return after._replace(time=jnp.full_like(rows.time, end))


def rules_of(model: Model) -> Rules:
    return Rules(*(bind(rule, model) for rule in (prepare, advance, predict, update)))
