package dev.roundhouse.benchmarks.page;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.InterruptedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Reads the events of a worker's live page as fast as they come, as a browser does, until closed.
 */
final class EventsReader implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  /** Which an event has that leaves no model out. */
  private static final String NONE_LEFT = "\"left\":0";

  private final Socket socket;
  private final long beganNanos = System.nanoTime();
  private final CountDownLatch allTold = new CountDownLatch(1);
  private final Thread thread;
  private volatile long allToldNanos;

  private EventsReader(int port) throws IOException {
    socket = new Socket(InetAddress.getLoopbackAddress(), port);
    String request =
        "GET /ui/events HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAccept: text/event-stream\r\n\r\n";
    socket.getOutputStream().write(request.formatted(port).getBytes(StandardCharsets.US_ASCII));
    thread = Thread.ofPlatform().name("page").start(this::read);
  }

  /** Opens one, and returns when every model has been told of. */
  static EventsReader open(int port, int models) throws IOException, InterruptedException {
    EventsReader reader = new EventsReader(port);
    if (!reader.allTold.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
      reader.close();
      throw new InterruptedIOException(
          "the page has not told of all %d models within %d s"
              .formatted(models, PATIENCE.toSeconds()));
    }
    return reader;
  }

  /** From the request until every model had been told of. */
  double allToldMillis() {
    return (allToldNanos - beganNanos) / 1e6;
  }

  private void read() {
    try (BufferedReader lines =
        new BufferedReader(
            new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        if (allTold.getCount() > 0 && line.startsWith("data: ") && line.contains(NONE_LEFT)) {
          allToldNanos = System.nanoTime();
          allTold.countDown();
        }
      }
    } catch (IOException closed) {
      // which is how it ends
    }
  }

  @Override
  public void close() throws IOException, InterruptedException {
    socket.close();
    thread.join();
  }
}
