"""The parts and observations of `jr.skills`: values that print as the calls that make them.

    system = jr.skills(jr.parts.own_side(), jr.parts.experience(20), observe=jr.parts.margin("points"))

The guide "Skills" builds models of them.
"""

from jaxrate.systems.skills.part_declarations import *  # noqa: F403
from jaxrate.systems.skills.part_declarations import __all__ as __all__
