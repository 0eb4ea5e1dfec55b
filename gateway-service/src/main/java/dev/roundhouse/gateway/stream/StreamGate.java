package dev.roundhouse.gateway.stream;

import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.platform.tstream.HelloRefusedException;
import dev.roundhouse.platform.tstream.StreamAccess;
import dev.roundhouse.platform.tstream.StreamPort;
import dev.roundhouse.platform.tstream.StreamPortSettings;
import dev.roundhouse.transport.forward.SpliceSockets;
import dev.roundhouse.transport.io.Seldom;
import dev.roundhouse.transport.memory.PeerMemory;
import io.netty.channel.Channel;
import java.io.IOException;
import java.time.Duration;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Takes tensor streams for workers. Thread-safe. */
public final class StreamGate {
  /** Of a client's connection and one to a worker: their handlers, and what was last read. */
  public static final long CONNECTION_BYTES = 32 << 10;

  private static final Logger log = LoggerFactory.getLogger(StreamGate.class);
  private static final Seldom WARNING = new Seldom();

  private final ModelRoutes routes;
  private final StreamAccess access;
  private final Times times;
  private final SpliceSockets sockets;
  private final StreamCounts counts = new StreamCounts();
  private final StreamPort port;

  /**
   * How long each side has.
   *
   * @param hello for a whole hello of a client
   * @param reply for a worker's reply to it
   * @param unread for a client to read what its worker has sent
   */
  public record Times(Duration hello, Duration reply, Duration unread) {}

  /**
   * @param sockets to workers
   * @param texts error texts for clients
   * @param failed called when a thread that serves sockets has ended, or a socket listens no more
   */
  public StreamGate(
      StreamPortSettings settings,
      Times times,
      SpliceSockets sockets,
      ModelRoutes routes,
      Access access,
      ClientText texts,
      PeerMemory memory,
      Consumer<Throwable> failed) {
    this.routes = routes;
    this.access = new StreamAccess(access);
    this.times = times;
    this.sockets = sockets;
    port =
        new StreamPort(
            settings,
            counts,
            texts,
            memory,
            (channel, own, secured) -> new ClientStream(this, channel, own),
            failed);
  }

  /**
   * Begins to listen.
   *
   * @throws IOException when it cannot
   */
  public void start() throws IOException {
    port.start();
  }

  /** The TCP port; 0 before it listens, and without one. */
  public int port() {
    return port.port();
  }

  public StreamCounts counts() {
    return counts;
  }

  /** Hellos are refused from now on. */
  public void drain() {
    port.drain();
  }

  /**
   * Drains, and stops when every stream has ended, or so much time has passed.
   *
   * @throws InterruptedException when interrupted; it has stopped all the same
   */
  public void stop(long nanos) throws InterruptedException {
    port.stop(() -> counts.open() > 0, nanos);
  }

  // --- for connections

  ModelRoutes routes() {
    return routes;
  }

  StreamAccess access() {
    return access;
  }

  Times times() {
    return times;
  }

  SpliceSockets sockets() {
    return sockets;
  }

  boolean isDraining() {
    return port.isDraining();
  }

  void refuse(Channel client, HelloRefusedException why) {
    port.refuse(client, why);
  }

  void warn(Throwable cause) {
    if (WARNING.isTime()) {
      log.warn("a stream is closed, because something is wrong in the gateway", cause);
    }
  }
}
