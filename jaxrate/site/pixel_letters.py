"""Capitals of five by seven pixels, for images that no font can be asked for."""

import unicodedata

import numpy as np

from jaxrate.array_types import HostArray

HEIGHT, WIDTH = 7, 5  # of a letter, in pixels
ADVANCE = WIDTH + 1  # from one letter to the next
ROWS = {  # of each letter from the top, as numbers of two hexadecimal digits, whose five bits are its pixels
    "A": "0e11111f111111", "B": "1e11111e11111e", "C": "0e11101010110e", "D": "1e11111111111e", "E": "1f10101e10101f",
    "F": "1f10101e101010", "G": "0e11101711110f", "H": "1111111f111111", "I": "0e04040404040e", "J": "0702020202120c",
    "K": "11121418141211", "L": "1010101010101f", "M": "111b1515111111", "N": "11111915131111", "O": "0e11111111110e",
    "P": "1e11111e101010", "Q": "0e11111115120d", "R": "1e11111e141211", "S": "0f10100e01011e", "T": "1f040404040404",
    "U": "1111111111110e", "V": "11111111110a04", "W": "1111111515150a", "X": "11110a040a1111", "Y": "11110a04040404",
    "Z": "1f01020408101f", "0": "0e11131519110e", "1": "040c040404040e", "2": "0e11010204081f", "3": "1f02040201110e",
    "4": "02060a121f0202", "5": "1f101e0101110e", "6": "0608101e11110e", "7": "1f010204080808", "8": "0e11110e11110e",
    "9": "0e11110f01020c", " ": "00000000000000", ".": "00000000000c0c", ",": "000000000c0408", "-": "0000000e000000",
    "'": "0c040800000000", "&": "0c12140815120d", "(": "02040808080402", ")": "08040202020408", ":": "000c0c000c0c00",
    "/": "00010204081000", "+": "0004041f040400", "%": "18190204081303", "!": "04040404040004", "_": "0000000000001f",
    "#": "0a0a1f0a1f0a0a",
}  # fmt: skip
SIMPLER = {"\u2019": "'", "\u2018": "'", "\u2212": "-", "\u2013": "-", "\u2010": "-", "\u2011": "-", "\u00d8": "O",
           "\u0141": "L", "\u00c6": "AE", "\u0152": "OE", "\u0110": "D", "\u00d0": "D", "\u00de": "TH"}  # fmt: skip


def draw_text(text: str, most: int) -> HostArray | None:
    """[HEIGHT, n] whether each pixel of a text in capitals is set; at most so many letters, with dots for the rest.

    None of a text with letters of other scripts.
    """
    capitals = "".join(x for x in unicodedata.normalize("NFKD", text.upper()) if not unicodedata.combining(x))
    letters = "".join(SIMPLER.get(x, x) for x in capitals)
    if not letters or not set(letters) <= set(ROWS):
        return None
    if len(letters) > most:
        letters = f"{letters[: most - 2].rstrip()}.."
    columns = np.zeros((HEIGHT, ADVANCE * len(letters) - 1), bool)
    for i, letter in enumerate(letters):
        rows = np.frombuffer(bytes.fromhex(ROWS[letter]), np.uint8)
        columns[:, ADVANCE * i : ADVANCE * i + WIDTH] = np.unpackbits(rows[:, None], axis=1)[:, -WIDTH:]
    return columns
