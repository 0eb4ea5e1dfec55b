package dev.roundhouse.gateway.stream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.kserve.tstream.ServerReply;
import dev.roundhouse.transport.forward.SpliceSockets;
import io.grpc.Status;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelException;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A worker to which there is not even a socket: the next one is asked, and nobody waits. */
@Timeout(60)
class WorkerHelloTest {
  private final MultiThreadIoEventLoopGroup group =
      new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
  private final EventLoop loop = group.next();
  private final BlockingQueue<Status> failures = new LinkedBlockingQueue<>();

  @AfterEach
  void stop() {
    group.shutdownGracefully(0, 0, TimeUnit.SECONDS).syncUninterruptibly();
  }

  static Stream<BiFunction<EventLoop, SocketAddress, Bootstrap>> noSockets() {
    return Stream.of(
        (on, server) ->
            new Bootstrap()
                .group(on)
                .channelFactory(
                    () -> {
                      throw new ChannelException("too many open files");
                    }),
        (on, server) -> new Bootstrap().group(on).channel(Unregistrable.class));
  }

  @ParameterizedTest
  @MethodSource("noSockets")
  void shouldFailOnceAndOnItsEventLoop(BiFunction<EventLoop, SocketAddress, Bootstrap> none)
      throws Exception {
    WorkerHello hello =
        new WorkerHello(
            new SpliceSockets(none),
            Duration.ofSeconds(5),
            "w0",
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 1),
            new byte[] {1},
            new Failing());
    loop.submit(() -> hello.begin(loop)).sync();
    Status why = failures.poll(30, TimeUnit.SECONDS);
    assertThat(why).isNotNull();
    assertThat(why.getCode()).isEqualTo(Status.Code.UNAVAILABLE);
    assertThat(why.getDescription())
        .isEqualTo("worker 'w0' cannot be reached: too many open files");
    assertThat(why.getCause())
        .as("so that any number may be asked")
        .isInstanceOf(ConnectException.class);
    loop.submit(hello::takeBack).sync(); // has nothing to take back
    assertThat(failures).isEmpty();
  }

  private final class Failing implements WorkerHello.Outcome {
    @Override
    public void taken(Channel worker, ByteBuf said) {
      throw new AssertionError("nobody has taken it");
    }

    @Override
    public void refused(ServerReply reply, ByteBuf said) {
      throw new AssertionError("nobody has refused it");
    }

    @Override
    public void failed(Status why) {
      failures.add(loop.inEventLoop() ? why : Status.INTERNAL.withDescription("on another thread"));
    }
  }

  /** A socket that no loop can serve. */
  public static final class Unregistrable extends NioSocketChannel {
    public Unregistrable() {}

    @Override
    protected void doRegister(ChannelPromise promise) {
      promise.setFailure(new ChannelException("too many open files"));
    }
  }
}
