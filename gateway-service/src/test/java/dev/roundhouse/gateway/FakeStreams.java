package dev.roundhouse.gateway;

import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.ServerReply;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The port for tensor streams of a {@link FakeWorker}: it reads hellos, replies as it is told to,
 * and leaves the rest of the connection to the test.
 */
final class FakeStreams implements AutoCloseable {
  private final ServerSocketChannel listening;
  private final Thread accepting;
  private final BlockingQueue<Line> taken = new LinkedBlockingQueue<>();

  /** Every hello that was read. */
  final List<ClientHello> hellos = new CopyOnWriteArrayList<>();

  /** What is said to a hello; nothing for null. */
  volatile Function<ClientHello, @Nullable ServerReply> replies;

  /** Done in place of a reply; null for a reply. */
  volatile @Nullable Behaviour instead;

  /** What is done with a connection whose hello has been read. */
  interface Behaviour {
    void on(Line line) throws IOException;
  }

  FakeStreams(Function<ClientHello, @Nullable ServerReply> replies) throws IOException {
    this(replies, ServerSocketChannel.open(), new InetSocketAddress("127.0.0.1", 0));
  }

  FakeStreams(Function<ClientHello, @Nullable ServerReply> replies, Path socket)
      throws IOException {
    this(
        replies,
        ServerSocketChannel.open(StandardProtocolFamily.UNIX),
        UnixDomainSocketAddress.of(socket));
  }

  private FakeStreams(
      Function<ClientHello, @Nullable ServerReply> replies,
      ServerSocketChannel listening,
      SocketAddress address)
      throws IOException {
    this.replies = replies;
    this.listening = listening;
    listening.bind(address, 5_000);
    accepting = Thread.ofVirtual().start(this::accept);
  }

  int port() throws IOException {
    return ((InetSocketAddress) listening.getLocalAddress()).getPort();
  }

  private void accept() {
    try {
      while (true) {
        SocketChannel accepted = listening.accept();
        Thread.ofVirtual().start(() -> greet(new Line(accepted)));
      }
    } catch (IOException e) {
      // closed
    }
  }

  private void greet(Line line) {
    try {
      ClientHello hello = line.hello();
      hellos.add(hello);
      Behaviour other = instead;
      if (other != null) {
        other.on(line);
        return;
      }
      ServerReply reply = replies.apply(hello);
      if (reply == null) {
        return;
      }
      line.send(reply.encoded());
      if (reply.status() == HelloStatus.OK) {
        taken.add(line);
      } else {
        line.close();
      }
    } catch (IOException e) {
      // its gateway has gone
    }
  }

  /** The next stream that was taken. */
  Line next() throws InterruptedException {
    Line line = taken.poll(60, TimeUnit.SECONDS);
    if (line == null) {
      throw new AssertionError("no stream has come within a minute");
    }
    return line;
  }

  /** None has come that the test has not seen. */
  boolean isIdle() {
    return taken.isEmpty();
  }

  /** Nobody can connect once this has returned. */
  @Override
  public void close() throws IOException {
    listening.close();
    try {
      accepting.join(); // until it has let go of the socket, the system takes connections
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
