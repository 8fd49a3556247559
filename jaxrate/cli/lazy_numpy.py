"""NumPy, loaded at its first use: help and completion do without."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
else:

    class _LazyNumPy:
        """Attributes of NumPy. (A module that loads itself later would be half loaded where others import parts.)"""

        def __getattr__(self, name: str) -> Any:
            import numpy

            return getattr(numpy, name)

    np = _LazyNumPy()

__all__ = ["np"]
