package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.control.proto.ControlServiceGrpc;
import dev.roundhouse.kserve.control.proto.ModelControlStatusRequest;
import dev.roundhouse.kserve.proto.RepositoryModelLoadRequest;
import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.RecordKind;
import dev.roundhouse.kserve.tstream.ServerReply;
import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.access.AccessProperties;
import dev.roundhouse.platform.access.JwtProperties;
import dev.roundhouse.platform.lifecycle.FailStopExit;
import dev.roundhouse.worker.StreamPeer.Said;
import dev.roundhouse.worker.transport.tstream.StreamLoad;
import dev.roundhouse.worker.transport.tstream.StreamLoad.End;
import dev.roundhouse.worker.transport.tstream.StreamServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** How tensor streams end that their clients do not end, and who gets none. */
@Timeout(120)
class StreamEndsTest {
  private static final String PORT = "--roundhouse.worker.stream.port=0";
  private static final String ADDRESS = "--roundhouse.worker.stream.address=127.0.0.1";

  /** Floats of a message; 64 of them are more than sockets hold for a client that does not read. */
  private static final int WIDE = 1 << 18;

  @TempDir Path repository;
  @TempDir Path folder;
  private final Gate gate = new Gate();

  private RunningWorker start(String... settings) throws Exception {
    List<String> all = new ArrayList<>(List.of(PORT, ADDRESS));
    all.addAll(List.of(settings));
    return new RunningWorker(repository, gate, all.toArray(String[]::new)).awaitLoaded();
  }

  private static StreamPeer connect(RunningWorker worker) throws IOException {
    return new StreamPeer(worker.port("stream"));
  }

  private static StreamLoad load(RunningWorker worker) {
    return worker.bean(StreamServer.class).load();
  }

  private static void await(BooleanSupplier condition) {
    long end = System.nanoTime() + 30_000_000_000L;
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as("in time").isLessThan(end);
      Thread.onSpinWait();
    }
  }

  private static ClientHello hello(String model, int window, String token) {
    return new ClientHello(1, 1, Set.of(), window, 1, 0, model, "", "", token, "", "", null);
  }

  @Test
  void shouldGoOnWhenAModelIsReplacedByOneWithTheSameTensorsAndEndWithOthers() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    try (RunningWorker worker =
            start(
                "--roundhouse.worker.repository.mode=explicit",
                "--roundhouse.worker.repository.load=double");
        StreamPeer peer = connect(worker)) {
      ServerReply reply = peer.greet(hello("double", 4, ""));
      assertThat(reply.generation()).isEqualTo(1);
      peer.send(StreamPeer.floats(1, 2));
      assertThat(peer.result().floats()).containsExactly(2, 4);

      replace(worker, TestBundle.doubling(2, 1, 4));
      peer.send(StreamPeer.floats(3, 4));
      Said notice = peer.next();
      assertThat(notice.kind()).isEqualTo(RecordKind.GENERATION);
      assertThat(notice.payload().order(ByteOrder.LITTLE_ENDIAN).getLong()).isEqualTo(2);
      assertThat(peer.result().floats()).containsExactly(6, 8);

      replace(worker, TestBundle.doubling(3, 1, 4));
      peer.send(StreamPeer.floats(5, 6));
      Said last = peer.next();
      assertThat(last.kind()).isEqualTo(RecordKind.CLOSED);
      assertThat(last.sequence()).as("the last that was taken").isEqualTo(1);
      assertThat(last.text()).contains("'double' was replaced").contains("[1,3]");
      assertThat(peer.isOver()).isTrue();
      assertThat(load(worker).endedEver(End.REPLACED)).isEqualTo(1);
      worker.assertHoldsNothing();
    }
  }

  private void replace(RunningWorker worker, TestBundle by) {
    by.write(repository, "double");
    worker
        .stub()
        .repositoryModelLoad(
            RepositoryModelLoadRequest.newBuilder().setModelName("double").build());
  }

  @Test
  void shouldAnswerWhatItTookBeforeItStopsAndSayWhichThatWas() throws Exception {
    TestBundle.doubling(2, 1, 4).write(repository, "double");
    RunningWorker worker = start();
    try (StreamPeer peer = connect(worker);
        StreamPeer idle = connect(worker)) {
      idle.greet(hello("double", 8, ""));
      peer.greet(hello("double", 8, ""));
      gate.shut();
      peer.send(StreamPeer.floats(1, 2), StreamPeer.floats(3, 4));
      await(() -> load(worker).open() == 2);
      Thread stopping = Thread.ofPlatform().name("stop").start(worker::stop);
      Said notice = peer.next();
      assertThat(notice.kind()).isEqualTo(RecordKind.DRAINING);
      assertThat(notice.sequence()).isEqualTo(1);
      assertThat(idle.next().sequence()).as("of none").isEqualTo(-1);
      assertThat(idle.isOver()).isTrue();
      peer.send(StreamPeer.floats(5, 6)); // not taken
      gate.open();
      peer.result();
      peer.result();
      assertThat(peer.isOver()).isTrue();
      assertThat(stopping.join(Duration.ofSeconds(30))).isTrue();
    } finally {
      worker.close();
    }
  }

  @Test
  void shouldRunStreamsForTokensAloneAndHoldThemAgainstTheirQuota() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    String of = "--roundhouse.worker.access.";
    try (RunningWorker worker =
        start(
            of + "inference=token",
            of + "identities.team.token-files=" + tokens("team"),
            of + "identities.team.models=other",
            of + "identities.slow.token-files=" + tokens("slow"),
            of + "identities.slow.requests-per-second=1")) {
      assertRefused(worker, hello("double", 4, ""), "needs a bearer token");
      assertRefused(worker, hello("double", 4, "wrong"), "is refused");
      assertRefused(worker, hello("double", 4, "team"), "double");
      try (StreamPeer peer = connect(worker)) {
        assertThat(peer.greet(hello("double", 50, "slow")).status()).isEqualTo(HelloStatus.OK);
        peer.send(new byte[50 * 8]);
        int served = 0;
        for (int i = 0; i < 50; i++) {
          Said result = peer.result();
          served += result.status() == 0 ? 1 : 0;
          assertThat(result.status()).as(result.text()).isIn(0, 8);
        }
        assertThat(served).isBetween(1, 10);
      }
    }
  }

  @Test
  void shouldTellGatewaysItsPortAndBelieveWhatTheySign() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    Path key = Files.writeString(folder.resolve("key"), "0123456789abcdef0123456789abcdef");
    String of = "--roundhouse.worker.access.";
    try (RunningWorker worker =
            start(
                of + "inference=token",
                of + "gateway-key-files=" + key,
                of + "identities.team.token-files=" + tokens("team"),
                of + "identities.team.models=other");
        Access gateway =
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
                "gateway.access",
                false,
                InstantSource.system())) {
      assertThat(
              ControlServiceGrpc.newBlockingStub(worker.channel())
                  .modelControlStatus(ModelControlStatusRequest.getDefaultInstance())
                  .getStreamPort())
          .isEqualTo(worker.port("stream"));
      String sealed = gateway.sealedSelf();
      String says = "roundhouse-caller: 5\n";
      try (StreamPeer peer = connect(worker)) {
        ServerReply reply =
            peer.greet(hello("double", 1, says + "roundhouse-sealed-caller: " + sealed));
        assertThat(reply.status()).as(reply.text()).isEqualTo(HelloStatus.OK);
        peer.send(new byte[8]);
        assertThat(peer.result().status()).isZero();
      }
      assertRefused(
          worker,
          hello("double", 1, says + "roundhouse-sealed-caller: " + sealed + "x"),
          "is signed by none of");
      assertRefused(worker, hello("double", 1, says), "needs a bearer token");
      assertRefused(
          worker, hello("double", 1, says + "authorization: Bearer team"), "may not use model");
    }
  }

  private static void assertRefused(RunningWorker worker, ClientHello hello, String text)
      throws IOException {
    try (StreamPeer peer = connect(worker)) {
      ServerReply reply = peer.greet(hello);
      assertThat(reply.status()).as(reply.text()).isEqualTo(HelloStatus.UNAUTHORISED);
      assertThat(reply.text()).contains(text);
      assertThat(reply.spec()).isNull();
    }
  }

  private Path tokens(String token) throws Exception {
    byte[] hash =
        MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8));
    return Files.writeString(
        folder.resolve(token), "sha256:" + HexFormat.of().formatHex(hash) + "\n");
  }

  @Test
  void shouldTellFurtherClientsToComeAgainWhenThereAreEnough() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    try (RunningWorker worker = start("--roundhouse.worker.stream.max-connections=2");
        StreamPeer first = connect(worker);
        StreamPeer second = connect(worker)) {
      first.greet(hello("double", 4, ""));
      second.greet(hello("double", 4, ""));
      try (StreamPeer third = connect(worker)) {
        ServerReply reply = third.greet(hello("double", 4, ""));
        assertThat(reply.status()).isEqualTo(HelloStatus.OVERLOADED);
        assertThat(reply.window()).as("milliseconds").isEqualTo(1000);
        assertThat(reply.text()).contains("max-connections is 2");
        assertThat(third.isOver()).isTrue();
      }
      first.close();
      await(() -> load(worker).connections() == 1);
      try (StreamPeer third = connect(worker)) {
        assertThat(third.greet(hello("double", 4, "")).status()).isEqualTo(HelloStatus.OK);
      }
    }
  }

  @Test
  void shouldEndWhoReadsNothingAndServeOthersMeanwhile() throws Exception {
    TestBundle.doubling(WIDE, 1).write(repository, "wide");
    TestBundle.doubling(2, 1).write(repository, "double");
    try (RunningWorker worker = start("--roundhouse.worker.server.unread-answer-timeout=2s");
        StreamPeer silent = connect(worker);
        StreamPeer other = connect(worker)) {
      assertThat(silent.greet(hello("wide", 1000, "")).window())
          .as("64 MB of messages")
          .isEqualTo(64);
      Thread sending = Thread.ofPlatform().start(() -> sendUntilEnded(silent));
      other.greet(hello("double", 1, ""));
      for (int i = 0; load(worker).endedEver(End.UNREAD) == 0; i++) {
        other.send(StreamPeer.floats(i, i));
        assertThat(other.result().floats()).containsExactly(2 * i, 2 * i);
      }
      other.close();
      sending.join();
      await(() -> load(worker).connections() == 0 && load(worker).open() == 0);
      await(() -> worker.bean(Engine.class).heldBytes() == 0);
    }
  }

  private static void sendUntilEnded(StreamPeer peer) {
    byte[] message = new byte[WIDE * Float.BYTES];
    try {
      for (int i = 0; i < 64; i++) {
        peer.send(message);
      }
    } catch (IOException e) {
      // the server has had enough
    }
  }

  @Test
  void shouldEndEveryMessageAndTakeNoStreamWhenTheDeviceHangs() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    try (RunningWorker worker =
            start(
                "--roundhouse.worker.watchdog.device-call=300ms",
                "--roundhouse.worker.watchdog.dispatch-turn=300ms",
                "--roundhouse.worker.shutdown.drain=1s");
        StreamPeer peer = connect(worker)) {
      peer.greet(hello("double", 4, ""));
      gate.shut();
      peer.send(StreamPeer.floats(1, 2));
      gate.awaitArrival();
      peer.send(StreamPeer.floats(3, 4), StreamPeer.floats(5, 6));
      for (int i = 0; i < 3; i++) {
        Said result = peer.result();
        assertThat(result.status()).as(result.text()).isEqualTo(14);
      }
      assertThat(worker.bean(Engine.class).heldBytes())
          .as("of what the device may still read")
          .isPositive();
      try (StreamPeer late = connect(worker)) {
        ServerReply reply = late.greet(hello("double", 4, ""));
        assertThat(reply.status()).as(reply.text()).isEqualTo(HelloStatus.NOT_READY);
      }
      assertThat(worker.exited().get(30, TimeUnit.SECONDS)).isEqualTo(FailStopExit.CODE);
      gate.open();
    }
  }

  /** A thousand connections that say hello and no more, beside one that works. */
  @Test
  void shouldServeOneAmongAThousandIdleConnections() throws Exception {
    TestBundle.doubling(2, 1, 4).write(repository, "double");
    List<StreamPeer> idle = new ArrayList<>();
    try (RunningWorker worker = start()) {
      long before = worker.bean(Engine.class).heldBytes();
      for (int i = 0; i < 1000; i++) {
        idle.add(connect(worker));
        assertThat(idle.get(i).greet(hello("double", 256, "")).status()).isEqualTo(HelloStatus.OK);
      }
      assertThat(worker.bean(Engine.class).heldBytes()).as("of requests").isEqualTo(before);
      try (StreamPeer busy = connect(worker)) {
        busy.greet(hello("double", 1, ""));
        for (int i = 0; i < 500; i++) {
          busy.send(StreamPeer.floats(i, i));
          assertThat(busy.result().floats()).containsExactly(2 * i, 2 * i);
        }
      }
      for (StreamPeer each : idle) {
        each.send(StreamPeer.floats(1, 2)); // and all of them at once
      }
      for (StreamPeer each : idle) {
        assertThat(each.result().floats()).containsExactly(2, 4);
      }
    } finally {
      for (StreamPeer each : idle) {
        each.close();
      }
    }
  }

  @Test
  void shouldSayWhatStreamsDoAtTheOperatorsPort() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    try (RunningWorker worker = start();
        StreamPeer peer = connect(worker)) {
      peer.greet(hello("double", 8, ""));
      peer.send(new byte[3 * 8]);
      for (int i = 0; i < 3; i++) {
        peer.result();
      }
      assertThat(worker.get("metrics", "/metrics"))
          .contains("roundhouse_stream_connections_open 1.0")
          .contains("roundhouse_stream_messages_total 3.0")
          .contains("roundhouse_stream_messages_open{stage=\"waiting\"} 0.0")
          .contains("roundhouse_stream_ended_total{reason=\"window\"} 0.0")
          .contains("roundhouse_stream_hellos_refused_total{status=\"no_such_model\"} 0.0");
    }
  }

  @Test
  void shouldNameThePortOrThePathThatIsTaken() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    try (ServerSocket other = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      String port = "--roundhouse.worker.stream.port=" + other.getLocalPort();
      assertThatThrownBy(() -> new RunningWorker(repository, gate, port, ADDRESS).close())
          .hasStackTraceContaining("roundhouse.worker.stream.port=" + other.getLocalPort())
          .hasStackTraceContaining("Address already in use");
    }
    Path file = Files.writeString(folder.resolve("file"), "kept");
    String socket = "--roundhouse.worker.stream.socket=" + file;
    assertThatThrownBy(() -> start(socket).close())
        .hasStackTraceContaining(file + " is there already, and is no socket");
    assertThat(file).hasContent("kept");
  }
}
