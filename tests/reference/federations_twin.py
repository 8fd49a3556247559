"""The rules of US Chess, of the German and of the English chess federation in plain Python, one event after another.

Each function takes players, lists of dictionaries that it changes, and the games of an event [(a, b, score of a)].
"""

import math
from bisect import bisect_left
from decimal import ROUND_HALF_UP, Decimal


def own_games(games, i):
    """The games of a player: opponents and scores."""
    return [(b, s) if a == i else (a, 1 - s) for a, b, s in games if i in (a, b)]


def rounded(x, digits=0):
    """A number rounded, halves away from zero."""
    return float(Decimal(f"{x:.9f}").quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def root(excess, start):
    """Where a falling function is 0, nearest to `start`."""
    ends = []
    for is_left in (lambda y: y > 1e-11, lambda y: y > -1e-11):
        low, high = -5000.0, 9000.0
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if is_left(excess(middle)) else (low, middle)
        ends.append(low)
    return min(max(start, ends[0]), ends[1])


def uscf_event(players, games, threshold=10.0):
    """Players have age, rating, games, wins, losses, draws, events, peak."""
    indices = sorted({i for a, b, _ in games for i in (a, b)})
    first = {}
    for i in indices:
        p = players[i]
        by_age = 1300 if p["age"] > 26 else 100 if p["age"] < 2 else 50 * p["age"]
        first[i] = p["rating"] if p["games"] else by_age

    def effective(i):
        r, most = first[i], 50.0
        if r <= 2355:
            most = 50 / math.sqrt(0.662 + 7.39e-6 * (2569 - r) ** 2)
        return min(players[i]["games"], most)

    def is_unanimous(i, outcome):
        return players[i]["games"] > 0 and players[i][outcome] == players[i]["games"]

    def special(i, others, n):
        mine, r = own_games(games, i), first[i]
        prior, points = r, n / 2
        if is_unanimous(i, "wins"):
            prior, points = r - 400, n
        elif is_unanimous(i, "losses"):
            prior, points = r + 400, 0
        total = points + sum(s for _, s in mine)

        def excess(x):
            chances = [(n, prior), *((1, others[j]) for j, _ in mine)]
            return total - sum(w * min(max(0.5 + (x - o) / 800, 0), 1) for w, o in chances)

        return root(excess, r)

    def standard(i, others):
        mine, r = own_games(games, i), first[i]
        n = len(mine)
        gain = sum(s - 1 / (1 + 10 ** ((others[j] - r) / 400)) for j, s in mine) * 800 / (effective(i) + n)
        met = [j for j, _ in mine]
        has_bonus = n >= 3 and max(met.count(j) for j in met) <= 2
        return r + gain + (max(0.0, gain - threshold * math.sqrt(max(n, 4))) if has_bonus else 0.0)

    estimates = {i: first[i] if players[i]["games"] else special(i, first, 1) for i in indices}
    for _ in range(2):
        new = {}
        for i in indices:
            is_special = players[i]["games"] <= 8 or is_unanimous(i, "wins") or is_unanimous(i, "losses")
            new[i] = min(special(i, estimates, effective(i)), 2700.0) if is_special else standard(i, estimates)
        estimates = new
    for i, rating in estimates.items():
        p, scores = players[i], [s for _, s in own_games(games, i)]
        p["games"] += len(scores)
        for name, score in (("wins", 1), ("draws", 0.5), ("losses", 0)):
            p[name] += scores.count(score)
        p["events"] += len(scores) >= 3
        p["rating"] = max(rating, min(150, 100 + 4 * p["wins"] + 2 * p["draws"] + p["events"]))
        if p["games"] > 25:
            p["peak"] = max(p["peak"], p["rating"])
            floor = min(int(p["peak"] // 100) * 100 - 200, 2100)
            if floor >= 1200:
                p["rating"] = max(p["rating"], floor)


def dwz_event(players, games):
    """Players have age, rating (0: none), index."""

    def we(rating, mine, ratings):
        return sum((1 + math.erf((rating - ratings[j]) / 400)) / 2 for j, _ in mine)

    old = [p["rating"] for p in players]
    ratings = list(old)
    for i in range(len(players)):
        mine = [(j, s) for j, s in own_games(games, i) if old[j]]
        score = sum(s for _, s in mine)
        if not old[i] and len(mine) >= 5 and 0 < score < len(mine):
            ratings[i] = rounded(root(lambda x, mine=mine, score=score: score - we(x, mine, old), 1000.0))
    for i, p in enumerate(players):
        mine = [(j, s) for j, s in own_games(games, i) if ratings[j]]
        r, age = old[i], p["age"]
        if not r:
            p["rating"] = ratings[i]
        elif mine:
            surprise = sum(s for _, s in mine) - we(r, mine, ratings)
            e = (r / 1000) ** 4 + (5 if age <= 20 else 10 if age <= 25 else 15)
            e *= min(max(r / 2000, 0.5), 1) if age <= 20 and surprise >= 0 else 1
            brake = math.exp((1300 - r) / 150) - 1 if r < 1300 and surprise < 0 else 0
            e = min(max(rounded(e + brake), 5), 150 if brake else min(30, 5 * p["index"]))
            p["rating"] = max(rounded(r + 800 * surprise / (e + len(mine))), 1)
            p["index"] += 1


def ecf_event(players, games, last_difference, performance_difference):
    """Players have age, rating (0: none), and past, the number of games, opponents' ratings and points below ten."""

    def expected(own, other):
        d = min(max(own - other, -400), 400)
        return 0.5 + math.copysign(bisect_left(last_difference, abs(d) - 1e-6) / 100, d) * (d != 0)

    old = [p["rating"] for p in players]
    is_full = [p["past"][0] >= 10 for p in players]
    ratings, pasts = list(old), [p["past"] for p in players]
    for _ in range(2):
        new = list(ratings)
        for i, p in enumerate(players):
            if is_full[i]:
                continue
            mine = [(ratings[j], s) for j, s in own_games(games, i) if ratings[j]]
            pasts[i] = [p["past"][0] + len(mine), p["past"][1] + sum(r for r, _ in mine)]
            pasts[i].append(p["past"][2] + sum(s for _, s in mine))
            if pasts[i][0]:
                n = pasts[i][0] + 1
                share = rounded((pasts[i][2] + 0.5) / n, 2)
                dp = performance_difference[round(abs(share - 0.5) * 100)]
                opponents = pasts[i][1] + min(1800, 100 * p["age"])
                new[i] = rounded(opponents / n + math.copysign(dp, share - 0.5))
        ratings = new
    for i, p in enumerate(players):
        if is_full[i]:
            k, change = 40 if p["age"] < 18 else 20, 0.0
            for j, s in own_games(games, i):
                if ratings[j]:
                    change += k * (s - expected(old[i], ratings[j])) * (1.0 if pasts[j][0] >= 10 else 0.5)
            p["rating"] = old[i] + rounded(change)
        else:
            p["rating"], p["past"] = ratings[i], pasts[i]
