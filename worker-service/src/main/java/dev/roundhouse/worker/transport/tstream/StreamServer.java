package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.engine.transport.Transport;
import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.platform.tstream.HelloRefusedException;
import dev.roundhouse.platform.tstream.StreamPort;
import dev.roundhouse.transport.io.Seldom;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.PeerMemory;
import dev.roundhouse.worker.transport.EngineMemory;
import dev.roundhouse.worker.transport.Inference;
import io.netty.channel.Channel;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslHandler;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;
import javax.net.ssl.SSLException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Serves streams. Thread-safe. */
public final class StreamServer implements Transport {
  private static final Logger log = LoggerFactory.getLogger(StreamServer.class);

  /** What TLS clients name, if they name anything. */
  public static final String ALPN = "tstream/1";

  private static final Seldom WARNING = new Seldom();

  /** Of a connection: handlers, the state of a stream, and what was last read. */
  public static final long CONNECTION_BYTES = 16 << 10;

  private final StreamSettings settings;
  private final Inference inference;
  private final ClientText texts;
  private final StreamTargets targets;
  private final Handshake handshake;
  private final SharedBlocks blocks;
  private final StreamLoad load = new StreamLoad();
  private final StreamPort port;

  /** What streams may ask for. */
  public record Limits(int maxWindow, long windowBytes) {}

  /**
   * @param texts error texts for clients
   * @param failed called when a thread that serves sockets has ended
   */
  public StreamServer(
      StreamSettings settings,
      Limits limits,
      Inference inference,
      Access access,
      ClientText texts,
      PeerMemory memory,
      Consumer<Throwable> failed) {
    this.settings = settings;
    this.inference = inference;
    this.texts = texts;
    targets = new StreamTargets(inference.engine());
    blocks = new SharedBlocks(new EngineMemory(inference.engine()));
    handshake = new Handshake(access, inference, targets, limits.maxWindow(), limits.windowBytes());
    port = new StreamPort(settings.port(), load, texts, memory, this::open, failed);
  }

  @Override
  public String name() {
    return "stream";
  }

  private StreamConnection open(Channel channel, ConnectionMemory memory, boolean secured) {
    Supplier<SslContext> contexts = settings.tls();
    if (!secured || contexts == null) {
      return new StreamConnection(this, channel, memory, null);
    }
    SslHandler tls = contexts.get().newHandler(channel.alloc());
    tls.setHandshakeTimeoutMillis(0); // the hello's time is its time too
    StreamConnection made = new StreamConnection(this, channel, memory, tls);
    channel.pipeline().addLast(new TlsGate(this, made), tls);
    return made;
  }

  @Override
  public void start() throws IOException {
    port.start();
  }

  /** The TCP port; none before it listens, and without one. */
  @Override
  public List<Integer> ports() {
    int bound = port.port();
    return bound == 0 ? List.of() : List.of(bound);
  }

  /** The TCP port, for gateways, which speak no TLS here; 0 for none. */
  public int plainPort() {
    return settings.port().secured() ? 0 : port.port();
  }

  public StreamLoad load() {
    return load;
  }

  /** Where messages are now. Waits for the event loops, and not for long. */
  public StreamStages stages() throws InterruptedException {
    return StreamStages.of(port.peers().stream().map(StreamConnection.class::cast).toList());
  }

  /** No further message is taken; what was is answered, and then connections end. */
  @Override
  public void drain() {
    port.drain();
  }

  @Override
  public void stop(Duration budget) throws InterruptedException {
    port.stop(() -> load.open() > 0, budget.toNanos());
  }

  // --- for connections

  StreamSettings settings() {
    return settings;
  }

  Inference inference() {
    return inference;
  }

  ClientText texts() {
    return texts;
  }

  StreamTargets targets() {
    return targets;
  }

  SharedBlocks blocks() {
    return blocks;
  }

  Handshake handshake() {
    return handshake;
  }

  boolean isDraining() {
    return port.isDraining();
  }

  void refuse(Channel channel, HelloRefusedException why) {
    port.refuse(channel, why);
  }

  /** Closes a connection at once: its client must not wait for what never comes. */
  void onFailure(Channel channel, Throwable cause) {
    if (cause instanceof SSLException || cause.getCause() instanceof SSLException) {
      load.ended(StreamLoad.End.TLS);
      log.debug("TLS with {} ends", channel.remoteAddress(), cause);
    } else if (!(cause instanceof IOException)) { // that is a client which has gone
      load.ended(StreamLoad.End.FAILED);
      warn("a stream is closed, because something is wrong in the server", cause);
    }
    channel.close();
  }

  void warn(String what, Throwable cause) {
    if (WARNING.isTime()) {
      log.warn(what, cause);
    }
  }
}
