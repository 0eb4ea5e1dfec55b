package dev.roundhouse.transport.forward;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelException;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** That whoever connects hears of a failure once it has the connection, and on its event loop. */
@Timeout(60)
class SpliceSocketsTest {
  private static final InetSocketAddress SOMEWHERE =
      new InetSocketAddress(InetAddress.getLoopbackAddress(), 1);

  private final MultiThreadIoEventLoopGroup group =
      new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
  private final EventLoop loop = group.next();

  @AfterEach
  void stop() {
    group.shutdownGracefully(0, 0, TimeUnit.SECONDS).syncUninterruptibly();
  }

  /** What is told of a failure to connect, and the channel. */
  private Throwable failure(
      SpliceSockets sockets, InetSocketAddress to, AtomicReference<@Nullable Channel> channel)
      throws Exception {
    CompletableFuture<Throwable> told = new CompletableFuture<>();
    AtomicBoolean returned = new AtomicBoolean();
    loop.execute(
        () -> {
          channel.set(
              sockets.connect(
                  loop,
                  to,
                  new ChannelInboundHandlerAdapter(),
                  why -> {
                    if (loop.inEventLoop() && returned.get()) {
                      told.complete(why);
                    } else {
                      told.completeExceptionally(new AssertionError("too soon, or elsewhere"));
                    }
                  }));
          returned.set(true);
        });
    return told.get(30, TimeUnit.SECONDS);
  }

  @Test
  void shouldTellWhereThereIsNoDescriptorForASocket() throws Exception {
    SpliceSockets sockets =
        new SpliceSockets(
            (on, server) ->
                new Bootstrap()
                    .group(on)
                    .channelFactory(
                        () -> {
                          throw new ChannelException("too many open files");
                        }));
    AtomicReference<@Nullable Channel> channel = new AtomicReference<>();
    assertThat(failure(sockets, SOMEWHERE, channel)).hasMessage("too many open files");
    assertThat(Objects.requireNonNull(channel.get()).isOpen())
        .as("it is not to be closed")
        .isFalse();
  }

  @Test
  void shouldTellWhereTheLoopDoesNotTakeTheChannel() throws Exception {
    SpliceSockets sockets =
        new SpliceSockets((on, server) -> new Bootstrap().group(on).channel(Unregistrable.class));
    AtomicReference<@Nullable Channel> channel = new AtomicReference<>();
    assertThat(failure(sockets, SOMEWHERE, channel)).hasMessage("as asked");
    assertThat(Objects.requireNonNull(channel.get()).isOpen())
        .as("its descriptor is given back")
        .isFalse();
  }

  @Test
  void shouldTellWhereNobodyListens() throws Exception {
    int free;
    try (ServerSocket socket = new ServerSocket(0)) {
      free = socket.getLocalPort();
    }
    InetSocketAddress to = new InetSocketAddress(InetAddress.getLoopbackAddress(), free);
    SpliceSockets sockets =
        new SpliceSockets(
            (on, server) -> new Bootstrap().group(on).channel(NioSocketChannel.class));
    assertThat(failure(sockets, to, new AtomicReference<>())).isInstanceOf(ConnectException.class);
  }

  /** A socket that no loop can serve. */
  public static final class Unregistrable extends NioSocketChannel {
    public Unregistrable() {}

    @Override
    protected void doRegister(ChannelPromise promise) {
      promise.setFailure(new ChannelException("as asked"));
    }
  }
}
