"""Competitive rating systems on JAX."""

from jaxrate import metrics as metrics
from jaxrate.data import Dataset as Dataset
from jaxrate.data import read as read
from jaxrate.data import write as write
from jaxrate.events import Context as Context
from jaxrate.events import Matches as Matches
from jaxrate.events import Periods as Periods
from jaxrate.events import Ragged as Ragged
from jaxrate.events import Rounds as Rounds
from jaxrate.events import matches as matches
from jaxrate.events import periods as periods
from jaxrate.events import rounds as rounds
from jaxrate.leaderboard import leaderboard as leaderboard
from jaxrate.leaderboard import ratings as ratings
from jaxrate.run import predict as predict
from jaxrate.run import run as run
from jaxrate.schedule import by_level as by_level
from jaxrate.system import RatingSystem as RatingSystem
from jaxrate.systems.elo import elo as elo
from jaxrate.systems.glicko import glicko as glicko
from jaxrate.systems.glicko2 import glicko2 as glicko2
