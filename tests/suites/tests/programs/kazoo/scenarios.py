"""What kazoo, a client of another language, does on a server: one scenario a run.

    scenarios.py SCENARIO HOST:PORT/CHROOT

A scenario fails by an exception. Those that the harness has to help print what they wait for.
"""

import sys
import threading
import time

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import (
    BadVersionError,
    InvalidACLError,
    NoAuthError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    RolledBackError,
    RuntimeInconsistency,
)
from kazoo.security import CREATOR_ALL_ACL, make_acl, make_digest_acl

BOUND = 30
"""More seconds than anything here takes."""

ROUNDS = 12
"""Times that a lock is taken where two libraries contend for it."""


class Clients:
    """Clients of one server, stopped at the end."""

    def __init__(self, hosts):
        self.hosts = hosts
        self.clients = []

    def one(self, **options):
        client = KazooClient(hosts=self.hosts, **{"timeout": 10, **options})
        self.clients.append(client)
        client.start(timeout=BOUND)
        return client

    def stop(self):
        for client in self.clients:
            client.stop()
            client.close()


class Heard:
    """What a callback was told, to be waited for."""

    def __init__(self):
        self.condition = threading.Condition()
        self.items = []

    def __call__(self, item):
        with self.condition:
            self.items.append(item)
            self.condition.notify_all()

    def wait_for(self, wanted):
        with self.condition:
            found = self.condition.wait_for(lambda: wanted in self.items, BOUND)
            assert found, f"{wanted!r} is not in {self.items!r}"


def equal(found, expected):
    assert found == expected, f"expected {expected!r}, found {found!r}"


def refused(error, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except error:
        return
    raise AssertionError(f"{error.__name__} expected")


def modes(clients):
    client = clients.one()
    equal(client.create("/plain", b"data"), "/plain")
    equal(client.create("/ephemeral", ephemeral=True), "/ephemeral")
    equal(client.create("/n-", sequence=True), "/n-0000000002")
    equal(client.create("/n-", sequence=True, ephemeral=True), "/n-0000000003")
    equal(client.create("/deep/er/still", b"x", makepath=True), "/deep/er/still")
    path, stat = client.create("/stat", b"four", include_data=True)
    equal((path, stat.dataLength, stat.version), ("/stat", 4, 0))
    session, _ = client.client_id
    equal(client.exists("/ephemeral").ephemeralOwner, session)
    equal(client.exists("/n-0000000003").owner_session_id, session)
    equal(client.exists("/plain").owner_session_id, None)
    refused(NodeExistsError, client.create, "/plain")
    refused(NoNodeError, client.create, "/none/child")
    refused(NoChildrenForEphemeralsError, client.create, "/ephemeral/child")
    client.stop()
    other = clients.one()
    equal(sorted(other.get_children("/")), ["deep", "n-0000000002", "plain", "stat"])


def data(clients):
    client = clients.one()
    client.create("/znode", b"one")
    value, stat = client.get("/znode")
    equal((value, stat.version), (b"one", 0))
    equal(client.set("/znode", b"", version=0).version, 1)
    equal(client.get("/znode")[0], b"")
    large = bytes(range(256)) * 2000
    equal(client.set("/znode", large).data_length, len(large))
    equal(client.get("/znode")[0], large)
    refused(BadVersionError, client.set, "/znode", b"x", version=0)
    refused(NoNodeError, client.get, "/none")
    equal(client.exists("/none"), None)
    client.ensure_path("/znode/a/b")
    names, stat = client.get_children("/znode", include_data=True)
    equal((names, stat.numChildren), (["a"], 1))
    refused(NotEmptyError, client.delete, "/znode")
    equal(client.sync("/znode"), "/znode")
    client.delete("/znode", recursive=True)
    equal(client.exists("/znode"), None)
    pending = [client.create_async(f"/many-{number}", b"") for number in range(500)]
    equal([one.get(timeout=BOUND) for one in pending], [f"/many-{n}" for n in range(500)])
    assert client.server_version()[0] == 3, client.server_version()


def watches(clients):
    client, writer = clients.one(), clients.one()
    writer.create("/znode", b"0")
    values, children, events = Heard(), Heard(), Heard()

    @client.DataWatch("/znode")
    def data_changed(value, stat, event):
        values(value)

    @client.ChildrenWatch("/znode")
    def children_changed(names):
        children(sorted(names))

    values.wait_for(b"0")
    children.wait_for([])
    # One after another: a watch may leave out what is changed before it is set again.
    for number in range(1, 5):
        writer.set("/znode", str(number).encode())
        values.wait_for(str(number).encode())
        writer.create(f"/znode/{number}")
        children.wait_for([str(n) for n in range(1, number + 1)])

    def tell(event):
        events((event.type, event.path))

    equal(client.exists("/later", watch=tell), None)
    client.get("/znode/1", watch=tell)
    client.get_children("/znode/2", watch=tell)
    writer.create("/later")
    writer.set("/znode/1", b"x")
    writer.set("/znode/1", b"y")
    writer.create("/znode/2/child")
    for event in [("CREATED", "/later"), ("CHANGED", "/znode/1"), ("CHILD", "/znode/2")]:
        events.wait_for(event)
    client.sync("/")
    equal(len(events.items), 3)
    writer.delete("/znode", recursive=True)
    values.wait_for(None)


def locks(clients):
    first, second = clients.one(), clients.one()
    order = Heard()
    lock = first.Lock("/lock", "first")
    assert lock.acquire(timeout=BOUND)
    assert not second.Lock("/lock", "impatient").acquire(blocking=False)

    def wait():
        with second.Lock("/lock", "second"):
            order("second")

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    contenders = Heard()

    @first.ChildrenWatch("/lock")
    def contenders_changed(names):
        contenders(len(names))

    contenders.wait_for(2)
    equal(lock.contenders(), ["first", "second"])
    equal(order.items, [])
    lock.release()
    order.wait_for("second")
    waiting.join(BOUND)

    readers = [client.ReadLock("/shared") for client in (first, second)]
    for reader in readers:
        assert reader.acquire(timeout=BOUND)
    writer = first.WriteLock("/shared")
    assert not writer.acquire(blocking=False)
    for reader in readers:
        reader.release()
    assert writer.acquire(timeout=BOUND)
    writer.release()

    seats = [client.Semaphore("/seats", max_leases=2) for client in (first, second, first)]
    assert seats[0].acquire(timeout=BOUND) and seats[1].acquire(timeout=BOUND)
    assert not seats[2].acquire(blocking=False)
    seats[0].release()
    assert seats[2].acquire(timeout=BOUND)

    counter = first.Counter("/counter")
    counter += 2
    other = second.Counter("/counter")
    other += 3
    equal(counter.value, 5)


def election(clients):
    leaders = Heard()
    resign = {name: threading.Event() for name in ("one", "two", "three")}
    threads = []
    names = list(resign)
    observer = clients.one()
    observer.ensure_path("/election")

    def stand(client, name):
        def lead():
            leaders(name)
            assert resign[name].wait(BOUND)

        client.Election("/election", name).run(lead)

    for number, name in enumerate(names):
        thread = threading.Thread(target=stand, args=(clients.one(), name), daemon=True)
        thread.start()
        threads.append(thread)
        standing = Heard()

        @observer.ChildrenWatch("/election")
        def candidates_changed(candidates, standing=standing):
            standing(len(candidates))

        standing.wait_for(number + 1)
    leaders.wait_for("one")
    equal(observer.Election("/election").contenders(), names)
    for number, name in enumerate(names):
        equal(leaders.items, names[: number + 1])
        resign[name].set()
        if number + 1 < len(names):
            leaders.wait_for(names[number + 1])
    for thread in threads:
        thread.join(BOUND)
    equal(observer.get_children("/election"), [])


def _write(client, lock, ledger):
    """Takes a lock that no other client may hold meanwhile, whatever its library is."""
    assert lock.acquire(timeout=BOUND)
    client.create(ledger + "/writer", ephemeral=True)
    equal(client.get_children(ledger + "/readers"), [])
    time.sleep(0.005)
    client.delete(ledger + "/writer")
    lock.release()


def _read(client, lock, ledger):
    """Takes a lock that other readers may hold as well."""
    assert lock.acquire(timeout=BOUND)
    reader = client.create(ledger + "/readers/r-", ephemeral=True, sequence=True)
    equal(client.exists(ledger + "/writer"), None)
    time.sleep(0.005)
    client.delete(reader)
    lock.release()


def mixed_locks(clients):
    client = clients.one()
    for _ in range(ROUNDS):
        _write(client, client.Lock("/lock", "kazoo"), "/ledger-of-lock")
    for round in range(ROUNDS):
        if round % 3 == 0:
            _write(client, client.WriteLock("/shared"), "/ledger-of-shared")
        else:
            _read(client, client.ReadLock("/shared"), "/ledger-of-shared")


def hold(clients):
    assert clients.one(timeout=2).Lock("/lock", "kazoo").acquire(timeout=BOUND)
    print("held", flush=True)
    time.sleep(BOUND)


def transactions(clients):
    client = clients.one()
    client.create("/znode", b"0")
    transaction = client.transaction()
    transaction.check("/znode", version=0)
    transaction.create("/a", b"x")
    transaction.create("/a/n-", sequence=True)
    transaction.create("/b", ephemeral=True)
    transaction.set_data("/znode", b"1")
    transaction.delete("/b")
    checked, a, sequential, b, stat, deleted = transaction.commit()
    equal((checked, a, sequential, b, deleted), (True, "/a", "/a/n-0000000000", "/b", True))
    equal(stat.version, 1)

    transaction = client.transaction()
    transaction.create("/c")
    transaction.delete("/none")
    transaction.create("/d")
    kinds = [type(result) for result in transaction.commit()]
    equal(kinds, [RolledBackError, NoNodeError, RuntimeInconsistency])
    equal(client.exists("/c"), None)


def access(clients):
    stranger = clients.one()
    owner = clients.one(auth_data=[("digest", "ann:one")])
    private = make_digest_acl("ann", "one", all=True)
    owner.create("/private", b"secret", acl=[private])
    refused(NoAuthError, stranger.get, "/private")
    refused(NoAuthError, stranger.set, "/private", b"")
    equal(owner.get("/private")[0], b"secret")
    acls, stat = owner.get_acls("/private")
    equal((acls, stat.aversion), ([private], 0))
    owner.set_acls("/private", [private, make_acl("world", "anyone", read=True)], version=0)
    equal(stranger.get("/private")[0], b"secret")
    stranger.add_auth("digest", "ann:one")
    stranger.set("/private", b"known")


def own_access(clients):
    """Recipes that create their znodes for their creator alone, by a list with a null id."""
    stranger = clients.one(default_acl=CREATOR_ALL_ACL)
    refused(InvalidACLError, stranger.ensure_path, "/refused")
    owner = clients.one(auth_data=[("digest", "ann:one")], default_acl=CREATOR_ALL_ACL)
    owner.ensure_path("/deep/er")
    acls, _ = owner.get_acls("/deep/er")
    equal(acls, [make_digest_acl("ann", "one", all=True)])
    refused(NoAuthError, stranger.get, "/deep/er")
    with owner.Lock("/lock", "owner"):
        equal(owner.Lock("/lock").contenders(), ["owner"])
    counter = owner.Counter("/counter")
    counter += 2
    equal(counter.value, 2)
    refused(NoAuthError, stranger.get, "/counter")
    transaction = owner.transaction()
    transaction.create("/together", acl=CREATOR_ALL_ACL)
    equal(transaction.commit(), ["/together"])


def reconnect(clients):
    client = clients.one()
    states, values = Heard(), Heard()
    client.add_listener(states)
    client.create("/ephemeral", ephemeral=True)
    client.create("/znode", b"0")

    @client.DataWatch("/znode")
    def data_changed(value, stat, event):
        values(value)

    values.wait_for(b"0")
    session = client.client_id
    print("cut", flush=True)
    states.wait_for(KazooState.SUSPENDED)
    states.wait_for(KazooState.CONNECTED)
    equal(client.client_id, session)
    assert client.exists("/ephemeral")
    client.set("/znode", b"1")
    values.wait_for(b"1")
    assert KazooState.LOST not in states.items, states.items


def expire(clients):
    client = clients.one(timeout=1)
    states = Heard()
    client.create("/ephemeral", ephemeral=True)
    client.create("/znode")
    session = client.client_id
    client.add_listener(states)
    print("expire", flush=True)
    states.wait_for(KazooState.LOST)
    states.wait_for(KazooState.CONNECTED)
    assert client.client_id != session
    equal(client.retry(client.exists, "/ephemeral"), None)
    assert client.exists("/znode")


SCENARIOS = {
    scenario.__name__: scenario
    for scenario in (
        modes,
        data,
        watches,
        locks,
        mixed_locks,
        hold,
        election,
        transactions,
        access,
        own_access,
        reconnect,
        expire,
    )
}


def main():
    name, hosts = sys.argv[1:]
    clients = Clients(hosts)
    SCENARIOS[name](clients)
    clients.stop()


if __name__ == "__main__":
    main()
