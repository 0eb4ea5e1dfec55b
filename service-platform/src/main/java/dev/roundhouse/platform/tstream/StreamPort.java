package dev.roundhouse.platform.tstream;

import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.ServerReply;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.transport.io.EventLoops;
import dev.roundhouse.transport.io.Seldom;
import dev.roundhouse.transport.io.StagedClose;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.PeerMemory;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Listens for streams, over TCP and at a socket in the file system, and keeps as many connections
 * as there is room for. The one way to take them, whatever is spoken on them. Thread-safe.
 */
public final class StreamPort {
  /** Of clients of a server that stops. */
  public static final String EXITING = "Server exiting";

  private static final Logger log = LoggerFactory.getLogger(StreamPort.class);
  private static final Seldom WARNING = new Seldom();
  private static final int STOP_SECONDS = 5;
  private static final long LOOK_MILLIS = 20;

  /** For busy loops to tell clients which message was the last. */
  private static final long LAST_WORDS_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** After which a client for which there was no room may try again. */
  private static final int RETRY_MILLIS = 1_000;

  /** Connections above the limit that are told so at a time; further ones are closed at once. */
  private static final int MOST_TOLD = 64;

  /** Of a client that is told that its connection ends, so many bytes are read and forgotten. */
  private static final long ENDING_BYTES = 64 << 20;

  private static final long ENDING_NANOS = TimeUnit.SECONDS.toNanos(5);

  /** What TLS takes of the memory for a connection. */
  private static final long TLS_BYTES = 80 << 10;

  private static final int LEAST_READ = 1 << 10;
  private static final int FIRST_READ = 1 << 13;
  private static final int MOST_READ = 1 << 16;

  private final StreamPortSettings settings;
  private final StreamPortLoad load;
  private final ClientText texts;
  private final PeerMemory memory;
  private final Peers peers;
  private final Consumer<Throwable> failed;
  private final Set<StreamPeer> open = ConcurrentHashMap.newKeySet();
  private final List<Channel> listening = new ArrayList<>();
  private @Nullable EventLoops loops;
  private volatile int port;
  private volatile boolean draining;

  /** Makes what handles a connection, and adds what is to stand before it in its pipeline. */
  @FunctionalInterface
  public interface Peers {
    /**
     * On the connection's event loop.
     *
     * @param secured whether its client is to speak TLS
     */
    StreamPeer open(Channel channel, ConnectionMemory memory, boolean secured);

    /** Which limit there is to the number of connections. */
    default String full(StreamPortSettings settings) {
      return "%s.max-connections is %d".formatted(settings.keys(), settings.maxConnections());
    }

    /** What a client is told for which there is no room, in its protocol. */
    default ByteBuf noRoom(int retryMillis, String text) {
      ServerReply reply =
          new ServerReply(
              ClientHello.VERSION, HelloStatus.OVERLOADED, Set.of(), retryMillis, 0, null, text);
      return Unpooled.wrappedBuffer(reply.encoded());
    }
  }

  /**
   * @param texts error texts for clients
   * @param failed called when a thread that serves sockets has ended, or a socket listens no more
   */
  public StreamPort(
      StreamPortSettings settings,
      StreamPortLoad load,
      ClientText texts,
      PeerMemory memory,
      Peers peers,
      Consumer<Throwable> failed) {
    this.settings = settings;
    this.load = load;
    this.texts = texts;
    this.memory = memory;
    this.peers = peers;
    this.failed = failed;
  }

  /**
   * Begins to listen.
   *
   * @throws IOException when it cannot
   */
  public synchronized void start() throws IOException {
    StreamPortSettings.Threads threads = settings.threads();
    EventLoops own = new EventLoops(threads.name(), threads.count(), failed);
    loops = own;
    try {
      listen(own);
    } catch (IOException | RuntimeException e) {
      own.stop(0).awaitUninterruptibly(); // what listens already listens no more
      loops = null;
      noneListens();
      Throwable cause = e.getCause() == null ? e : e.getCause();
      InetSocketAddress address = settings.address();
      throw new IOException(
          "%s.port=%d, socket=%s: %s"
              .formatted(
                  settings.keys(),
                  address == null ? -1 : address.getPort(),
                  settings.socket(),
                  cause.getMessage()),
          cause);
    }
  }

  private void listen(EventLoops own) throws IOException {
    InetSocketAddress address = settings.address();
    if (address != null) {
      Channel bound = own.listen(configured(own.bootstrap(), settings.secured()), address);
      listening.add(bound);
      port = ((InetSocketAddress) bound.localAddress()).getPort();
    }
    if (settings.socket() != null) {
      SocketFile file = new SocketFile(settings.socket());
      file.makeRoom();
      listening.add(own.listen(configured(own.localBootstrap(), false), file.address()));
    }
  }

  private ServerBootstrap configured(ServerBootstrap bootstrap, boolean secured) {
    return bootstrap
        .childOption(ChannelOption.ALLOW_HALF_CLOSURE, true)
        .childOption(
            ChannelOption.RECVBUF_ALLOCATOR,
            new AdaptiveRecvByteBufAllocator(LEAST_READ, FIRST_READ, MOST_READ))
        .childHandler(new Accepted(secured));
  }

  private void noneListens() {
    listening.clear();
    port = 0;
  }

  /** The TCP port; 0 while it does not listen, and without one. */
  public int port() {
    return port;
  }

  private final class Accepted extends ChannelInitializer<Channel> {
    private final boolean secured;

    Accepted(boolean secured) {
      this.secured = secured;
    }

    @Override
    protected void initChannel(Channel channel) {
      int now = load.opened();
      channel.closeFuture().addListener(over -> load.closed());
      try {
        admit(channel, now);
      } catch (Throwable e) { // an Error too: its client would wait for nobody
        load.failedToOpen();
        if (WARNING.isTime()) {
          log.warn("a connection is closed, because it cannot be served", e);
        }
        channel.close();
      }
    }

    private void admit(Channel channel, int now) {
      int most = settings.maxConnections();
      if (now > most + MOST_TOLD) {
        channel.close();
        return;
      }
      if (now > most) {
        noRoom(channel, secured, peers.full(settings));
        return;
      }
      AtomicReference<@Nullable StreamPeer> opened = new AtomicReference<>();
      ConnectionMemory own =
          memory.open(
              channel.remoteAddress(),
              settings.connectionBytes() + (secured ? TLS_BYTES : 0),
              () -> relieve(opened.get()));
      if (own == null) {
        noRoom(
            channel,
            secured,
            "the memory for connections is used up, or your address's part of it");
        return;
      }
      channel.closeFuture().addListener(over -> own.close()); // also when no peer can be made
      StreamPeer peer = peers.open(channel, own, secured);
      opened.set(peer);
      open.add(peer);
      channel.closeFuture().addListener(over -> open.remove(peer));
      channel.pipeline().addLast(peer);
      if (draining) {
        peer.drain();
      }
    }
  }

  /** Of the connections that are open. */
  public Set<StreamPeer> peers() {
    return Collections.unmodifiableSet(open);
  }

  private static void relieve(@Nullable StreamPeer peer) {
    if (peer != null) {
      tell(peer::relieve);
    }
  }

  /** What is told to others must not depend on one whose event loop has ended. */
  private static void tell(Runnable peer) {
    try {
      peer.run();
    } catch (RejectedExecutionException e) {
      log.debug("the event loop of a connection has ended", e);
    }
  }

  /**
   * Tells a client to come again; not by TLS, which takes the most of what there is no room for.
   */
  private void noRoom(Channel channel, boolean secured, String why) {
    load.refused(HelloStatus.OVERLOADED);
    if (secured) {
      channel.close();
      return;
    }
    String text = "there is no room for another connection: " + why;
    channel
        .pipeline()
        .addLast(
            new ChannelInboundHandlerAdapter() {
              @Override
              public void channelActive(ChannelHandlerContext ctx) {
                endAfter(channel, channel.writeAndFlush(peers.noRoom(RETRY_MILLIS, text)));
              }

              @Override
              public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
                ctx.close(); // it has gone
              }
            });
  }

  /** Tells a client why it cannot send, and ends its connection. On its event loop. */
  public void refuse(Channel channel, HelloRefusedException why) {
    load.refused(why.status());
    String text = texts.of(String.valueOf(why.getMessage()));
    log.debug("a stream of {} is refused: {}", channel.remoteAddress(), text);
    endAfter(channel, channel.write(Unpooled.wrappedBuffer(why.reply(text).encoded())));
  }

  /** Ends a connection whose client has been told why, once that is sent. */
  public static void endAfter(Channel channel, ChannelFuture told) {
    told.addListener(sent -> StagedClose.begin(channel, ENDING_BYTES, ENDING_NANOS));
  }

  /** Nothing new is begun. */
  public void drain() {
    draining = true;
    open.forEach(peer -> tell(peer::drain));
  }

  public boolean isDraining() {
    return draining;
  }

  /**
   * Drains, and stops when there is nothing more to wait for, or so much time has passed.
   *
   * @throws InterruptedException when interrupted; it has stopped all the same
   */
  public synchronized void stop(BooleanSupplier isBusy, long nanos) throws InterruptedException {
    drain();
    EventLoops own = loops;
    if (own == null) {
      return; // a file in the socket's place is somebody else's
    }
    loops = null;
    long end = System.nanoTime() + nanos;
    try {
      while (isBusy.getAsBoolean() && System.nanoTime() < end) {
        TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
      }
      own.awaitTurn(LAST_WORDS_NANOS);
    } finally {
      listening.forEach(own::endListening);
      own.stop(STOP_SECONDS).awaitUninterruptibly();
      noneListens();
      if (settings.socket() != null) {
        try {
          Files.deleteIfExists(settings.socket());
        } catch (IOException e) {
          log.warn("{} stays behind: {}", settings.socket(), e.toString());
        }
      }
    }
  }
}
