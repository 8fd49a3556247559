"""A heat map of percentages as a small PNG, in the colours of light and of dark pages."""

from base64 import b64encode

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.site.palette_png import encode_palette_png

LIGHT_COLOURS = "#b3450b", "#f0a36b", "#ffffff", "#6fa8dc", "#0b5cad"  # from low through parity to high
DARK_COLOURS = "#f0a36b", "#9c5a2e", "#10182a", "#3d6f9f", "#7cb7f5"
NO_VALUE_COLOURS: dict[tuple[str, ...], str] = {LIGHT_COLOURS: "#e4e1d8", DARK_COLOURS: "#2f3a50"}
NO_VALUE = 101  # in place of a percentage


def whole_percentages(percent: HostArray) -> HostArray:
    """[n, m] percentages as bytes; 101 for NaN."""
    return np.where(np.isnan(percent), NO_VALUE, np.round(percent)).astype(np.uint8)


def heat_map_png(percent: HostArray, colours: tuple[str, ...]) -> str:
    """The address, with the data in it, of a PNG with a pixel for each of the percentages [n, m]; NaN is grey.

    The first colour is that of 0, the last one that of 100.
    """
    anchors = np.array([_rgb(colour) for colour in colours], float)
    positions = np.linspace(0.0, 100.0, len(colours))
    palette = np.stack([np.interp(np.arange(101), positions, channel) for channel in anchors.T], axis=1).round()
    palette = np.append(palette, [_rgb(NO_VALUE_COLOURS[colours])], axis=0).astype(np.uint8)
    image = encode_palette_png(whole_percentages(percent), palette.tobytes())
    return f"data:image/png;base64,{b64encode(image).decode()}"


def _rgb(colour: str) -> tuple[int, int, int]:
    """Red, green and blue of a colour such as #0b5cad."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
