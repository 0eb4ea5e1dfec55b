package dev.roundhouse.benchmarks.serving;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.benchmarks.client.Load;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.NettyServerBuilder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class EchoServiceTest {
  private Server server;
  private ManagedChannel channel;

  @BeforeEach
  void start() throws IOException {
    server =
        NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .addService(new EchoService())
            .build()
            .start();
    channel =
        NettyChannelBuilder.forAddress("127.0.0.1", server.getPort())
            .usePlaintext()
            .directExecutor()
            .build();
  }

  @AfterEach
  void stop() {
    channel.shutdownNow();
    server.shutdownNow();
  }

  @Test
  void shouldHaveEverySlotAnsweredWhenAnswersHaveTheRightSize() throws InterruptedException {
    ClosedLoop loop =
        new ClosedLoop(
            channel, RowModel.NEGATE_FOUR_KIB.request(), RowModel.NEGATE_FOUR_KIB.rowBytes());
    Load load = loop.run(8, Duration.ofMillis(100));
    assertThat(load.requests()).isGreaterThanOrEqualTo(8);
    assertThat(load.requestsPerSecond()).isPositive();
    assertThat(load.p50Micros()).isPositive();
  }

  @Test
  void shouldFailWhenAnswersHaveTheWrongSize() {
    ClosedLoop loop = new ClosedLoop(channel, RowModel.NEGATE_FOUR_KIB.request(), 7);
    assertThatThrownBy(() -> loop.run(2, Duration.ofMillis(100)))
        .hasMessageContaining("failed under load")
        .hasStackTraceContaining("not an answer of 7 bytes");
  }
}
