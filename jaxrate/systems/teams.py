"""The teams of a round, in the order of the standing: what systems of teams ask of it."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax

from jaxrate.events import LAST_ID, Array, Rounds
from jaxrate.systems.field import SMALL, real


class Teams(NamedTuple):
    """Teams [P] from the first to the last, those who tie by their numbers; behind them padding, teams of nobody."""

    of: Array  # [P] which of them each participant is in
    size: Array  # [P] its players; 0: padding
    rank: Array  # [P] the number of participants strictly better; of padding a large number
    member: Array | None  # [P, P] whether a participant (second axis) is in a team; None in large rounds


def line_up(event: Rounds) -> Teams:
    """The teams of a round."""
    count, there = len(event.rank), real(event)
    number = jnp.arange(count, dtype=jnp.int32)
    rank = jnp.minimum(event.rank, count)
    if count <= SMALL:
        same = event.team[:, None] == event.team[None, :]
        first = ~jnp.any(same & (number[:, None] < number[None, :]), axis=0)  # of his team in the order of the rows
        ahead = rank[:, None] < rank[None, :]
        ahead = ahead | ((rank[:, None] == rank[None, :]) & (event.team[:, None] < event.team[None, :]))
        of = jnp.sum(first[:, None] & ahead, axis=0, dtype=jnp.int32)
        member = of[None, :] == number[:, None]
        size = jnp.sum(member & there[None, :], axis=1, dtype=jnp.int32)
        ranks = jnp.min(jnp.where(member, rank[None, :], count), axis=1)
        return Teams(of, size, ranks, member)
    if (count + 1) ** 2 <= LAST_ID:  # sorting one array is four times as fast as sorting two
        key = jnp.sort(rank * count + event.team)
        team = key % count
        new = key != jnp.roll(key, 1)
    else:
        key, team = lax.sort((rank, event.team), num_keys=2)
        new = (key != jnp.roll(key, 1)) | (team != jnp.roll(team, 1))
    place = jnp.cumsum(new.at[0].set(True), dtype=jnp.int32) - 1
    of = jnp.zeros(count, jnp.int32).at[team].set(place)[event.team]
    size = jnp.zeros(count, jnp.int32).at[of].add(there.astype(jnp.int32))
    return Teams(of, size, jnp.full(count, count, jnp.int32).at[of].set(rank), None)


def by_number(event: Rounds) -> Teams:
    """The same in the order of their numbers, which does not tell the result; among them places of nobody."""
    count = len(event.rank)
    number = jnp.arange(count, dtype=jnp.int32)
    member = event.team[None, :] == number[:, None] if count <= SMALL else None
    teams = Teams(event.team, number, jnp.zeros_like(number), member)
    return teams._replace(size=total(teams, real(event).astype(jnp.int32)))


def total(teams: Teams, values: Array) -> Array:
    """[P] the sums by team of values [P] of the participants."""
    if teams.member is None:
        return jnp.zeros_like(values).at[teams.of].add(values)
    return jnp.sum(jnp.where(teams.member, values[None, :], jnp.zeros_like(values)), axis=1, dtype=values.dtype)
