package dev.roundhouse.transport.http2;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.transport.io.EventLoops;
import dev.roundhouse.transport.io.LoopEnd;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.netty.NettyChannelBuilder;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.IoHandle;
import io.netty.channel.IoHandler;
import io.netty.channel.IoHandlerContext;
import io.netty.channel.IoRegistration;
import io.netty.util.concurrent.ThreadAwareExecutor;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class EventLoopsTest {
  private final CompletableFuture<Throwable> ended = new CompletableFuture<>();

  @Test
  void shouldSayWhichLoopHasEndedByAnError() throws Exception {
    EventLoops loops = new EventLoops("broken", 1, ended::complete, Broken::new);
    loops.bootstrap().config().group().execute(() -> {});
    Throwable why = ended.get(30, TimeUnit.SECONDS);
    assertThat(why).hasMessageContaining("'broken-").hasMessageContaining("connections hang");
    var unused = loops.stop(0);
  }

  @Test
  void shouldSayNothingWhenItIsStopped() throws Exception {
    EventLoops loops = new EventLoops("stopped", 2, ended::complete);
    CountDownLatch ran = new CountDownLatch(2);
    loops.bootstrap().config().group().execute(ran::countDown);
    loops.bootstrap().config().group().execute(ran::countDown);
    ran.await();
    loops.stop(1).sync();
    assertThat(ended).isNotDone();
  }

  private static Channel listen(EventLoops loops) throws IOException {
    return loops.listen(
        loops.bootstrap().childHandler(new ChannelInboundHandlerAdapter()),
        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
  }

  /** Whatever a loop does when it is told. */
  @Test
  void shouldCloseEveryConnectionWhenItIsStopped() throws Exception {
    for (int turn = 0; turn < 300; turn++) {
      EventLoops loops = new EventLoops("closing", 1, ended::complete);
      CountDownLatch accepted = new CountDownLatch(1);
      Channel bound =
          loops.listen(
              loops
                  .bootstrap()
                  .childHandler(
                      new ChannelInboundHandlerAdapter() {
                        @Override
                        public void channelActive(ChannelHandlerContext context) {
                          accepted.countDown();
                        }
                      }),
              new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      int port = ((InetSocketAddress) bound.localAddress()).getPort();
      try (Socket client = new Socket(InetAddress.getLoopbackAddress(), port)) {
        client.setSoTimeout(5_000);
        accepted.await();
        var unused = loops.endListening(bound); // it is awake then, as it is when a server stops
        loops.stop(turn % 2).sync();
        assertThat(client.getInputStream().read()).as("turn %d", turn).isNegative();
      }
    }
    assertThat(ended).isNotDone();
  }

  @Test
  void shouldSayThatASocketListensNoMore() throws Exception {
    EventLoops loops = new EventLoops("closed", 1, ended::complete);
    Channel bound = listen(loops);
    bound.close().sync(); // as Netty does when it cannot go on with one
    assertThat(ended.get(30, TimeUnit.SECONDS))
        .hasMessageContaining("the socket that listens on")
        .hasMessageContaining("nobody can connect");
    loops.stop(0).sync();
  }

  @Test
  void shouldSayNothingOfASocketThatIsToListenNoMore() throws Exception {
    EventLoops loops = new EventLoops("ended", 2, ended::complete);
    Channel first = listen(loops);
    listen(loops);
    loops.endListening(first).sync();
    assertThat(first.isOpen()).isFalse();
    loops.stop(0).sync(); // with the other
    assertThat(ended).isNotDone();
  }

  @Test
  void shouldNeitherListenNorWaitWhereALoopIsGone() throws Exception {
    EventLoops loops = new EventLoops("gone", 1, ended::complete);
    Channel bound = listen(loops);
    bound.eventLoop().execute(LoopEnd::ofThisThread); // which leaves the socket as it is
    assertThat(ended.get(30, TimeUnit.SECONDS)).hasMessageContaining("'gone-");
    bound.eventLoop().terminationFuture().sync();
    assertThatThrownBy(() -> listen(loops))
        .isInstanceOf(IOException.class)
        .hasMessageStartingWith("cannot listen on ");
    loops.awaitTurn(TimeUnit.SECONDS.toNanos(30));
  }

  @Test
  void shouldBeHeardOfByTheServersListener() throws Exception {
    Server server =
        Http2ServerBuilder.forAddress(GrpcContract.ANY_PORT)
            .failureListener(ended::complete)
            .addService(new LoopEnd())
            .build()
            .start();
    ManagedChannel channel =
        NettyChannelBuilder.forAddress("127.0.0.1", server.getPort()).usePlaintext().build();
    LoopEnd.by(channel);
    assertThat(ended.get(30, TimeUnit.SECONDS)).hasMessageContaining("'grpc-");
    channel.shutdownNow();
    assertThat(server.shutdownNow().awaitTermination(30, TimeUnit.SECONDS)).isTrue();
  }

  /** Waits for nothing, and throws what no event loop survives. */
  private static final class Broken implements IoHandler {
    Broken(ThreadAwareExecutor executor) {}

    @Override
    public int run(IoHandlerContext context) {
      throw new InternalError("as asked");
    }

    @Override
    public void wakeup() {}

    @Override
    public IoRegistration register(IoHandle handle) {
      throw new UnsupportedOperationException();
    }

    @Override
    public boolean isCompatible(Class<? extends IoHandle> type) {
      return false;
    }
  }
}
