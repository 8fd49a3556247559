"""Arrays: one name for those that programs compute with, one for those of the host."""

from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = Any  # jax.Array, a tracer of one, or numpy.ndarray
HostArray: TypeAlias = np.ndarray[Any, Any]
