package dev.roundhouse.transport.http2;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.transport.io.EventLoops;
import dev.roundhouse.transport.io.LoopEnd;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.netty.NettyChannelBuilder;
import io.netty.channel.IoHandle;
import io.netty.channel.IoHandler;
import io.netty.channel.IoHandlerContext;
import io.netty.channel.IoRegistration;
import io.netty.util.concurrent.ThreadAwareExecutor;
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
