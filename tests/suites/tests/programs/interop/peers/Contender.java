import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryOneTime;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.recipes.leader.LeaderElectionSupport;
import org.apache.zookeeper.recipes.lock.LockListener;
import org.apache.zookeeper.recipes.lock.WriteLock;

/**
 * A contender of Curator's or of ZooKeeper's own recipes: {@code Contender SERVERS PATH NAME
 * SESSION_TIMEOUT_MS RECIPE [PERMITS]}. Takes orders and reports as the binary {@code contender} of
 * zk-tests does, which says how. {@code System.nanoTime} is CLOCK_MONOTONIC on Linux.
 */
public final class Contender {
  /** What is contended for. */
  interface Place {
    /** Joins the queue; {@link #holds} follows, on any thread. */
    void ask(String access) throws Exception;

    /** Lets go. {@link #releases} precedes it. */
    void release() throws Exception;

    /** Asks the holders to let go; what each asked one says then is "asked". */
    default void revoke() throws Exception {
      throw new UnsupportedOperationException();
    }

    /** Goes on as a reader. */
    default void downgrade() throws Exception {
      throw new UnsupportedOperationException();
    }

    /** Takes and releases it so often; "took" and the nanoseconds follow. */
    default void time(int turns) throws Exception {
      throw new UnsupportedOperationException();
    }

    /** Ends the session. */
    void close() throws Exception;
  }

  /** The end of a session's server side takes no longer, and its start neither. */
  private static final int BOUND_MS = 30_000;

  /** Set before the session ends, which ends what waits. */
  private static volatile boolean ending;

  private Contender() {}

  static synchronized void say(String word, String rest) {
    System.out.println((word + " " + System.nanoTime() + " " + rest).trim());
    System.out.flush();
  }

  static void holds() {
    say("holds", "");
  }

  static void releases() {
    say("releases", "");
  }

  static void loses(String reason) {
    say("loses", reason);
  }

  static void fails(Throwable error) {
    if (ending) {
      return;
    }
    error.printStackTrace();
    say("fails", error.toString());
    Runtime.getRuntime().halt(1);
  }

  public static void main(String[] arguments) throws Exception {
    String servers = arguments[0];
    String path = arguments[1];
    String name = arguments[2];
    int timeout = Integer.parseInt(arguments[3]);
    String recipe = arguments[4];
    int permits = arguments.length > 5 ? Integer.parseInt(arguments[5]) : 1;
    Place place =
        switch (recipe) {
          case "leader_election_support" -> new Support(connect(servers, timeout), path, name);
          case "write_lock" -> new ZooKeepersLock(connect(servers, timeout), path);
          default -> curators(recipe, framework(servers, timeout), path, name, permits);
        };
    say("ready", "");
    BufferedReader orders =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String order = orders.readLine(); order != null; order = orders.readLine()) {
      String[] words = order.split(" ");
      switch (words[0]) {
        case "ask" -> place.ask(words[1]);
        case "release" -> place.release();
        case "revoke" -> place.revoke();
        case "downgrade" -> place.downgrade();
        case "time" -> place.time(Integer.parseInt(words[1]));
        default -> fails(new IllegalArgumentException(order));
      }
    }
    ending = true;
    place.close();
    Runtime.getRuntime().halt(0);
  }

  private static Place curators(
      String recipe, CuratorFramework client, String path, String name, int permits) {
    return switch (recipe) {
      case "leader_latch" -> new Latch(client, path, name);
      case "leader_selector" -> new Selector(client, path, name);
      case "mutex", "revocable_mutex", "multi_lock", "read_write_lock" -> new Mutexes(client, path, recipe);
      case "semaphore" -> new Semaphore(client, path, permits);
      default -> throw new IllegalArgumentException(recipe);
    };
  }

  private static CuratorFramework framework(String servers, int timeout) throws Exception {
    CuratorFramework client =
        CuratorFrameworkFactory.newClient(servers, timeout, BOUND_MS, new RetryOneTime(100));
    client
        .getConnectionStateListenable()
        .addListener(
            (ignored, state) -> {
              if (state == ConnectionState.SUSPENDED || state == ConnectionState.LOST) {
                loses(state.toString());
              }
            });
    client.start();
    if (!client.blockUntilConnected(BOUND_MS, TimeUnit.MILLISECONDS)) {
      throw new IllegalStateException("no session");
    }
    return client;
  }

  private static ZooKeeper connect(String servers, int timeout) throws Exception {
    CountDownLatch connected = new CountDownLatch(1);
    Watcher watcher =
        (WatchedEvent event) -> {
          switch (event.getState()) {
            case SyncConnected -> connected.countDown();
            case Disconnected, Expired -> loses(event.getState().toString());
            default -> {}
          }
        };
    ZooKeeper client = new ZooKeeper(servers, timeout, watcher);
    if (!connected.await(BOUND_MS, TimeUnit.MILLISECONDS)) {
      throw new IllegalStateException("no session");
    }
    return client;
  }

  /** Curator's LeaderLatch: another one for each time. */
  private static final class Latch implements Place {
    private final CuratorFramework client;
    private final String path;
    private final String name;
    private LeaderLatch latch;

    Latch(CuratorFramework client, String path, String name) {
      this.client = client;
      this.path = path;
      this.name = name;
    }

    @Override
    public void ask(String access) throws Exception {
      latch = new LeaderLatch(client, path, name);
      latch.addListener(
          new LeaderLatchListener() {
            @Override
            public void isLeader() {
              holds();
            }

            @Override
            public void notLeader() {
              loses("notLeader");
            }
          });
      latch.start();
    }

    @Override
    public void release() throws Exception {
      releases();
      latch.close();
    }

    @Override
    public void close() {
      client.close();
    }
  }

  /** Curator's LeaderSelector, queued again for each time. */
  private static final class Selector implements Place {
    private final CuratorFramework client;
    private final LeaderSelector selector;
    private volatile CountDownLatch released;
    private boolean started;

    Selector(CuratorFramework client, String path, String name) {
      this.client = client;
      LeaderSelectorListenerAdapter listener =
          new LeaderSelectorListenerAdapter() {
            @Override
            public void takeLeadership(CuratorFramework ignored) throws Exception {
              holds();
              released.await();
              releases();
            }
          };
      selector = new LeaderSelector(client, path, listener);
      selector.setId(name);
    }

    @Override
    public void ask(String access) throws Exception {
      released = new CountDownLatch(1);
      if (!started) {
        started = true;
        selector.start();
        return;
      }
      // The turn before may not have ended yet.
      while (!selector.requeue()) {
        Thread.sleep(1);
      }
    }

    @Override
    public void release() {
      released.countDown();
    }

    @Override
    public void close() {
      client.close();
    }
  }

  /** What is taken and released by calls that block, by one thread: it owns Curator's mutexes. */
  private abstract static class Blocking implements Place {
    final ExecutorService thread = Executors.newSingleThreadExecutor();

    abstract void acquire(String access) throws Exception;

    abstract void free() throws Exception;

    @Override
    public final void ask(String access) {
      work(
          () -> {
            acquire(access);
            holds();
          });
    }

    @Override
    public final void release() {
      work(
          () -> {
            releases();
            free();
          });
    }

    final void work(Work work) {
      thread.execute(
          () -> {
            try {
              work.run();
            } catch (Throwable error) {
              fails(error);
            }
          });
    }
  }

  private interface Work {
    void run() throws Exception;
  }

  /** Curator's InterProcessMutex and InterProcessReadWriteLock. */
  private static final class Mutexes extends Blocking {
    private final CuratorFramework client;
    private final InterProcessLock exclusive;
    private final InterProcessLock shared;
    private final boolean isRevocable;
    private InterProcessLock asked;

    Mutexes(CuratorFramework client, String path, String recipe) {
      this.client = client;
      isRevocable = recipe.equals("revocable_mutex");
      if (recipe.endsWith("mutex")) {
        exclusive = new InterProcessMutex(client, path);
        shared = null;
      } else if (recipe.equals("multi_lock")) {
        // It takes them in the order given: that of their paths, as everybody has to.
        exclusive = new InterProcessMultiLock(client, List.of(path, path + "-other"));
        shared = null;
      } else {
        InterProcessReadWriteLock lock = new InterProcessReadWriteLock(client, path);
        exclusive = lock.writeLock();
        shared = lock.readLock();
      }
    }

    @Override
    void acquire(String access) throws Exception {
      asked = access.equals("shared") ? shared : exclusive;
      if (isRevocable) {
        // For each time anew: a release takes it back.
        ((InterProcessMutex) exclusive).makeRevocable(ignored -> say("asked", ""));
      }
      asked.acquire();
    }

    @Override
    void free() throws Exception {
      asked.release();
    }

    @Override
    public void time(int turns) throws Exception {
      long began = System.nanoTime();
      for (int turn = 0; turn < turns; turn++) {
        exclusive.acquire();
        exclusive.release();
      }
      say("took", String.valueOf(System.nanoTime() - began));
    }

    @Override
    public void revoke() throws Exception {
      String holder = ((InterProcessMutex) exclusive).getParticipantNodes().iterator().next();
      Revoker.attemptRevoke(client, holder);
    }

    @Override
    public void downgrade() {
      work(
          () -> {
            say("downgrades", "");
            shared.acquire();
            exclusive.release();
            asked = shared;
          });
    }

    @Override
    public void close() {
      client.close();
    }
  }

  /** Curator's InterProcessSemaphoreV2. */
  private static final class Semaphore extends Blocking {
    private final CuratorFramework client;
    private final InterProcessSemaphoreV2 semaphore;
    private Lease lease;

    Semaphore(CuratorFramework client, String path, int permits) {
      this.client = client;
      semaphore = new InterProcessSemaphoreV2(client, path, permits);
    }

    @Override
    void acquire(String access) throws Exception {
      lease = semaphore.acquire();
    }

    @Override
    void free() throws Exception {
      semaphore.returnLease(lease);
    }

    @Override
    public void close() {
      client.close();
    }
  }

  /** ZooKeeper's LeaderElectionSupport: another one for each time. */
  private static final class Support implements Place {
    private final ZooKeeper client;
    private final String path;
    private final String name;
    private LeaderElectionSupport support;

    Support(ZooKeeper client, String path, String name) {
      this.client = client;
      this.path = path;
      this.name = name;
    }

    @Override
    public void ask(String access) {
      support = new LeaderElectionSupport();
      support.setZooKeeper(client);
      support.setRootNodeName(path);
      support.setHostName(name);
      support.addListener(
          event -> {
            switch (event) {
              case ELECTED_COMPLETE -> holds();
              // So it does where a candidate goes between its list and its look at each of them.
              case FAILED -> loses("FAILED");
              default -> {}
            }
          });
      support.start();
    }

    @Override
    public void release() {
      releases();
      support.stop();
    }

    @Override
    public void close() throws Exception {
      client.close();
    }
  }

  /** ZooKeeper's WriteLock. */
  private static final class ZooKeepersLock implements Place {
    private final ZooKeeper client;
    private final WriteLock lock;

    ZooKeepersLock(ZooKeeper client, String path) {
      this.client = client;
      LockListener listener =
          new LockListener() {
            @Override
            public void lockAcquired() {
              holds();
            }

            @Override
            public void lockReleased() {}
          };
      lock = new WriteLock(client, path, ZooDefs.Ids.OPEN_ACL_UNSAFE, listener);
    }

    @Override
    public void ask(String access) throws Exception {
      lock.lock();
    }

    @Override
    public void release() {
      releases();
      lock.unlock();
    }

    @Override
    public void close() throws Exception {
      client.close();
    }
  }
}
