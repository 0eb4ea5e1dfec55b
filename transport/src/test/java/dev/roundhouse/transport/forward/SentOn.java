package dev.roundhouse.transport.forward;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.transport.http2.GrpcContract;
import dev.roundhouse.transport.http2.Http2ServerBuilder;
import dev.roundhouse.transport.io.Leaks;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.NettyChannelBuilder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;

/**
 * A server that sends calls on as a test's router says, to servers of the test. When a test is over
 * nothing is left of its calls.
 */
abstract class SentOn {
  /** What the servers behind it take, which is more than it takes itself. */
  private static final int MOST_BYTES = 16 << 20;

  final ForwardingBudget memory = new ForwardingBudget(64 << 20, "wait");

  /** In the order in which they were started. */
  final List<Server> servers = new ArrayList<>();

  /** Routes that have not been told their end. */
  final AtomicInteger openRoutes = new AtomicInteger();

  private @Nullable ManagedChannel channel;

  /** Starts it, with a limit of 8 MiB for a message. */
  final void startFront(CallRouter router) throws IOException {
    Server front =
        Http2ServerBuilder.forAddress(GrpcContract.ANY_PORT)
            .forward(new GrpcForwarder(router, memory))
            .maxInboundMessageSize(8 << 20)
            .build()
            .start();
    servers.add(front);
    channel =
        NettyChannelBuilder.forAddress("127.0.0.1", front.getPort())
            .usePlaintext()
            .maxInboundMessageSize(MOST_BYTES)
            .build();
  }

  /** Starts a server that calls may be sent to. */
  final Server serve(ServerServiceDefinition definition) throws IOException {
    Server server =
        Http2ServerBuilder.forAddress(GrpcContract.ANY_PORT)
            .addService(definition)
            .maxInboundMessageSize(MOST_BYTES)
            .build()
            .start();
    servers.add(server);
    return server;
  }

  static SocketAddress address(Server server) {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), server.getPort());
  }

  final ManagedChannel channel() {
    return Objects.requireNonNull(channel, "not started");
  }

  @AfterEach
  void shouldLeaveNothingOfCallsBehind() throws InterruptedException {
    channel().shutdownNow();
    for (Server server : servers) {
      assertThat(server.shutdownNow().awaitTermination(10, TimeUnit.SECONDS)).isTrue();
    }
    assertThat(openRoutes).as("every route is told its end").hasValue(0);
    Leaks.awaitNone();
    assertThat(memory.held()).as("bytes of calls that have ended").isZero();
  }
}
