package dev.roundhouse.platform.payload;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.springframework.boot.ssl.DefaultSslBundleRegistry;
import org.springframework.util.unit.DataSize;

/** A collector of events on loopback, which can be slow, or refuse. */
public final class PayloadCollector implements AutoCloseable {
  private final HttpServer server;
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final BlockingQueue<Received> received = new LinkedBlockingQueue<>();
  private final Queue<Integer> statuses = new ConcurrentLinkedQueue<>(new ArrayDeque<>());
  private volatile CountDownLatch gate = new CountDownLatch(0);

  /**
   * @param headers by their names in lower case
   */
  public record Received(Map<String, String> headers, String body) {
    public String header(String name) {
      return headers.getOrDefault(name, "");
    }
  }

  public PayloadCollector() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", this::take);
    server.setExecutor(threads);
    server.start();
  }

  /**
   * A log that sends it all of some models, one event at a time and once each, of which 64 KB wait.
   *
   * @param models patterns of their names
   */
  public PayloadLog log(DataSize maxPayload, String... models) {
    PayloadLogProperties settings =
        new PayloadLogProperties(
            url(),
            PayloadLogProperties.Mode.ALL,
            List.of(models),
            1,
            "",
            "",
            "",
            "",
            "",
            maxPayload,
            DataSize.ofKilobytes(64),
            Duration.ofSeconds(30),
            1,
            1,
            "");
    return Objects.requireNonNull(
        PayloadLog.of(
            settings, "test.payload-log", "roundhouse-test", new DefaultSslBundleRegistry()));
  }

  private void take(HttpExchange exchange) throws IOException {
    byte[] body = exchange.getRequestBody().readAllBytes();
    Map<String, String> headers = new HashMap<>();
    exchange
        .getRequestHeaders()
        .forEach((name, values) -> headers.put(name.toLowerCase(Locale.ROOT), values.getFirst()));
    try {
      gate.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    Integer status = statuses.poll();
    if (status == null) {
      received.add(new Received(headers, new String(body, StandardCharsets.UTF_8)));
    }
    exchange.sendResponseHeaders(status == null ? 202 : status, -1);
    exchange.close();
  }

  public String url() {
    return "http://127.0.0.1:" + server.getAddress().getPort() + "/events?a=b";
  }

  /** How the next events are answered; after these all are taken. */
  public void answer(Integer... next) {
    statuses.addAll(java.util.List.of(next));
  }

  /** Answers nobody until {@link #go}. */
  public void hold() {
    gate = new CountDownLatch(1);
  }

  public void go() {
    gate.countDown();
  }

  public Received next() throws InterruptedException {
    Received next = received.poll(30, TimeUnit.SECONDS);
    if (next == null) {
      throw new AssertionError("no event came");
    }
    return next;
  }

  /** Events that came and that {@link #next} has not given. */
  public int waiting() {
    return received.size();
  }

  @Override
  public void close() {
    go();
    server.stop(0);
    threads.shutdownNow();
  }
}
