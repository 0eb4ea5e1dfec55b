package dev.roundhouse.transport.http2;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.transport.forward.CallAdmission;
import dev.roundhouse.transport.forward.ForwardingBudget;
import dev.roundhouse.transport.forward.Front;
import dev.roundhouse.transport.forward.GrpcForwarder;
import dev.roundhouse.transport.forward.UpstreamTls;
import dev.roundhouse.transport.io.Leaks;
import dev.roundhouse.transport.io.TestKeys;
import io.grpc.CallOptions;
import io.grpc.Grpc;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.SecurityLevel;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.SslContextBuilder;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSession;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class TlsTest {
  @TempDir static Path folder;
  private static KeyManagerFactory keys;
  private static TrustManagerFactory trusted;

  private final AtomicReference<@Nullable SSLSession> session = new AtomicReference<>();
  private final AtomicReference<@Nullable SecurityLevel> level = new AtomicReference<>();
  private final LoadCounts counts = new LoadCounts();
  private @Nullable Server server;

  @BeforeAll
  static void makeCertificate() throws Exception {
    TestKeys made = new TestKeys("localhost", folder);
    keys = made.identity();
    trusted = made.trust();
  }

  @AfterEach
  void stop() throws Exception {
    if (server != null) {
      assertThat(server.shutdownNow().awaitTermination(10, TimeUnit.SECONDS)).isTrue();
    }
    Leaks.awaitNone();
  }

  private Server start(ClientAuth clients) throws Exception {
    Server started =
        Http2ServerBuilder.forAddress(GrpcContract.ANY_PORT)
            .tls(keys, trusted, clients)
            .addService(new TestService().definition())
            .intercept(new Noting())
            .loadListener(counts)
            .build()
            .start();
    server = started;
    return started;
  }

  private static byte[] echo(Server of, boolean withKey) throws Exception {
    SslContextBuilder tls = GrpcSslContexts.forClient().trustManager(trusted);
    if (withKey) {
      tls.keyManager(keys);
    }
    ManagedChannel channel =
        NettyChannelBuilder.forAddress("localhost", of.getPort()).sslContext(tls.build()).build();
    try {
      return ClientCalls.blockingUnaryCall(
          channel, TestService.ECHO, CallOptions.DEFAULT, new byte[100_000]);
    } finally {
      channel.shutdownNow().awaitTermination(10, TimeUnit.SECONDS);
    }
  }

  @Test
  void shouldAnswerOverTls() throws Exception {
    assertThat(echo(start(ClientAuth.NONE), false)).hasSize(100_000);
    assertThat(session.get()).isNotNull();
    assertThat(level.get()).isEqualTo(SecurityLevel.PRIVACY_AND_INTEGRITY);
  }

  @Test
  void shouldAskClientsForTheirCertificate() throws Exception {
    Server asking = start(ClientAuth.REQUIRE);
    assertThat(echo(asking, true)).hasSize(100_000);
    assertThat(
            catchThrowableOfType(StatusRuntimeException.class, () -> echo(asking, false))
                .getStatus()
                .getCode())
        .isEqualTo(Status.Code.UNAVAILABLE);
  }

  @Test
  void shouldSendCallsOnByTls() throws Exception {
    assertThat(sentOn(start(ClientAuth.REQUIRE), "localhost").getCode()).isEqualTo(Status.Code.OK);
  }

  @Test
  void shouldSayThatACertificateHasAnotherName() throws Exception {
    Status status = sentOn(start(ClientAuth.NONE), "other.test");
    assertThat(status.getCode()).isEqualTo(Status.Code.UNAVAILABLE);
    assertThat(status.getDescription())
        .contains("cannot be reached: TLS: ")
        .contains("No subject alternative DNS name matching other.test");
  }

  @Test
  void shouldSayThatAServerDoesNotSpeakTls() throws Exception {
    server =
        Http2ServerBuilder.forAddress(GrpcContract.ANY_PORT)
            .addService(new TestService().definition())
            .build()
            .start();
    Status status = sentOn(server, "localhost");
    assertThat(status.getCode()).isEqualTo(Status.Code.UNAVAILABLE);
    assertThat(status.getDescription()).endsWith(" cannot be reached: it does not speak TLS");
  }

  /** What a call ends with that is sent on to a server, which must have a name. */
  private static Status sentOn(Server to, String name) throws Exception {
    ForwardingBudget memory = new ForwardingBudget(64 << 20, "wait");
    Server front =
        Http2ServerBuilder.forAddress(GrpcContract.ANY_PORT)
            .forward(
                new GrpcForwarder(
                    new Front.Everything(
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), to.getPort())),
                    CallAdmission.EVERYONE,
                    memory,
                    Duration.ofSeconds(20),
                    new UpstreamTls(
                        GrpcSslContexts.forClient()
                            .trustManager(trusted)
                            .keyManager(keys)
                            .endpointIdentificationAlgorithm("HTTPS")
                            .build(),
                        name)))
            .build()
            .start();
    ManagedChannel channel =
        NettyChannelBuilder.forAddress("127.0.0.1", front.getPort()).usePlaintext().build();
    try {
      byte[] message = new byte[1_000_000];
      assertThat(
              ClientCalls.blockingUnaryCall(
                  channel, TestService.ECHO, CallOptions.DEFAULT, message))
          .isEqualTo(message);
      return Status.OK;
    } catch (StatusRuntimeException e) {
      return e.getStatus();
    } finally {
      channel.shutdownNow();
      assertThat(front.shutdownNow().awaitTermination(10, TimeUnit.SECONDS)).isTrue();
      assertThat(memory.held()).isZero();
    }
  }

  @Test
  void shouldCloseOnWhoDoesNotSpeakHttp2() throws Exception {
    Server started = start(ClientAuth.NONE);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trusted.getTrustManagers(), null);
    try (SSLSocket socket =
        (SSLSocket) context.getSocketFactory().createSocket("localhost", started.getPort())) {
      SSLParameters parameters = socket.getSSLParameters();
      parameters.setApplicationProtocols(new String[] {"http/1.1"});
      socket.setSSLParameters(parameters);
      socket.startHandshake();
      assertThat(new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII))
          .startsWith("HTTP/1.1 400 ")
          .contains("this is the gRPC port");
    }
    try (RawClient plain = new RawClient(started.getPort())) {
      plain.settings();
      plain.drain();
    }
    GrpcContract.await(() -> counts.otherProtocol.get() == 2);
    assertThat(echo(started, false)).hasSize(100_000);
  }

  @Test
  void shouldStopWhileAHandshakeIsUnderWay() throws Exception {
    Server started = start(ClientAuth.NONE);
    try (RawClient silent = new RawClient(started.getPort())) {
      echo(started, false); // the other one has been accepted before
      assertThat(started.shutdownNow().awaitTermination(5, TimeUnit.SECONDS)).isTrue();
      silent.drain();
    }
  }

  /** Looks at what a call is told of its connection. */
  private final class Noting implements ServerInterceptor {
    @Override
    public <Q, R> ServerCall.Listener<Q> interceptCall(
        ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
      session.set(call.getAttributes().get(Grpc.TRANSPORT_ATTR_SSL_SESSION));
      level.set(call.getSecurityLevel());
      return next.startCall(call, headers);
    }
  }
}
