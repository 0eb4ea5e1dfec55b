package dev.roundhouse.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.gateway.route.Ejection;
import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.gateway.stream.StreamCounts;
import dev.roundhouse.gateway.stream.StreamCounts.End;
import dev.roundhouse.gateway.stream.StreamGate;
import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.ServerReply;
import dev.roundhouse.kserve.tstream.StreamSpec;
import dev.roundhouse.kserve.tstream.StreamTensor;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.transport.memory.PeerMemory;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A whole gateway for tensor streams, before workers whose every byte a test decides. */
@Timeout(180)
abstract class StreamsThroughGateway {
  static final StreamSpec PAIR = new StreamSpec(List.of(pair("x")), List.of(pair("y")));
  static final int LARGE = 8 << 20;

  @TempDir static Path folder;
  static FakeWorker w0;
  static FakeWorker w1;
  static FakeStreams s0;
  static FakeStreams s1;
  static RunningGateway gateway;

  private static StreamTensor pair(String name) {
    return new StreamTensor(name, DType.F32, Shape.of(1, 2));
  }

  static ServerReply agreed(ClientHello hello) {
    return new ServerReply(1, HelloStatus.OK, Set.of(), hello.window(), 7, PAIR, "");
  }

  @BeforeAll
  static void start() throws Exception {
    w0 = new FakeWorker("w0", "both", "left");
    w1 = new FakeWorker("w1", "both", "right");
    s0 = new FakeStreams(StreamsThroughGateway::agreed);
    s1 = new FakeStreams(StreamsThroughGateway::agreed, folder.resolve("w1"));
    w0.streamPort = s0.port();
    gateway =
        new RunningGateway(
            List.of(w0, w1),
            "--roundhouse.gateway.workers.w1.stream=" + folder.resolve("w1"),
            "--roundhouse.gateway.stream.port=0",
            "--roundhouse.gateway.stream.address=127.0.0.1",
            "--roundhouse.gateway.stream.socket=" + folder.resolve("s"),
            "--roundhouse.gateway.stream.max-connections=1500",
            "--roundhouse.gateway.stream.handshake-timeout=20s",
            "--roundhouse.gateway.ejection.time=10ms");
    gateway.awaitReady(2);
  }

  @AfterAll
  static void stop() throws Exception {
    gateway.close();
    w0.close();
    w1.close();
    s0.close();
    s1.close();
  }

  @BeforeEach
  void shouldBeginWithWorkersThatTakeStreams() throws Exception {
    s0.replies = StreamsThroughGateway::agreed;
    s1.replies = StreamsThroughGateway::agreed;
    s0.instead = null;
    s1.instead = null;
    s0.hellos.clear();
    s1.hellos.clear();
    RunningGateway.await("nobody is left alone", () -> seen("w0") && seen("w1"));
  }

  static boolean seen(String worker) {
    return routes().fleet().workers().stream()
        .filter(each -> each.name().equals(worker))
        .anyMatch(
            each ->
                each.ready()
                    && each.stream() != null
                    && !gateway.bean(Ejection.class).report(worker).ejected());
  }

  @AfterEach
  void shouldHaveLeftNothingBehind() throws Exception {
    RunningGateway.await("no connection is left", () -> counts().connections() == 0);
    assertThat(counts().open()).as("streams that have not ended").isZero();
    assertThat(List.of(s0.isIdle(), s1.isIdle()))
        .as("streams that no test took")
        .containsOnly(true);
    RunningGateway.await(
        "no work is counted any more",
        () -> routes().ledger("w0").open() == 0 && routes().ledger("w1").open() == 0);
    RunningGateway.await(
        "no memory is counted any more", () -> held(Kept.MESSAGE) == 0 && held(Kept.ANSWER) == 0);
  }

  static StreamCounts counts() {
    return gateway.bean(StreamGate.class).counts();
  }

  static ModelRoutes routes() {
    return gateway.bean(ModelRoutes.class);
  }

  static long held(Kept kind) {
    return gateway.bean(PeerMemory.class).held(kind);
  }

  static Line connect() throws IOException {
    return Line.to(gateway.bean(StreamGate.class).port());
  }

  static ClientHello hello(String model) {
    return ClientHello.of(model, null, 8);
  }

  static FakeStreams of(String worker) {
    return worker.equals("w0") ? s0 : s1;
  }

  static byte[] random(int bytes, long seed) {
    byte[] made = new byte[bytes];
    new Random(seed).nextBytes(made);
    return made;
  }

  static <T> CompletableFuture<T> later(Call<T> call) {
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            return call.run();
          } catch (IOException e) {
            throw new AssertionError(e);
          }
        },
        Thread::startVirtualThread);
  }

  interface Call<T> {
    T run() throws IOException;
  }

  static long ended(End how) {
    return counts().endedEver(how);
  }
}
