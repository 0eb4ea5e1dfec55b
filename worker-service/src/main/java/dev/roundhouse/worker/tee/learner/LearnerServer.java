package dev.roundhouse.worker.tee.learner;

import dev.roundhouse.engine.transport.Transport;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.access.Admitted;
import dev.roundhouse.platform.access.ApiCategory;
import dev.roundhouse.platform.access.Credentials;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.platform.tstream.SocketFile;
import dev.roundhouse.transport.io.EventLoops;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.PeerMemory;
import dev.roundhouse.worker.config.TeeProperties;
import dev.roundhouse.worker.tee.Tee;
import io.grpc.StatusException;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Listens for learners, over TCP and at a socket in the file system. Thread-safe. */
public final class LearnerServer implements Transport {
  private static final Logger log = LoggerFactory.getLogger(LearnerServer.class);

  /** One reads each model, and those beyond are closed at once. */
  private static final int MOST_CONNECTIONS = 256;

  private static final long CONNECTION_BYTES = 16 << 10;
  private static final int STOP_SECONDS = 5;

  private final TeeProperties settings;
  private final Tee tee;
  private final Access access;
  private final ClientText texts;
  private final PeerMemory memory;
  private final Consumer<Throwable> failed;
  private final LearnerLoad load = new LearnerLoad();
  private final Set<LearnerConnection> connections = ConcurrentHashMap.newKeySet();

  /** Models that have a learner. */
  private final Set<String> taken = ConcurrentHashMap.newKeySet();

  private final List<Channel> listening = new ArrayList<>();
  private @Nullable EventLoops loops;
  private volatile int port;
  private volatile boolean stopping;

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
    this.memory = memory;
    this.failed = failed;
  }

  @Override
  public String name() {
    return "tee";
  }

  @Override
  public synchronized void start() throws IOException {
    EventLoops own = new EventLoops("tee-learners", 1, failed);
    loops = own;
    try {
      if (settings.port() >= 0) {
        InetSocketAddress address = new InetSocketAddress(settings.address(), settings.port());
        Channel bound = own.listen(configured(own.bootstrap()), address);
        listening.add(bound);
        port = ((InetSocketAddress) bound.localAddress()).getPort();
      }
      if (settings.socket() != null) {
        SocketFile file = new SocketFile(settings.socket());
        file.makeRoom();
        listening.add(own.listen(configured(own.localBootstrap()), file.address()));
      }
    } catch (IOException e) {
      var unused = own.stop(0); // with what listens already
      loops = null;
      Throwable cause = e.getCause() == null ? e : e.getCause();
      throw new IOException(
          "roundhouse.worker.tee.port=%d, socket=%s: %s"
              .formatted(settings.port(), settings.socket(), cause.getMessage()),
          cause);
    }
  }

  private ServerBootstrap configured(ServerBootstrap bootstrap) {
    return bootstrap
        .childOption(ChannelOption.ALLOW_HALF_CLOSURE, true)
        .childHandler(new Accepted());
  }

  private final class Accepted extends ChannelInitializer<Channel> {
    @Override
    protected void initChannel(Channel channel) {
      int open = load.opened();
      channel.closeFuture().addListener(over -> load.closed());
      ConnectionMemory own =
          open > MOST_CONNECTIONS || stopping
              ? null
              : memory.open(channel.remoteAddress(), CONNECTION_BYTES, () -> {});
      if (own == null) {
        channel.close();
        return;
      }
      LearnerConnection learner = new LearnerConnection(LearnerServer.this, channel);
      connections.add(learner);
      channel
          .closeFuture()
          .addListener(
              over -> {
                connections.remove(learner);
                own.close();
              });
      channel.pipeline().addLast(learner);
    }
  }

  /** The TCP port; none before it listens, and without one. */
  @Override
  public List<Integer> ports() {
    int bound = port;
    return bound == 0 ? List.of() : List.of(bound);
  }

  /** Learners read on: requests that were taken still come to them. */
  @Override
  public void drain() {}

  public LearnerLoad load() {
    return load;
  }

  /** Ends all connections, and listens no more. Learners are told; nothing is waited for. */
  @Override
  public synchronized void stop(Duration budget) {
    stopping = true;
    EventLoops own = loops;
    if (own == null) {
      return; // a file in the socket's place is somebody else's
    }
    loops = null;
    listening.forEach(own::endListening);
    connections.forEach(LearnerConnection::drain);
    own.stop(STOP_SECONDS).awaitUninterruptibly();
    if (settings.socket() != null) {
      try {
        Files.deleteIfExists(settings.socket());
      } catch (IOException e) {
        log.warn("{} stays behind: {}", settings.socket(), e.toString());
      }
    }
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
   * @throws LearnerRefusedException when it may not
   */
  void admit(LearnerHello hello, SocketAddress from) throws LearnerRefusedException {
    String token = hello.token();
    Credentials shown =
        new Credentials(from, null, token.isEmpty() ? null : "Bearer " + token, null);
    try {
      Admitted caller = access.admit(ApiCategory.CONTROL, true, "the tee", shown);
      caller.requireModel(hello.model());
    } catch (StatusException e) {
      throw new LearnerRefusedException(
          HelloStatus.UNAUTHORISED, String.valueOf(e.getStatus().getDescription()));
    }
    if (!tee.isChosen(hello.model())) {
      throw new LearnerRefusedException(
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
