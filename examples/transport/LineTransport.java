package example.line;

import dev.roundhouse.engine.transport.ClientRefusedException;
import dev.roundhouse.engine.transport.Transport;
import dev.roundhouse.engine.transport.TransportContext;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * Requests and answers as lines of text, for programs that can open a socket and nothing else:
 *
 * <pre>
 * token SECRET                                       says who the client is
 * ID infer MODEL[:VERSION] [timeout=MS] NAME=BASE64  the answer is: ID ok NAME=BASE64 ...
 * ID cancel                                          takes it back
 * </pre>
 *
 * or {@code ID error STATUS TEXT}. Tensors are their bytes, in base 64; their rows follow from how
 * many there are.
 */
final class LineTransport implements Transport {
  final TransportContext context;
  final int maxLine;
  final int maxOpen;
  final LongAdder badLines;
  private final InetSocketAddress address;
  private final String portKey;
  private final Set<LineConnection> connections = ConcurrentHashMap.newKeySet();
  private volatile ServerSocket listening;
  private volatile boolean draining;

  LineTransport(
      TransportContext context,
      InetSocketAddress address,
      String portKey,
      int maxLine,
      int maxOpen) {
    this.context = context;
    this.address = address;
    this.portKey = portKey;
    this.maxLine = maxLine;
    this.maxOpen = maxOpen;
    badLines = context.meters().counter("bad_lines");
    context.meters().level("open", () -> connections.stream().mapToLong(each -> each.open()).sum());
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
      } catch (IOException e) {
        // closed by drain, or a client that has gone already
      } catch (Error e) { // nobody would accept any more
        context.fail(e);
        throw e;
      }
    }
  }

  private void begin(Socket socket) throws IOException {
    try {
      LineConnection connection = new LineConnection(this, socket);
      connections.add(connection);
      connection.start();
      if (draining) {
        connection.drain();
      }
    } catch (ClientRefusedException e) {
      String line = "- error " + e.reason() + " " + e.getMessage() + "\n";
      socket.getOutputStream().write(line.getBytes(StandardCharsets.UTF_8));
      socket.close();
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
