"""The smallest case that fails as a larger one did."""

import time

LEAST = {"matches": 1, "rounds": 1, "settings": 1, "histories": 1, "starts": 1, "width": 32, "players": 4}
CLOSE = 1.25  # a case is small enough if one so much smaller does not fail


def smallest_failing_case(case, fails, seconds):
    """A case with fewer matches, rounds, settings and players, and without settings of the system that do not matter.

    Args:
      case: what identifies a case that fails.
      fails: whether another one fails; it may take long.
      seconds: after which no other one is tried.

    Returns:
      The smallest case that failed, and how many were tried.
    """
    end, tried = time.monotonic() + seconds, 0

    def still_fails(other):
        nonlocal tried
        tried += 1
        return fails(other)

    for name in list(case.get("settings_of_system", {})):
        fewer = {key: value for key, value in case["settings_of_system"].items() if key != name}
        if time.monotonic() < end and still_fails(case | {"settings_of_system": fewer}):
            case = case | {"settings_of_system": fewer}
    for name, least in LEAST.items():
        passes = least - 1  # the largest number that is not known to fail
        while name in case and case[name] > max(passes * CLOSE, passes + 1) and time.monotonic() < end:
            middle = max(least, int((max(passes, 1) * case[name]) ** 0.5), passes + 1)
            if still_fails(case | {name: middle}):
                case = case | {name: middle}
            else:
                passes = middle
    return case, tried
