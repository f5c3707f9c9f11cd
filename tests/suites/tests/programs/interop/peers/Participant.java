import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.barriers.DistributedBarrier;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.nodes.GroupMember;
import org.apache.curator.framework.recipes.queue.DistributedPriorityQueue;
import org.apache.curator.framework.recipes.queue.DistributedQueue;
import org.apache.curator.framework.recipes.queue.QueueBuilder;
import org.apache.curator.framework.recipes.queue.QueueConsumer;
import org.apache.curator.framework.recipes.queue.QueueSerializer;
import org.apache.curator.framework.recipes.queue.SimpleDistributedQueue;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.framework.recipes.shared.VersionedValue;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryOneTime;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;

/**
 * Uses the barriers, queues, counters, groups and caches of Curator, and ZooKeeper's own queue: {@code Participant
 * SERVERS SESSION_TIMEOUT_MS}. Takes orders and reports as the binary {@code participant} of zk-tests
 * does, which says how. Its queues are {@code simple}, {@code distributed} and {@code priority} of
 * Curator's, and {@code zookeeper}.
 */
public final class Participant {
  /** More than a session takes to begin, or than a test waits. */
  private static final int BOUND_MS = 30_000;

  private static final Map<String, DistributedDoubleBarrier> ENTERED = new ConcurrentHashMap<>();

  private static final Map<String, GroupMember> JOINED = new ConcurrentHashMap<>();

  private static final Map<String, CuratorCache> CACHED = new ConcurrentHashMap<>();

  private static CuratorFramework client;

  private Participant() {}

  private static synchronized void say(String line) {
    System.out.println(line);
    System.out.flush();
  }

  public static void main(String[] arguments) throws Exception {
    int timeout = Integer.parseInt(arguments[1]);
    client =
        CuratorFrameworkFactory.newClient(
            arguments[0], timeout, BOUND_MS, new RetryOneTime(100));
    client.start();
    if (!client.blockUntilConnected(BOUND_MS, TimeUnit.MILLISECONDS)) {
      throw new IllegalStateException("no session");
    }
    say("ready");
    BufferedReader orders =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = orders.readLine(); line != null; line = orders.readLine()) {
      Order order = new Order(line.split(" "));
      Thread thread = new Thread(order::carryOut);
      thread.setDaemon(true);
      thread.start();
    }
    client.close();
    System.exit(0);
  }

  /** An order. */
  private static final class Order {
    private final String[] words;

    Order(String[] words) {
      this.words = words;
    }

    private String path() {
      return words[3];
    }

    private String argument(int place) {
      return words[4 + place];
    }

    private void item(Object data) {
      say(words[0] + " item " + data);
    }

    void carryOut() {
      try {
        String value =
            switch (words[1]) {
              case "barrier" -> pass();
              case "double_barrier" -> gather();
              case "simple" -> simple();
              case "zookeeper" -> zookeeper();
              case "distributed" -> distributed();
              case "priority" -> priority();
              case "curator_counter" -> count();
              case "group" -> group();
              case "cache" -> cache();
              default -> throw new IllegalArgumentException(words[1]);
            };
        say((words[0] + " ok " + value).strip());
      } catch (Throwable error) {
        error.printStackTrace();
        say(words[0] + " fails " + error);
      }
    }

    private String unknown() {
      throw new IllegalArgumentException(words[2]);
    }

    private String pass() throws Exception {
      DistributedBarrier barrier = new DistributedBarrier(client, path());
      switch (words[2]) {
        case "set" -> barrier.setBarrier();
        case "lift" -> barrier.removeBarrier();
        case "wait" -> barrier.waitOnBarrier();
        default -> unknown();
      }
      return "";
    }

    private String gather() throws Exception {
      switch (words[2]) {
        case "enter" -> {
          int count = Integer.parseInt(argument(0));
          DistributedDoubleBarrier barrier = new DistributedDoubleBarrier(client, path(), count);
          ENTERED.put(path(), barrier);
          barrier.enter();
        }
        case "leave" -> ENTERED.remove(path()).leave();
        default -> unknown();
      }
      return "";
    }

    private String simple() throws Exception {
      SimpleDistributedQueue queue = new SimpleDistributedQueue(client, path());
      return use(queue::offer, queue::take, queue::poll);
    }

    private String zookeeper() throws Exception {
      ZooKeeper session = client.getZookeeperClient().getZooKeeper();
      // Two of ZooKeeper's takers that find no node both create it, and the second one fails.
      try {
        session.create(path(), new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
      } catch (KeeperException.NodeExistsException ignored) {
        // Another client was first.
      }
      org.apache.zookeeper.recipes.queue.DistributedQueue queue =
          new org.apache.zookeeper.recipes.queue.DistributedQueue(
              session, path(), ZooDefs.Ids.OPEN_ACL_UNSAFE);
      return use(queue::offer, queue::take, queue::poll);
    }

    private String use(Put put, Take take, Take poll) throws Exception {
      switch (words[2]) {
        case "put" -> put.put(argument(0).getBytes(StandardCharsets.UTF_8));
        case "fill" -> {
          for (int number = 0; number < Integer.parseInt(argument(0)); number++) {
            String data = argument(1) + "-" + number;
            put.put(data.getBytes(StandardCharsets.UTF_8));
            item(data);
          }
        }
        case "take" -> {
          return new String(take.take(), StandardCharsets.UTF_8);
        }
        case "poll" -> {
          byte[] data = poll.take();
          return data == null ? "nothing" : new String(data, StandardCharsets.UTF_8);
        }
        case "drain" -> {
          for (byte[] data = poll.take(); data != null; data = poll.take()) {
            item(new String(data, StandardCharsets.UTF_8));
          }
        }
        case "time" -> {
          byte[] data = "item".getBytes(StandardCharsets.UTF_8);
          long began = System.nanoTime();
          for (int number = 0; number < Integer.parseInt(argument(0)); number++) {
            put.put(data);
          }
          return String.valueOf(System.nanoTime() - began);
        }
        case "discard" -> {
          int taken = 0;
          while (poll.take() != null) {
            taken++;
          }
          return String.valueOf(taken);
        }
        default -> unknown();
      }
      return "";
    }

    /** {@code put DATA}, or {@code consume MILLISECONDS}. */
    private String distributed() throws Exception {
      boolean isPut = words[2].equals("put");
      QueueConsumer<String> consumer =
          new QueueConsumer<>() {
            @Override
            public void consumeMessage(String message) {
              item(message);
            }

            @Override
            public void stateChanged(CuratorFramework ignored, ConnectionState state) {}
          };
      try (DistributedQueue<String> queue =
          QueueBuilder.builder(client, isPut ? null : consumer, TEXT, path()).buildQueue()) {
        queue.start();
        if (isPut) {
          queue.put(argument(0));
          queue.flushPuts(BOUND_MS, TimeUnit.MILLISECONDS);
        } else {
          Thread.sleep(Long.parseLong(argument(0)));
        }
      }
      return "";
    }

    /** {@code put DATA PRIORITY}. */
    private String priority() throws Exception {
      try (DistributedPriorityQueue<String> queue =
          QueueBuilder.builder(client, null, TEXT, path()).buildPriorityQueue(0)) {
        queue.start();
        queue.put(argument(0), Integer.parseInt(argument(1)));
        queue.flushPuts(BOUND_MS, TimeUnit.MILLISECONDS);
      }
      return "";
    }

    private String group() throws Exception {
      switch (words[2]) {
        case "join" -> {
          byte[] data = argument(1).getBytes(StandardCharsets.UTF_8);
          GroupMember member = new GroupMember(client, path(), argument(0), data);
          JOINED.put(path(), member);
          member.start();
        }
        case "set" -> JOINED.get(path()).setThisData(argument(0).getBytes(StandardCharsets.UTF_8));
        case "leave" -> JOINED.remove(path()).close();
        case "members" -> {
          StringBuilder members = new StringBuilder();
          new TreeMap<>(JOINED.get(path()).getCurrentMembers())
              .forEach(
                  (name, data) ->
                      members.append(
                          " " + name + "=" + new String(data, StandardCharsets.UTF_8)));
          return members.toString().strip();
        }
        default -> unknown();
      }
      return "";
    }

    private String cache() {
      switch (words[2]) {
        case "begin" -> {
          CuratorCache cache = CuratorCache.build(client, path());
          CACHED.put(path(), cache);
          cache.start();
        }
        case "tree" -> {
          StringBuilder paths = new StringBuilder();
          CACHED.get(path()).stream()
              .map(znode -> " " + znode.getPath())
              .sorted()
              .forEach(paths::append);
          return paths.toString().strip();
        }
        default -> unknown();
      }
      return "";
    }

    private String count() throws Exception {
      try (SharedCount counter = new SharedCount(client, path(), 0)) {
        counter.start();
        if (words[2].equals("get")) {
          return String.valueOf(counter.getCount());
        }
        boolean isTimed = words[2].equals("time");
        long began = System.nanoTime();
        for (int number = 0; number < Integer.parseInt(argument(0)); number++) {
          VersionedValue<Integer> before = counter.getVersionedValue();
          while (!counter.trySetCount(before, before.getValue() + 1)) {
            before = counter.getVersionedValue();
          }
          if (!isTimed) {
            item(before.getValue() + 1);
          }
        }
        return isTimed ? String.valueOf(System.nanoTime() - began) : "";
      }
    }
  }

  private interface Put {
    boolean put(byte[] data) throws Exception;
  }

  private interface Take {
    byte[] take() throws Exception;
  }

  private static final QueueSerializer<String> TEXT =
      new QueueSerializer<>() {
        @Override
        public byte[] serialize(String item) {
          return item.getBytes(StandardCharsets.UTF_8);
        }

        @Override
        public String deserialize(byte[] bytes) {
          return new String(bytes, StandardCharsets.UTF_8);
        }
      };
}
