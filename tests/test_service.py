"""The guide's service, killed under load: nothing answered is lost, and nothing counts twice."""

import http.client
import json
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import jaxrate as jr
from tests.test_readme import BLOCK, PAGES

pytest.importorskip("flask")
RUN = """
import jaxrate as jr
{service}
from werkzeug.serving import make_server
server = make_server("127.0.0.1", 0, serve("results.sqlite"), threaded=True)
print(server.port, flush=True)
server.serve_forever()
"""


@pytest.fixture
def start(tmp_path):
    """A function that starts the service, and gives its process and its address."""
    (service,) = (text for language, text in BLOCK.findall(PAGES["service"]) if "def serve(" in text)
    (tmp_path / "run.py").write_text(RUN.format(service=service))
    started = []

    def start():
        process = subprocess.Popen(
            [sys.executable, "run.py"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        started.append(process)
        return process, f"http://127.0.0.1:{int(process.stdout.readline())}"

    yield start
    for process in started:
        process.kill()
        process.communicate()


def post(address, match):
    """The status and the answer; None if the service is gone."""
    head = {"Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(
            urllib.request.Request(f"{address}/results", json.dumps(match).encode(), head), timeout=60
        ) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)
    except (OSError, http.client.HTTPException):  # before its answer, or in the midst of it
        return None


def test_a_service_that_is_killed_under_load_loses_nothing_and_counts_nothing_twice(start, tmp_path):
    random = np.random.default_rng(1)
    results = [
        {"id": f"r{i}", "a": f"p{a}", "b": f"p{b}", "score": float(random.integers(3)) / 2, "time": float(i // 40)}
        for i, (a, b) in enumerate(random.permuted(np.tile(np.arange(20), (400, 1)), axis=1)[:, :2])
    ]  # of ten days, which come in any order within a week
    order = np.argsort([x["time"] + random.uniform(0.0, 6.0) for x in results])
    process, address = start()
    answers = {}
    with ThreadPoolExecutor(8) as senders:

        def send(match):
            if answer := post(address, match):
                answers[match["id"]] = answer

        sent = [senders.submit(send, results[i]) for i in order]
        while len(answers) < 150:
            time.sleep(0.001)
        process.kill()
        [one.result() for one in sent]
    assert 150 <= len(answers) < 400 and {status for status, _ in answers.values()} == {200}

    _, address = start()
    with ThreadPoolExecutor(8) as senders:  # all again: nobody knows which the service has
        again = dict(senders.map(lambda x: (x["id"], post(address, x)), results))
    assert {status for status, _ in again.values()} == {200}
    assert all(again[name] == answer for name, answer in answers.items())

    with sqlite3.connect(tmp_path / "results.sqlite") as journal:
        rows = journal.execute("SELECT id, a, b, score, time FROM results ORDER BY time, number").fetchall()
    journal.close()
    assert sorted(rows) == sorted(tuple(x.values()) for x in results)
    live = jr.live.start_history(jr.glicko())
    for _, a, b, score, when in rows:
        live.update(a, b, score, time=when)
    with urllib.request.urlopen(f"{address}/ratings") as reply:
        table = json.load(reply)
    assert dict(zip(table["player"], table["rating"], strict=True)) == {x: live.rating(x).mean for x in live.players}
