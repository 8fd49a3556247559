"""The sizes to which columns, schedules and events are padded, so that few programs serve histories of all lengths."""

COARSE = 1 << 17  # numbers up to here cost nothing: they grow to a power of two, and larger ones by an eighth at most
LEAST = 64
STEPS = 32  # of a schedule, at the least
FINE = 16  # sizes of events, of which each costs time, grow by a sixteenth, and as much once more to whole vectors
VECTOR = 8  # numbers that a processor calculates at once


def padded_size(number: int, coarse: int = COARSE, least: int = LEAST) -> int:
    """The least of the sizes in use that is not below a number."""
    if number <= max(coarse, least):
        return max(1 << max(int(number) - 1, 0).bit_length(), least)
    return _round_up_by_octave_parts(number, 8)


def padded_event_size(number: int) -> int:
    """The same for the size that events are padded to: whatever is added to it is calculated for nothing.

    Whole vectors compile a third sooner than vectors with some numbers behind them: these are code of their own.
    """
    close = _round_up_by_octave_parts(number, FINE)
    vectors = -(-close // VECTOR) * VECTOR
    return vectors if FINE * (vectors - close) <= vectors else close


def _round_up_by_octave_parts(number: int, parts_per_octave: int) -> int:
    """The next multiple of the power of two that divides an octave into so many parts."""
    unit = 1 << max((number - 1).bit_length() - parts_per_octave.bit_length(), 0)
    return -(-number // unit) * unit
