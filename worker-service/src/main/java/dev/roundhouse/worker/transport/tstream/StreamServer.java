package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.engine.transport.Transport;
import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.ServerReply;
import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.transport.io.EventLoops;
import dev.roundhouse.transport.io.Seldom;
import dev.roundhouse.transport.io.StagedClose;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.PeerMemory;
import dev.roundhouse.worker.transport.Inference;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslHandler;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Supplier;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Listens for streams, over TCP and at a socket in the file system. Thread-safe. */
public final class StreamServer implements Transport {
  private static final Logger log = LoggerFactory.getLogger(StreamServer.class);

  /** What TLS clients name, if they name anything. */
  public static final String ALPN = "tstream/1";

  private static final int MAX_THREADS = 8;
  private static final int STOP_SECONDS = 5;
  private static final long LOOK_MILLIS = 20;

  /** Handlers, the state of a stream, and what was last read. */
  private static final long CONNECTION_BYTES = 16 << 10;

  private static final long TLS_BYTES = 96 << 10;

  /** After which a client for which there was no room may try again. */
  private static final int RETRY_MILLIS = 1_000;

  /** Connections above the limit that are told so at a time; further ones are closed at once. */
  private static final int MOST_TOLD = 64;

  /** Of a client that is told that its connection ends, so many bytes are read and forgotten. */
  private static final long ENDING_BYTES = 64 << 20;

  private static final long ENDING_NANOS = TimeUnit.SECONDS.toNanos(5);

  /** Of clients of a server that stops. */
  static final String EXITING = "Server exiting";

  private static final int LEAST_READ = 1 << 10;
  private static final int FIRST_READ = 1 << 13;
  private static final int MOST_READ = 1 << 16;

  private static final Seldom WARNING = new Seldom();

  private final StreamSettings settings;
  private final Inference inference;
  private final ClientText texts;
  private final PeerMemory memory;
  private final Consumer<Throwable> failed;
  private final StreamTargets targets;
  private final Handshake handshake;
  private final StreamLoad load = new StreamLoad();
  private final Set<StreamConnection> streams = ConcurrentHashMap.newKeySet();
  private final List<Channel> listening = new ArrayList<>();
  private @Nullable EventLoops loops;
  private volatile int port;
  private volatile boolean draining;

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
    this.memory = memory;
    this.failed = failed;
    targets = new StreamTargets(inference.engine());
    handshake = new Handshake(access, targets, limits.maxWindow(), limits.windowBytes());
  }

  @Override
  public String name() {
    return "stream";
  }

  @Override
  public synchronized void start() throws IOException {
    int threads = Math.clamp(Runtime.getRuntime().availableProcessors(), 1, MAX_THREADS);
    EventLoops own = new EventLoops("tstream", threads, failed);
    loops = own;
    try {
      listen(own);
    } catch (IOException e) {
      var unused = own.stop(0); // with what listens already
      loops = null;
      Throwable cause = e.getCause() == null ? e : e.getCause();
      throw new IOException(
          "roundhouse.worker.stream.port=%d, socket=%s: %s"
              .formatted(
                  settings.address() == null ? -1 : settings.address().getPort(),
                  settings.socket(),
                  cause.getMessage()),
          e);
    }
  }

  private void listen(EventLoops own) throws IOException {
    InetSocketAddress address = settings.address();
    if (address != null) {
      Channel bound = own.listen(configured(own.bootstrap(), settings.tls()), address);
      listening.add(bound);
      port = ((InetSocketAddress) bound.localAddress()).getPort();
    }
    if (settings.socket() != null) {
      SocketFile file = new SocketFile(settings.socket());
      file.makeRoom();
      listening.add(own.listen(configured(own.localBootstrap(), null), file.address()));
    }
  }

  private ServerBootstrap configured(
      ServerBootstrap bootstrap, @Nullable Supplier<SslContext> tls) {
    return bootstrap
        .childOption(ChannelOption.ALLOW_HALF_CLOSURE, true)
        .childOption(
            ChannelOption.RECVBUF_ALLOCATOR,
            new AdaptiveRecvByteBufAllocator(LEAST_READ, FIRST_READ, MOST_READ))
        .childHandler(new Accepted(tls));
  }

  /** The TCP port; none before it listens, and without one. */
  @Override
  public List<Integer> ports() {
    return port == 0 ? List.of() : List.of(port);
  }

  public StreamLoad load() {
    return load;
  }

  private final class Accepted extends ChannelInitializer<Channel> {
    private final @Nullable Supplier<SslContext> tls;

    Accepted(@Nullable Supplier<SslContext> tls) {
      this.tls = tls;
    }

    @Override
    protected void initChannel(Channel channel) {
      int most = settings.maxConnections();
      int open = load.opened();
      channel.closeFuture().addListener(over -> load.closed());
      if (open > most + MOST_TOLD) {
        channel.close();
        return;
      }
      if (open > most) {
        noRoom(channel, tls, "roundhouse.worker.stream.max-connections is " + most);
        return;
      }
      AtomicReference<@Nullable StreamConnection> opened = new AtomicReference<>();
      ConnectionMemory own =
          memory.open(
              channel.remoteAddress(),
              tls == null ? CONNECTION_BYTES : TLS_BYTES,
              () -> relieve(opened.get()));
      if (own == null) {
        noRoom(channel, tls, "the memory for connections is used up, or your address's part of it");
        return;
      }
      SslHandler secured = tls == null ? null : tls.get().newHandler(channel.alloc());
      if (secured != null) {
        secured.setHandshakeTimeoutMillis(0); // the hello's time is its time too
        channel.pipeline().addLast(new TlsGate(StreamServer.this), secured);
      }
      StreamConnection stream = new StreamConnection(StreamServer.this, channel, own, secured);
      opened.set(stream);
      streams.add(stream);
      channel
          .closeFuture()
          .addListener(
              over -> {
                streams.remove(stream);
                own.close();
              });
      channel.pipeline().addLast(stream);
      if (draining) {
        stream.drain();
      }
    }
  }

  private static void relieve(@Nullable StreamConnection stream) {
    if (stream != null) {
      stream.relieve();
    }
  }

  /**
   * Tells a client to come again; not by TLS, which takes the most of what there is no room for.
   */
  private void noRoom(Channel channel, @Nullable Supplier<SslContext> tls, String why) {
    load.refused(HelloStatus.OVERLOADED);
    if (tls != null) {
      channel.close();
      return;
    }
    String text = "there is no room for another connection: " + why;
    ServerReply reply =
        new ServerReply(
            ClientHello.VERSION, HelloStatus.OVERLOADED, Set.of(), RETRY_MILLIS, 0, null, text);
    channel
        .pipeline()
        .addLast(
            new ChannelInboundHandlerAdapter() {
              @Override
              public void channelActive(ChannelHandlerContext ctx) {
                endAfter(channel, channel.writeAndFlush(Unpooled.wrappedBuffer(reply.encoded())));
              }
            });
  }

  /** No further message is taken; what was is answered, and then connections end. */
  @Override
  public void drain() {
    draining = true;
    streams.forEach(StreamConnection::drain);
  }

  @Override
  public synchronized void stop(Duration budget) throws InterruptedException {
    drain();
    EventLoops own = loops;
    if (own == null) {
      return; // a file in the socket's place is somebody else's
    }
    loops = null;
    long end = System.nanoTime() + budget.toNanos();
    try {
      while (load.open() > 0 && System.nanoTime() < end) {
        TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
      }
    } finally {
      listening.forEach(Channel::close);
      own.stop(STOP_SECONDS).awaitUninterruptibly();
      if (settings.socket() != null) {
        try {
          Files.deleteIfExists(settings.socket());
        } catch (IOException e) {
          log.warn("{} stays behind: {}", settings.socket(), e.toString());
        }
      }
    }
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

  Handshake handshake() {
    return handshake;
  }

  boolean isDraining() {
    return draining;
  }

  /** Ends a connection whose client has been told why, once that is sent. */
  static void endAfter(Channel channel, ChannelFuture told) {
    told.addListener(sent -> StagedClose.begin(channel, ENDING_BYTES, ENDING_NANOS));
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
