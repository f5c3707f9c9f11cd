import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** Curator, doing what it is told: the orders and answers are those of src/worker/mod.rs. */
public final class CuratorWorker {
  private static final int WINDOW = 256;
  private static final String PATH = "/election";

  /** More than a session takes to begin. */
  private static final int BOUND_MS = 60_000;

  private record Led(int number, long since) {}

  private String servers;
  private int timeout;
  private CuratorFramework client;
  private final List<CuratorFramework> sessions = new ArrayList<>();
  private final List<CuratorFramework> owners = new ArrayList<>();
  private final List<LeaderLatch> latches = new ArrayList<>();
  private BlockingQueue<Led> reports;
  private String node;
  private int leader;

  private CuratorWorker() {}

  public static void main(String[] arguments) throws Exception {
    CuratorWorker worker = new CuratorWorker();
    BufferedReader orders =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = orders.readLine(); line != null; line = orders.readLine()) {
      try {
        StringBuilder answer = new StringBuilder("ok");
        for (long number : worker.obey(line.split(" "))) {
          answer.append(' ').append(number);
        }
        System.out.println(answer);
      } catch (Throwable error) {
        System.out.println("failed " + error.toString().replace('\n', ' '));
      }
      System.out.flush();
    }
    Runtime.getRuntime().halt(0);
  }

  private long[] obey(String[] words) throws Exception {
    switch (words[0]) {
      case "connect" -> {
        servers = words[1];
        timeout = Integer.parseInt(words[2]);
        client = connected();
      }
      case "reconnect" -> {
        client.close();
        client = connected();
      }
      case "tasks" -> {
        return tasks(Integer.parseInt(words[1]));
      }
      case "one" -> {
        return one(Integer.parseInt(words[1]));
      }
      case "stand" -> stand(words[1], Integer.parseInt(words[2]), words[3].equals("own"));
      case "turn" -> {
        return turn();
      }
      case "idle" -> {
        for (int number = Integer.parseInt(words[1]); number > 0; number--) {
          sessions.add(connected());
        }
      }
      case "ask" -> {
        return ask(Long.parseLong(words[1]));
      }
      default -> throw new IllegalArgumentException(words[0]);
    }
    return new long[0];
  }

  private CuratorFramework connected() throws Exception {
    CuratorFramework framework =
        CuratorFrameworkFactory.newClient(
            servers, timeout, 15_000, new ExponentialBackoffRetry(1000, 3));
    framework.start();
    if (!framework.blockUntilConnected(BOUND_MS, TimeUnit.MILLISECONDS)) {
      throw new IllegalStateException("no session");
    }
    return framework;
  }

  /** Its way to have several in flight: in the background. */
  private long[] tasks(int count) throws Exception {
    Semaphore window = new Semaphore(WINDOW);
    long began = System.nanoTime();
    for (int number = 0; number < count; number++) {
      window.acquire();
      client.getData().inBackground((ignored, event) -> window.release()).forPath(PATH);
    }
    window.acquire(WINDOW);
    return new long[] {System.nanoTime() - began};
  }

  private long[] one(int count) throws Exception {
    long[] times = new long[count];
    for (int number = 0; number < count; number++) {
      long began = System.nanoTime();
      client.getData().forPath(PATH);
      times[number] = System.nanoTime() - began;
    }
    Arrays.sort(times);
    return new long[] {times[count / 2]};
  }

  private void stand(String path, int count, boolean own) throws Exception {
    node = path;
    reports = new LinkedBlockingQueue<>();
    latches.clear();
    owners.clear();
    for (int number = 0; number < count; number++) {
      owners.add(own ? connected() : client);
      latches.add(null);
      stand(number);
    }
    leader = next().number();
  }

  private void stand(int number) throws Exception {
    LeaderLatch latch = new LeaderLatch(owners.get(number), node);
    BlockingQueue<Led> to = reports;
    latch.addListener(
        new LeaderLatchListener() {
          @Override
          public void isLeader() {
            to.add(new Led(number, System.nanoTime()));
          }

          @Override
          public void notLeader() {}
        });
    latches.set(number, latch);
    latch.start();
  }

  private Led next() throws Exception {
    Led led = reports.poll(BOUND_MS, TimeUnit.MILLISECONDS);
    if (led == null) {
      throw new IllegalStateException("none leads");
    }
    return led;
  }

  private long[] turn() throws Exception {
    int before = leader;
    long began = System.nanoTime();
    latches.get(before).close();
    Led led = next();
    leader = led.number();
    stand(before);
    return new long[] {led.since() - began};
  }

  private long[] ask(long millis) throws Exception {
    long began = System.nanoTime();
    long end = began + millis * 1_000_000;
    long answered = began;
    long gap = 0;
    long errors = 0;
    while (System.nanoTime() < end) {
      try {
        client.getData().forPath("/zookeeper");
        long now = System.nanoTime();
        gap = Math.max(gap, now - answered);
        answered = now;
      } catch (Exception error) {
        errors++;
      }
      Thread.sleep(5);
    }
    return new long[] {Math.max(gap, System.nanoTime() - answered), errors};
  }
}
