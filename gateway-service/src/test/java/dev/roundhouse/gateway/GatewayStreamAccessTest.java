package dev.roundhouse.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.gateway.stream.StreamGate;
import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.ServerReply;
import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.access.AccessProperties;
import dev.roundhouse.platform.access.Admitted;
import dev.roundhouse.platform.access.JwtProperties;
import dev.roundhouse.platform.tstream.HelloRefusedException;
import dev.roundhouse.platform.tstream.HelloToken;
import dev.roundhouse.platform.tstream.StreamAccess;
import dev.roundhouse.transport.memory.PeerMemory;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Who may send in streams through a gateway, and what its workers are told of them. */
@Timeout(180)
class GatewayStreamAccessTest {
  private static final InetSocketAddress ELSEWHERE = new InetSocketAddress("10.0.0.7", 1);
  private static final String OF = "--roundhouse.gateway.access.";

  @TempDir Path folder;

  private Path key;
  private Path tokens;
  private FakeWorker worker;
  private FakeStreams streams;
  private @Nullable RunningGateway gateway;

  @BeforeEach
  void start() throws Exception {
    key = Files.writeString(folder.resolve("key"), "0123456789abcdef0123456789abcdef");
    byte[] hash =
        MessageDigest.getInstance("SHA-256").digest("right".getBytes(StandardCharsets.UTF_8));
    tokens =
        Files.writeString(folder.resolve("tokens"), "sha256:" + HexFormat.of().formatHex(hash));
    worker = new FakeWorker("w0", "m", "other");
    streams =
        new FakeStreams(
            hello -> new ServerReply(1, HelloStatus.OK, Set.of(), hello.window(), 0, null, ""));
    worker.streamPort = streams.port();
  }

  @AfterEach
  void stop() throws Exception {
    if (gateway != null) {
      gateway.close();
    }
    worker.close();
    streams.close();
  }

  private void before(String... settings) throws Exception {
    List<String> all = new ArrayList<>(List.of(settings));
    all.add("--roundhouse.gateway.stream.port=0");
    all.add("--roundhouse.gateway.stream.address=127.0.0.1");
    gateway = new RunningGateway(List.of(worker), all.toArray(String[]::new));
    gateway().awaitReady(1);
  }

  private RunningGateway gateway() {
    return Objects.requireNonNull(gateway);
  }

  private ServerReply greet(String model, String token) throws Exception {
    try (Line client = Line.to(gateway().bean(StreamGate.class).port())) {
      ServerReply reply = client.greet(ClientHello.of(model, null, 1).saying(token));
      if (reply.status() == HelloStatus.OK) {
        streams.next().close();
      }
      return reply;
    }
  }

  /** As a worker that has the gateway's key, and asks for a token. */
  private Admitted judged(ClientHello hello) throws Exception {
    try (Access worker =
        new Access(
            new AccessProperties(
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                JwtProperties.NONE,
                Map.of(),
                List.of(key)),
            "worker.access",
            true,
            InstantSource.system())) {
      return Objects.requireNonNull(
          new StreamAccess(worker).admit(hello, HelloToken.read(hello.token()), ELSEWHERE, null));
    }
  }

  private String[] guarded() {
    return new String[] {
      OF + "inference=token",
      OF + "gateway-key-files=" + key,
      OF + "identities.team.token-files=" + tokens,
      OF + "identities.team.models=m",
      OF + "identities.team.tenant=vision",
      OF + "identities.team.may=inference"
    };
  }

  @Test
  void shouldJudgeTheTokenAndTellTheWorkerWhoseItIs() throws Exception {
    before(guarded());
    assertThat(greet("m", "").status()).isEqualTo(HelloStatus.UNAUTHORISED);
    ServerReply wrong = greet("m", "wrong");
    assertThat(wrong.status()).isEqualTo(HelloStatus.UNAUTHORISED);
    assertThat(wrong.text()).contains("the bearer token is not known here");
    ServerReply other = greet("other", "right");
    assertThat(other.status()).isEqualTo(HelloStatus.UNAUTHORISED);
    assertThat(other.text()).contains("'team' may not use model 'other'");
    assertThat(streams.hellos).isEmpty();

    assertThat(greet("m", "right").status()).isEqualTo(HelloStatus.OK);
    ClientHello told = streams.hellos.getFirst();
    assertThat(told.token()).doesNotContain("right");
    Admitted caller = judged(told);
    assertThat(caller.name()).isEqualTo("team");
    assertThat(caller.tenant()).isEqualTo("vision");
    assertThat(HelloToken.read(told.token()).caller())
        .isEqualTo(Integer.toString(PeerMemory.peerNumber(new InetSocketAddress("127.0.0.1", 1))));
  }

  @Test
  void shouldBelieveNoClientThatSpeaksAsAGateway() throws Exception {
    before(guarded());
    assertThat(greet("m", "right").status()).isEqualTo(HelloStatus.OK);
    String sealed = streams.hellos.getFirst().token();
    ServerReply replayed = greet("m", sealed);
    assertThat(replayed.status()).isEqualTo(HelloStatus.UNAUTHORISED);
    assertThat(streams.hellos).hasSize(1);
    assertThat(greet("m", "roundhouse-caller: 9\nauthorization: Bearer right").status())
        .isEqualTo(HelloStatus.OK);
    assertThat(HelloToken.read(streams.hellos.getLast().token()).caller()).isNotEqualTo("9");
    assertThat(judged(streams.hellos.getLast()).name()).isEqualTo("team");
  }

  @Test
  void shouldCountAStreamAsOneRequestOfItsCaller() throws Exception {
    List<String> settings = new ArrayList<>(List.of(guarded()));
    settings.add(OF + "identities.team.requests-per-second=0.001");
    before(settings.toArray(String[]::new));
    assertThat(greet("m", "right").status()).isEqualTo(HelloStatus.OK);
    ServerReply second = greet("m", "right");
    assertThat(second.status()).isEqualTo(HelloStatus.OVERLOADED);
    assertThat(second.text()).contains("'team' has used up");
  }

  @Test
  void shouldPassATokenOnWhereItHasNoKeyToSignWith() throws Exception {
    before();
    assertThat(greet("m", "theirs").status()).isEqualTo(HelloStatus.OK);
    HelloToken told = HelloToken.read(streams.hellos.getFirst().token());
    assertThat(told.authorization()).isEqualTo("Bearer theirs");
    assertThat(told.sealed()).isNull();
    assertThat(greet("m", "roundhouse-caller: 9\nroundhouse-sealed-caller: 1|forged").status())
        .isEqualTo(HelloStatus.OK);
    HelloToken forged = HelloToken.read(streams.hellos.getLast().token());
    assertThat(forged.authorization()).isNull();
    assertThat(forged.sealed()).isNull();
    assertThat(forged.caller()).isNotNull().isNotEqualTo("9");
  }

  @Test
  void shouldNotBelieveWhatNoKeyHasSigned() throws Exception {
    before();
    ClientHello forged =
        ClientHello.of("m", null, 1)
            .saying("roundhouse-caller: 9\nroundhouse-sealed-caller: 1|forged");
    try {
      judged(forged);
    } catch (HelloRefusedException e) {
      assertThat(e.status()).isEqualTo(HelloStatus.UNAUTHORISED);
      assertThat(e).hasMessageContaining("is signed by none of");
      return;
    }
    throw new AssertionError("a forged statement was believed");
  }
}
