package dev.roundhouse.benchmarks.client;

import com.google.protobuf.ByteString;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Requests over HTTP/1.1, one at a time on each of some connections that are kept. */
public final class RestClient implements ThinClient {
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final int BUFFER = 64 << 10;
  private static final int SHOWN = 200;

  /** Servers and proxies end connections that are idle for a minute or more. */
  private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(20);

  private final int port;
  private final ByteBuffer request;
  private final Selector selector = Selector.open();
  private final List<Connection> connections = new ArrayList<>();
  private int answerBytes = -1;

  private RestClient(int port, RestRequest request) throws IOException {
    this.port = port;
    this.request = request.bytes();
  }

  /**
   * Connects and asks once.
   *
   * @param wanted the bytes of the output
   */
  public static RestClient connect(int port, RestRequest request, ByteString wanted)
      throws IOException {
    RestClient client = new RestClient(port, request);
    try {
      client.askFirst(wanted);
      return client;
    } catch (IOException | RuntimeException failure) {
      client.close();
      throw failure;
    }
  }

  private void askFirst(ByteString wanted) throws IOException {
    Connection first = connection(0);
    first.send();
    ByteString body = ByteString.EMPTY;
    while (first.answer.isOpen()) {
      select();
      body = body.concat(first.receive());
    }
    if (!body.endsWith(wanted)) {
      throw new IOException(
          "the first answer has %d bytes that do not end with the %d wanted; it begins: %s"
              .formatted(
                  body.size(),
                  wanted.size(),
                  body.substring(0, Math.min(SHOWN, body.size())).toStringUtf8()));
    }
    answerBytes = body.size();
  }

  @Override
  public Load run(int outstanding, Duration duration) throws IOException {
    closeIdle();
    for (int i = 0; i < outstanding; i++) {
      connection(i);
    }
    Latencies latencies = new Latencies();
    long start = System.nanoTime();
    long endNanos = start + duration.toNanos();
    for (Connection connection : connections.subList(0, outstanding)) {
      connection.send();
    }
    int busy = outstanding;
    while (busy > 0) {
      select();
      for (SelectionKey key : selector.selectedKeys()) {
        Connection connection = (Connection) key.attachment();
        connection.receive();
        if (connection.isAnswered()) {
          long now = System.nanoTime();
          latencies.add(now - connection.sentNanos);
          if (now < endNanos) {
            connection.send();
          } else {
            connection.rest();
            busy--;
          }
        }
      }
    }
    return Load.of(List.of(latencies), System.nanoTime() - start);
  }

  private void select() throws IOException {
    selector.selectedKeys().clear();
    if (selector.select(PATIENCE.toMillis()) == 0) {
      throw new IOException("the server has not answered for %d s".formatted(PATIENCE.toSeconds()));
    }
  }

  /** Closes what has been idle: its server might, in the middle of a sample. */
  private void closeIdle() throws IOException {
    long now = System.nanoTime();
    for (Iterator<Connection> each = connections.iterator(); each.hasNext(); ) {
      Connection connection = each.next();
      if (now - connection.sentNanos > IDLE_NANOS) {
        connection.wire.close();
        each.remove();
      }
    }
  }

  private Connection connection(int index) throws IOException {
    if (index == connections.size()) {
      connections.add(new Connection());
    }
    return connections.get(index);
  }

  @Override
  public void close() throws IOException {
    for (Connection connection : connections) {
      connection.wire.close();
    }
    selector.close();
  }

  private final class Connection {
    private final Wire wire = new Wire(port, selector, BUFFER);
    private final ByteBuffer unsent = request.duplicate();
    private final HttpAnswer answer = new HttpAnswer();
    private long sentNanos = System.nanoTime();
    private boolean waiting;

    Connection() throws IOException {
      wire.attach(this);
    }

    void send() throws IOException {
      sentNanos = System.nanoTime();
      waiting = true;
      answer.begin();
      unsent.rewind();
      wire.write(unsent);
    }

    void rest() {
      waiting = false;
    }

    /** Takes what has come; returns it when nothing is known of answers yet. */
    ByteString receive() throws IOException {
      if (!waiting) {
        throw new IOException("bytes that nobody asked for, or the server closed the connection");
      }
      wire.write(unsent);
      wire.read();
      ByteBuffer body = answer.take(wire.in);
      return answerBytes < 0 ? ByteString.copyFrom(body) : ByteString.EMPTY;
    }

    boolean isAnswered() throws IOException {
      if (answer.isOpen()) {
        return false;
      }
      if (answer.bodyBytes() != answerBytes) {
        throw new IOException(
            "an answer of %d bytes where the first had %d"
                .formatted(answer.bodyBytes(), answerBytes));
      }
      return true;
    }
  }
}
