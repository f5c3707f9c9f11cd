"""kazoo, doing what it is told: the orders and answers are those of src/worker/mod.rs."""

import collections
import os
import queue
import sys
import threading
import time

from kazoo.client import KazooClient

WINDOW = 256
PATH = "/election"
BOUND = 60
"""More seconds than a session takes to begin."""


def connected(servers, timeout_ms):
    client = KazooClient(hosts=servers, timeout=timeout_ms / 1000)
    client.start(timeout=BOUND)
    return client


class Candidate(threading.Thread):
    """Stands in an election, leads, resigns when it is told to, and stands again."""

    def __init__(self, client, node, number, reports):
        super().__init__(daemon=True)
        self.election = client.Election(node, str(number))
        self.number = number
        self.reports = reports
        self.resignations = queue.SimpleQueue()

    def run(self):
        while True:
            self.election.run(self.lead)

    def lead(self):
        self.reports.put((self.number, time.monotonic_ns()))
        self.resignations.get()


class Worker:
    def connect(self, servers, timeout_ms):
        self.place = (servers, int(timeout_ms))
        self.client = connected(*self.place)

    def reconnect(self):
        self.client.stop()
        self.client.close()
        self.client = connected(*self.place)

    def tasks(self, count):
        """Its way to have several in flight: `get_async`."""
        began = time.monotonic_ns()
        in_flight = collections.deque(self.client.get_async(PATH) for _ in range(WINDOW))
        for _ in range(int(count) - WINDOW):
            assert len(in_flight.popleft().get()[0]) == 100
            in_flight.append(self.client.get_async(PATH))
        for answer in in_flight:
            answer.get()
        return [time.monotonic_ns() - began]

    def one(self, count):
        times = []
        for _ in range(int(count)):
            began = time.monotonic_ns()
            self.client.get(PATH)
            times.append(time.monotonic_ns() - began)
        times.sort()
        return [times[len(times) // 2]]

    def stand(self, node, count, sessions):
        self.reports = queue.SimpleQueue()
        own = sessions == "own"
        self.candidates = []
        for number in range(int(count)):
            client = connected(*self.place) if own else self.client
            candidate = Candidate(client, node, number, self.reports)
            candidate.start()
            self.candidates.append(candidate)
        self.leader, _ = self.reports.get(timeout=BOUND)

    def turn(self):
        began = time.monotonic_ns()
        self.candidates[self.leader].resignations.put(None)
        self.leader, since = self.reports.get(timeout=BOUND)
        return [since - began]

    def idle(self, count):
        self.sessions = [connected(*self.place) for _ in range(int(count))]

    def ask(self, millis):
        began = answered = time.monotonic_ns()
        gap = errors = 0
        end = began + int(millis) * 1_000_000
        while time.monotonic_ns() < end:
            try:
                self.client.get("/zookeeper")
            except Exception:
                errors += 1
            else:
                now = time.monotonic_ns()
                gap, answered = max(gap, now - answered), now
            time.sleep(0.005)
        return [max(gap, time.monotonic_ns() - answered), errors]


def main():
    worker = Worker()
    for line in sys.stdin:
        order, *arguments = line.split()
        try:
            numbers = getattr(worker, order)(*arguments) or []
            print("ok", *numbers, flush=True)
        except Exception as error:
            print("failed", repr(error).replace("\n", " "), flush=True)
    os._exit(0)


main()
