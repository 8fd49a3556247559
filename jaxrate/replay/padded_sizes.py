"""The sizes to which columns, schedules and events are padded, so that few programs serve histories of all lengths."""

# Numbers up to here cost nothing: they grow to a power of two, and larger ones by an eighth at most.
POWER_OF_TWO_LIMIT = 1 << 17
MIN_SIZE = 64  # of columns
MIN_SCHEDULE_STEPS = 32
# Sizes of events, each of which costs time, grow by a sixteenth, and by as much once more to whole vectors.
EVENT_SIZES_PER_OCTAVE = 16
MIN_EVENT_SIZE = 16  # of what is smoothed
VECTOR_LENGTH = 8  # numbers that a processor calculates at once


def padded_size(number: int, power_of_two_limit: int = POWER_OF_TWO_LIMIT, minimum: int = MIN_SIZE) -> int:
    """The least of the sizes in use that is not below a number."""
    if number <= max(power_of_two_limit, minimum):
        return max(1 << max(int(number) - 1, 0).bit_length(), minimum)
    return _round_up_by_octave_parts(number, 8)


def padded_event_size(number: int) -> int:
    """The same for the size that events are padded to: whatever is added to it is calculated for nothing.

    Whole vectors compile a third sooner than vectors with some numbers behind them: these are code of their own.
    """
    close = _round_up_by_octave_parts(number, EVENT_SIZES_PER_OCTAVE)
    vectors = -(-close // VECTOR_LENGTH) * VECTOR_LENGTH
    return vectors if EVENT_SIZES_PER_OCTAVE * (vectors - close) <= vectors else close


def _round_up_by_octave_parts(number: int, parts_per_octave: int) -> int:
    """The next multiple of the power of two that divides an octave into so many parts."""
    unit = 1 << max((number - 1).bit_length() - parts_per_octave.bit_length(), 0)
    return -(-number // unit) * unit
