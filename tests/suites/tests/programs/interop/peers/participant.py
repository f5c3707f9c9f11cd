"""Uses kazoo's barriers, queues, counters and parties.

    participant.py SERVERS SESSION_TIMEOUT_MS

Takes orders and reports as the binary `participant` of zk-tests does, which says how. Its queues are
`queue` and `locking`.
"""

import sys
import threading
import time
import traceback

from kazoo.client import KazooClient

BOUND = 30
"""More seconds than a session takes to begin, or than a test waits."""

printing = threading.Lock()
entered = {}
"""The double barriers that it is in, by path."""
claimed = {}
"""The locking queues that it has an item of, by path."""
joined = {}
"""The parties that it is in, by path."""


def say(line):
    with printing:
        print(line, flush=True)


def barrier(client, item, verb, path):
    barrier = client.Barrier(path)
    match verb:
        case "set":
            barrier.create()
        case "lift":
            barrier.remove()
        case "wait":
            if not barrier.wait(BOUND):
                raise TimeoutError


def double_barrier(client, item, verb, path, *count):
    match verb:
        case "enter":
            entered[path] = client.DoubleBarrier(path, int(count[0]))
            entered[path].enter()
        case "leave":
            entered.pop(path).leave()


def queue(client, item, verb, path, *arguments):
    queue = client.Queue(path)
    match verb:
        case "put":
            queue.put(arguments[0].encode(), *map(int, arguments[1:]))
        case "fill":
            count, prefix = arguments
            for number in range(int(count)):
                queue.put(f"{prefix}-{number}".encode())
                item(f"{prefix}-{number}")
        case "poll":
            data = queue.get()
            return "nothing" if data is None else data.decode()
        case "take":
            while (data := queue.get()) is None:
                time.sleep(0.01)
            return data.decode()
        case "drain":
            while (data := queue.get()) is not None:
                item(data.decode())
        case "time":
            return timed(lambda: queue.put(b"item"), int(arguments[0]))
        case "discard":
            taken = 0
            while queue.get() is not None:
                taken += 1
            return str(taken)


def timed(work, count):
    began = time.monotonic_ns()
    for _ in range(count):
        work()
    return str(time.monotonic_ns() - began)


def locking(client, item, verb, path, *arguments):
    match verb:
        case "put":
            client.LockingQueue(path).put(arguments[0].encode(), *map(int, arguments[1:]))
        case "claim":
            claimed[path] = client.LockingQueue(path)
            return claimed[path].get(BOUND).decode()
        case "done":
            if not claimed.pop(path).consume():
                raise RuntimeError("its claim is gone")


def counter(client, item, verb, path, *count, **options):
    counter = client.Counter(path, **options)
    match verb:
        case "count":
            for _ in range(int(count[0])):
                counter += 1
                item(counter.post_value)
        case "time":
            return timed(lambda: counter.__add__(1), int(count[0]))
        case "get":
            return str(counter.value)


def curator_counter(*arguments):
    return counter(*arguments, support_curator=True)


def gather(make, verb, path, identifier=None):
    match verb:
        case "join":
            joined[path] = make(path, identifier)
            joined[path].join()
        case "leave":
            if not joined.pop(path).leave():
                raise RuntimeError("its znode is gone")
        case "members":
            return " ".join(sorted(make(path)))


def party(client, item, verb, path, name=None, data=None):
    return gather(client.Party, verb, path, data)


def shallow_party(client, item, verb, path, name=None, data=None):
    return gather(client.ShallowParty, verb, path, name)


RECIPES = [
    barrier,
    double_barrier,
    queue,
    locking,
    counter,
    curator_counter,
    party,
    shallow_party,
]


def carry_out(client, number, name, *arguments):
    try:
        recipe = next(recipe for recipe in RECIPES if recipe.__name__ == name)
        value = recipe(client, lambda data: say(f"{number} item {data}"), *arguments)
        say(f"{number} ok {value or ''}".rstrip())
    except BaseException as error:
        traceback.print_exc()
        say(f"{number} fails {error!r}")


def main():
    servers, timeout = sys.argv[1:]
    client = KazooClient(hosts=servers, timeout=int(timeout) / 1000)
    client.start(timeout=BOUND)
    say("ready")
    for line in sys.stdin:
        order = line.split()
        threading.Thread(target=carry_out, args=[client, *order], daemon=True).start()
    client.stop()
    client.close()


if __name__ == "__main__":
    main()
