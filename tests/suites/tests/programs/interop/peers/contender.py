"""A contender of kazoo's recipes.

    contender.py SERVERS PATH NAME SESSION_TIMEOUT_MS RECIPE

Takes orders and reports as the binary `contender` of zk-tests does, which says how.
"""

import os
import queue
import sys
import threading
import time
import traceback

from kazoo.client import KazooClient, KazooState

BOUND = 30
"""More seconds than a session takes to begin."""

printing = threading.Lock()
ending = threading.Event()


def say(word, rest=""):
    with printing:
        print(f"{word} {time.monotonic_ns()} {rest}".strip(), flush=True)


class Locks:
    """A lock, taken and released by one thread."""

    def __init__(self, exclusive, shared=None):
        self.recipes = {"exclusive": exclusive, "shared": shared or exclusive}
        self.orders = queue.Queue()

    def run(self):
        while True:
            access = self.orders.get()
            recipe = self.recipes[access]
            recipe.acquire()
            say("holds")
            self.orders.get()
            say("releases")
            recipe.release()

    def ask(self, access):
        self.orders.put(access)

    def release(self):
        self.orders.put(None)

    def time(self, turns):
        began = time.monotonic_ns()
        for _ in range(turns):
            self.recipes["exclusive"].acquire()
            self.recipes["exclusive"].release()
        say("took", time.monotonic_ns() - began)


class Elections:
    """An election, stood for by one thread."""

    def __init__(self, election):
        self.election = election
        self.orders = queue.Queue()

    def lead(self):
        say("holds")
        self.orders.get()
        say("releases")

    def run(self):
        while True:
            self.orders.get()
            self.election.run(self.lead)

    def ask(self, _):
        self.orders.put(None)

    def release(self):
        self.orders.put(None)


def heard(state):
    if state != KazooState.CONNECTED:
        say("loses", state)


def run(work):
    try:
        work()
    except BaseException as error:
        if ending.is_set():
            return
        traceback.print_exc()
        say("fails", repr(error))
        os._exit(1)


def main():
    servers, path, name, timeout, recipe = sys.argv[1:]
    client = KazooClient(hosts=servers, timeout=int(timeout) / 1000)
    client.start(timeout=BOUND)
    client.add_listener(heard)
    place = {
        "lock": lambda: Locks(client.Lock(path, name)),
        "read_write_lock": lambda: Locks(client.WriteLock(path, name), client.ReadLock(path, name)),
        "election": lambda: Elections(client.Election(path, name)),
    }[recipe]()
    threading.Thread(target=run, args=[place.run], daemon=True).start()
    say("ready")
    for order in sys.stdin:
        match order.split():
            case ["ask", access]:
                place.ask(access)
            case ["release"]:
                place.release()
            case ["time", turns]:
                place.time(int(turns))
            case _:
                raise ValueError(order)
    ending.set()
    client.remove_listener(heard)
    client.stop()
    client.close()
    os._exit(0)


if __name__ == "__main__":
    run(main)
