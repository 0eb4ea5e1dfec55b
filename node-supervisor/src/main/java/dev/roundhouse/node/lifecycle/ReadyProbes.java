package dev.roundhouse.node.lifecycle;

import dev.roundhouse.node.plan.NodePlan;
import dev.roundhouse.node.process.ProcessState;
import dev.roundhouse.node.process.ProcessStatus;
import dev.roundhouse.node.process.Supervisor;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Polls the readiness of every process on its metrics port. A process that hangs delays only its
 * own probe. Thread-safe.
 */
public final class ReadyProbes implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(ReadyProbes.class);

  private static final long EVERY_MILLIS = 500;
  private static final int PATIENCE_MILLIS = 2000;

  private final Supervisor supervisor;
  private final Map<String, URI> addresses;
  private final Runnable onChange;
  private final Map<String, Boolean> ready = new ConcurrentHashMap<>();
  private final ScheduledExecutorService probes;

  /**
   * @param onChange called on a thread {@code probe} when the readiness of a process has changed
   */
  public ReadyProbes(Supervisor supervisor, NodePlan plan, String address, Runnable onChange) {
    this.supervisor = supervisor;
    this.onChange = onChange;
    addresses = new ConcurrentHashMap<>();
    plan.operators(address).forEach(port -> addresses.put(port.name(), uri(port.address())));
    probes =
        Executors.newScheduledThreadPool(
            addresses.size(), Thread.ofPlatform().daemon().name("probe-", 0).factory());
  }

  private static URI uri(InetSocketAddress address) {
    String host = address.getHostString();
    String bracketed = host.contains(":") ? "[" + host + "]" : host;
    return URI.create(
        "http://" + bracketed + ":" + address.getPort() + "/actuator/health/readiness");
  }

  /** Starts polling. */
  public void start() {
    addresses.forEach(
        (name, address) ->
            probes.scheduleWithFixedDelay(
                () -> look(name, address), EVERY_MILLIS, EVERY_MILLIS, TimeUnit.MILLISECONDS));
  }

  public boolean isReady(String name) {
    return ready.getOrDefault(name, false) && isRunning(name);
  }

  private void look(String name, URI address) {
    try {
      boolean now = isRunning(name) && answersOk(address);
      Boolean before = ready.put(name, now);
      if (before == null || before != now) {
        onChange.run();
      }
    } catch (RuntimeException | Error e) {
      log.warn("{} could not be asked whether it is ready", name, e); // or it would never be again
    }
  }

  private boolean isRunning(String name) {
    List<ProcessStatus> statuses = supervisor.statuses();
    return statuses.stream()
        .anyMatch(each -> each.name().equals(name) && each.state() == ProcessState.RUNNING);
  }

  private static boolean answersOk(URI address) {
    try {
      HttpURLConnection connection = (HttpURLConnection) address.toURL().openConnection();
      connection.setConnectTimeout(PATIENCE_MILLIS);
      connection.setReadTimeout(PATIENCE_MILLIS);
      try {
        return connection.getResponseCode() == HttpURLConnection.HTTP_OK;
      } finally {
        connection.disconnect();
      }
    } catch (IOException notYet) {
      return false;
    }
  }

  @Override
  public void close() {
    probes.shutdownNow();
  }
}
