package example.line;

import dev.roundhouse.engine.transport.ClientRefusedException;
import dev.roundhouse.engine.transport.Transport;
import dev.roundhouse.engine.transport.TransportContext;
import dev.roundhouse.engine.transport.TransportSettings;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

/**
 * Requests and answers as lines of text, for programs that can open a socket and nothing else:
 *
 * <pre>
 * token SECRET                             says who the client is
 * ID infer MODEL [timeout=MS] NAME=BASE64  the answer is: ID ok NAME=BASE64 ...
 * </pre>
 *
 * or {@code ID error STATUS TEXT}. Tensors are their bytes, in base 64, and each request has one
 * row. A client takes back what it has asked for by going away.
 */
final class LineTransport implements Transport {
  final TransportContext context;
  final LongAdder badLines;
  private final InetSocketAddress address;
  private final String portKey;
  private final Set<LineConnection> connections = ConcurrentHashMap.newKeySet();
  private volatile ServerSocket listening;
  private volatile boolean draining;

  LineTransport(TransportContext context) {
    this.context = context;
    TransportSettings settings = context.settings();
    int port = (int) settings.number("port", 8010, 0, 65535);
    address = new InetSocketAddress(settings.text("address", "127.0.0.1"), port);
    portKey = settings.key("port");
    badLines = context.meters().counter("bad_lines");
  }

  @Override
  public String name() {
    return "line";
  }

  @Override
  public void start() throws IOException {
    ServerSocket made = new ServerSocket();
    try {
      made.bind(address);
    } catch (IOException e) {
      made.close();
      throw new IOException(portKey + "=" + address.getPort() + ": " + e.getMessage(), e);
    }
    listening = made;
    Thread.ofPlatform().daemon().name("line-accept").start(() -> accept(made));
  }

  @Override
  public List<Integer> ports() {
    ServerSocket bound = listening;
    return bound == null ? List.of() : List.of(bound.getLocalPort());
  }

  private void accept(ServerSocket bound) {
    while (!bound.isClosed()) {
      try {
        begin(bound.accept());
      } catch (IOException e) { // closed by drain, a client that has gone, too many open files
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
      } catch (RuntimeException | Error e) { // nobody would accept any more
        context.fail(e);
        throw e;
      }
    }
  }

  private void begin(Socket socket) throws IOException {
    try {
      LineConnection connection = new LineConnection(this, socket);
      connections.add(connection);
      Thread.ofVirtual().name("line-read").start(connection);
      if (draining) {
        connection.drain();
      }
    } catch (ClientRefusedException e) {
      try (socket) {
        String line = "- error " + e.reason() + " " + e.getMessage() + "\n";
        socket.getOutputStream().write(line.getBytes(StandardCharsets.UTF_8));
      }
    }
  }

  void ended(LineConnection connection) {
    connections.remove(connection);
  }

  @Override
  public void drain() {
    draining = true;
    ServerSocket bound = listening;
    if (bound != null) {
      try {
        bound.close();
      } catch (IOException e) {
        // it does not listen any more, which is what is wanted
      }
    }
    connections.forEach(LineConnection::drain);
  }

  @Override
  public void stop(Duration budget) throws InterruptedException {
    drain();
    long end = System.nanoTime() + budget.toNanos();
    try {
      while (!connections.isEmpty() && System.nanoTime() < end) {
        Thread.sleep(5);
      }
    } finally {
      connections.forEach(LineConnection::close);
    }
  }
}
