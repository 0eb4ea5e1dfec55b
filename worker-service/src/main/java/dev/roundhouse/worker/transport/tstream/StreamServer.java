package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.platform.tstream.HelloRefusedException;
import dev.roundhouse.platform.tstream.StreamPort;
import dev.roundhouse.transport.io.Seldom;
import dev.roundhouse.transport.memory.PeerMemory;
import dev.roundhouse.worker.transport.EngineMemory;
import dev.roundhouse.worker.transport.Inference;
import io.netty.channel.Channel;
import java.io.IOException;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Serves streams. Thread-safe. */
public final class StreamServer {
  private static final Logger log = LoggerFactory.getLogger(StreamServer.class);
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
    port =
        new StreamPort(
            settings.port(),
            load,
            texts,
            memory,
            (channel, own) -> new StreamConnection(this, channel, own),
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

  public StreamLoad load() {
    return load;
  }

  /** Where messages are now. Waits for the event loops, and not for long. */
  public StreamStages stages() throws InterruptedException {
    return StreamStages.of(port.peers().stream().map(StreamConnection.class::cast).toList());
  }

  /** No further message is taken; what was is answered, and then connections end. */
  public void drain() {
    port.drain();
  }

  /**
   * Drains, and stops when every message has been answered, or so much time has passed.
   *
   * @throws InterruptedException when interrupted; it has stopped all the same
   */
  public void stop(long nanos) throws InterruptedException {
    port.stop(() -> load.open() > 0, nanos);
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
    if (!(cause instanceof IOException)) { // that is a client which has gone
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
