package dev.roundhouse.transport.http2;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.netty.NettyChannelBuilder;
import java.net.InetAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class LoadListenerTest {
  private static final int MOST = 3;

  private final LoadCounts counts = new LoadCounts();
  private final TestService service = new TestService();
  private final List<ManagedChannel> channels = new ArrayList<>();
  private Server server;

  @BeforeEach
  void start() throws Exception {
    server =
        Http2ServerBuilder.forAddress(GrpcContract.ANY_PORT)
            .loadListener(counts)
            .maxConnections(MOST)
            .addService(service.definition())
            .build()
            .start();
  }

  @AfterEach
  void shouldHaveHeardEveryEnd() throws Exception {
    channels.forEach(ManagedChannel::shutdownNow);
    assertThat(server.shutdownNow().awaitTermination(10, TimeUnit.SECONDS)).isTrue();
    GrpcContract.await(() -> counts.calls.get() == 0 && counts.connections.get() == 0);
    assertThat(counts.belowZero).hasValue(0);
  }

  @Test
  void shouldHearOfCallsUntilTheyAreAnsweredOrCancelled() {
    ManagedChannel channel = channel();
    call(channel);
    call(channel);
    ClientCall<byte[], byte[]> third = call(channel);
    GrpcContract.await(() -> service.waiting.size() == 3);
    assertThat(counts.calls).hasValue(3);
    assertThat(counts.connections).hasValue(1);

    third.cancel("not wanted", null);
    GrpcContract.await(() -> counts.calls.get() == 2);
    service.letGo();
    GrpcContract.await(() -> counts.calls.get() == 0);
    assertThat(counts.connections).hasValue(1);
  }

  @Test
  void shouldHearOfTheCallsOfAConnectionThatIsLost() {
    ManagedChannel channel = channel();
    call(channel);
    call(channel);
    GrpcContract.await(() -> counts.calls.get() == 2);
    channel.shutdownNow();
    GrpcContract.await(() -> counts.calls.get() == 0 && counts.connections.get() == 0);
  }

  @Test
  void shouldHearOfConnectionsThatSayNothingAndNotOfThoseThatAreTooMany() throws Exception {
    List<Socket> sockets = new ArrayList<>();
    for (int i = 0; i < MOST; i++) {
      sockets.add(new Socket(InetAddress.getLoopbackAddress(), server.getPort()));
    }
    GrpcContract.await(() -> counts.connections.get() == MOST);
    try (Socket more = new Socket(InetAddress.getLoopbackAddress(), server.getPort())) {
      assertThat(more.getInputStream().read()).isEqualTo(-1); // closed
      assertThat(counts.connections).hasValue(MOST);
    }
    for (Socket socket : sockets) {
      socket.close();
    }
    GrpcContract.await(() -> counts.connections.get() == 0);
  }

  private ManagedChannel channel() {
    ManagedChannel channel =
        NettyChannelBuilder.forAddress("127.0.0.1", server.getPort()).usePlaintext().build();
    channels.add(channel);
    return channel;
  }

  private static ClientCall<byte[], byte[]> call(ManagedChannel channel) {
    ClientCall<byte[], byte[]> call = channel.newCall(TestService.WAIT, CallOptions.DEFAULT);
    call.start(new ClientCall.Listener<>() {}, new Metadata());
    call.sendMessage(new byte[1]);
    call.halfClose();
    call.request(1);
    return call;
  }
}
