package dev.roundhouse.worker.tee.learner;

import dev.roundhouse.engine.transport.Transport;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.access.Admitted;
import dev.roundhouse.platform.access.ApiCategory;
import dev.roundhouse.platform.access.Credentials;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.platform.tstream.HelloRefusedException;
import dev.roundhouse.platform.tstream.StreamPeer;
import dev.roundhouse.platform.tstream.StreamPort;
import dev.roundhouse.platform.tstream.StreamPortSettings;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.PeerMemory;
import dev.roundhouse.worker.config.TeeProperties;
import dev.roundhouse.worker.config.WorkerProperties;
import dev.roundhouse.worker.tee.Tee;
import io.grpc.StatusException;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import java.io.IOException;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Listens for learners, over TCP and at a socket in the file system. Thread-safe. */
public final class LearnerServer implements Transport {
  private static final String KEYS = WorkerProperties.PREFIX + ".tee";

  /** One reads each model, and those beyond are told so. */
  private static final int MOST_CONNECTIONS = 256;

  private static final long CONNECTION_BYTES = 16 << 10;
  private static final StreamPortSettings.Threads THREADS =
      new StreamPortSettings.Threads("tee-learners", 1);

  /** For learners to take what they are being sent, and that it was the last, and to go. */
  private static final long LAST_WORDS_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final TeeProperties settings;
  private final Tee tee;
  private final Access access;
  private final ClientText texts;
  private final LearnerLoad load = new LearnerLoad();
  private final StreamPort port;

  /** Models that have a learner. */
  private final Set<String> taken = ConcurrentHashMap.newKeySet();

  /**
   * @param texts error texts for learners
   * @param failed called when the thread that serves sockets has ended
   */
  public LearnerServer(
      TeeProperties settings,
      Tee tee,
      Access access,
      ClientText texts,
      PeerMemory memory,
      Consumer<Throwable> failed) {
    this.settings = settings;
    this.tee = tee;
    this.access = access;
    this.texts = texts;
    StreamPortSettings where =
        new StreamPortSettings(
            KEYS,
            StreamPortSettings.address(settings.port(), settings.address()),
            false,
            settings.socket(),
            MOST_CONNECTIONS,
            CONNECTION_BYTES,
            THREADS);
    port = new StreamPort(where, load, texts, memory, new Learners(), failed);
  }

  private final class Learners implements StreamPort.Peers {
    @Override
    public StreamPeer open(Channel channel, ConnectionMemory memory, boolean secured) {
      return new LearnerConnection(LearnerServer.this, channel);
    }

    @Override
    public String full(StreamPortSettings where) {
      return "%d learners are connected".formatted(where.maxConnections());
    }

    @Override
    public ByteBuf noRoom(int retryMillis, String text) {
      return LearnerFrames.reply(HelloStatus.OVERLOADED, retryMillis, null, text);
    }
  }

  @Override
  public String name() {
    return "tee";
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

  /** Learners read on: requests that were taken still come to them. */
  @Override
  public void drain() {}

  public LearnerLoad load() {
    return load;
  }

  /** Tells learners that the worker stops, ends all connections, and listens no more. */
  @Override
  public void stop(Duration budget) throws InterruptedException {
    port.stop(() -> load.learners() > 0, Math.min(budget.toNanos(), LAST_WORDS_NANOS));
  }

  // --- for connections

  TeeProperties settings() {
    return settings;
  }

  Tee tee() {
    return tee;
  }

  ClientText texts() {
    return texts;
  }

  /**
   * Whether a learner may read a model: what others have sent is for those who may control the
   * worker.
   *
   * @throws HelloRefusedException when it may not
   */
  void admit(LearnerHello hello, SocketAddress from) throws HelloRefusedException {
    String token = hello.token();
    Credentials shown =
        new Credentials(from, null, token.isEmpty() ? null : "Bearer " + token, null);
    try {
      Admitted caller = access.admit(ApiCategory.CONTROL, true, "the tee", shown);
      caller.requireModel(hello.model());
    } catch (StatusException e) {
      throw new HelloRefusedException(
          HelloStatus.UNAUTHORISED, String.valueOf(e.getStatus().getDescription()));
    }
    if (!tee.isChosen(hello.model())) {
      throw new HelloRefusedException(
          HelloStatus.NO_SUCH_MODEL,
          "model '%s' is not among roundhouse.worker.tee.models".formatted(hello.model()));
    }
  }

  /** False when another learner reads the model. */
  boolean take(String model) {
    return taken.add(model);
  }

  void giveBack(String model) {
    taken.remove(model);
  }
}
