package dev.roundhouse.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.gateway.fleet.WorkerView;
import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.gateway.stream.StreamCounts;
import dev.roundhouse.gateway.stream.StreamCounts.End;
import dev.roundhouse.gateway.stream.StreamGate;
import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.ServerReply;
import dev.roundhouse.kserve.tstream.StreamOption;
import dev.roundhouse.kserve.tstream.StreamSpec;
import dev.roundhouse.kserve.tstream.StreamTensor;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.transport.memory.PeerMemory;
import io.netty.channel.unix.DomainSocketAddress;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tensor streams through a whole gateway, before workers whose every byte a test decides. */
@Timeout(180)
class GatewayStreamTest {
  private static final StreamSpec PAIR = new StreamSpec(List.of(pair("x")), List.of(pair("y")));
  private static final int LARGE = 8 << 20;

  @TempDir static Path folder;
  private static FakeWorker w0;
  private static FakeWorker w1;
  private static FakeStreams s0;
  private static FakeStreams s1;
  private static RunningGateway gateway;

  private static StreamTensor pair(String name) {
    return new StreamTensor(name, DType.F32, Shape.of(1, 2));
  }

  private static ServerReply agreed(ClientHello hello) {
    return new ServerReply(1, HelloStatus.OK, Set.of(), hello.window(), 7, PAIR, "");
  }

  @BeforeAll
  static void start() throws Exception {
    w0 = new FakeWorker("w0", "both", "left");
    w1 = new FakeWorker("w1", "both", "right");
    s0 = new FakeStreams(GatewayStreamTest::agreed);
    s1 = new FakeStreams(GatewayStreamTest::agreed, folder.resolve("w1"));
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
    s0.replies = GatewayStreamTest::agreed;
    s1.replies = GatewayStreamTest::agreed;
    s0.hellos.clear();
    s1.hellos.clear();
    RunningGateway.await("nobody is left alone", () -> seen("w0") && seen("w1"));
  }

  private static boolean seen(String worker) {
    return routes().fleet().workers().stream()
        .filter(each -> each.name().equals(worker))
        .anyMatch(each -> each.ready() && each.stream() != null);
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

  private static StreamCounts counts() {
    return gateway.bean(StreamGate.class).counts();
  }

  private static ModelRoutes routes() {
    return gateway.bean(ModelRoutes.class);
  }

  private static long held(Kept kind) {
    return gateway.bean(PeerMemory.class).held(kind);
  }

  private static Line connect() throws IOException {
    return Line.to(gateway.bean(StreamGate.class).port());
  }

  private static ClientHello hello(String model) {
    return ClientHello.of(model, null, 8);
  }

  private static FakeStreams of(String worker) {
    return worker.equals("w0") ? s0 : s1;
  }

  private static byte[] random(int bytes, long seed) {
    byte[] made = new byte[bytes];
    new Random(seed).nextBytes(made);
    return made;
  }

  private static <T> CompletableFuture<T> later(Call<T> call) {
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

  private interface Call<T> {
    T run() throws IOException;
  }

  private static long ended(End how) {
    return counts().endedEver(how);
  }

  // --- what goes well

  @ParameterizedTest
  @ValueSource(strings = {"left", "right"})
  void shouldPassEveryByteBothWays(String model) throws Exception {
    FakeStreams worker = of(model.equals("left") ? "w0" : "w1");
    byte[] there = random(LARGE, 1);
    byte[] back = random(LARGE, 2);
    ClientHello hello =
        new ClientHello(
            1, 3, Set.of(StreamOption.DEADLINE), 9, 2, 0, model, "4", "T=8", "", "", "", PAIR);
    long complete = ended(End.COMPLETE);
    boolean isLocal = model.equals("right");
    try (Line client = isLocal ? Line.to(folder.resolve("s")) : connect()) {
      ServerReply reply = client.greet(hello);
      assertThat(reply).isEqualTo(agreed(hello));
      assertThat(worker.hellos.getLast().saying("")).isEqualTo(hello);
      Line at = worker.next();
      CompletableFuture<byte[]> arrived = later(() -> at.read(LARGE));
      CompletableFuture<Line> sent = later(() -> at.send(back, new Random(4), 200_000));
      CompletableFuture<Line> sending = later(() -> client.send(there, new Random(5), 200_000));
      assertThat(client.read(LARGE)).isEqualTo(back);
      assertThat(arrived.get(60, TimeUnit.SECONDS)).isEqualTo(there);
      sending.get(60, TimeUnit.SECONDS);
      sent.get(60, TimeUnit.SECONDS);

      client.halfClose();
      assertThat(at.isOver()).isTrue();
      at.send(new byte[] {1, 2, 3}).close();
      assertThat(client.read(3)).containsExactly(1, 2, 3);
      assertThat(client.isOver()).isTrue();
    }
    RunningGateway.await("it has ended", () -> ended(End.COMPLETE) == complete + 1);
  }

  @Test
  void shouldSendOnWhatComesInOnePieceWithTheHello() throws Exception {
    byte[] first = random(20_000, 7);
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    all.writeBytes(hello("left").encoded());
    all.writeBytes(first);
    try (Line client = connect()) {
      client.send(all.toByteArray()).halfClose();
      client.reply();
      try (Line at = s0.next()) {
        assertThat(at.read(first.length)).isEqualTo(first);
        assertThat(at.isOver()).isTrue();
      }
      assertThat(client.isOver()).isTrue();
    }
  }

  @Test
  void shouldTakeAHelloByteByByte() throws Exception {
    try (Line client = connect()) {
      client.send(hello("left").encoded(), new Random(1), 1);
      assertThat(client.reply().status()).isEqualTo(HelloStatus.OK);
      s0.next().close();
    }
  }

  @Test
  void shouldSpreadStreamsAndCountThemAsWorkOfTheirWorkers() throws Exception {
    List<Line> lines = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      Line client = connect();
      lines.add(client);
      assertThat(client.greet(hello("both")).status()).isEqualTo(HelloStatus.OK);
    }
    assertThat(s0.hellos).hasSize(4);
    assertThat(s1.hellos).hasSize(4);
    assertThat(routes().ledger("w0").open()).isEqualTo(4);
    assertThat(counts().open()).isEqualTo(8);
    for (Line each : lines) {
      each.close();
    }
    for (int i = 0; i < 8; i++) {
      try (Line at = (i < 4 ? s0 : s1).next()) {
        assertThat(at.isOver()).isTrue();
      }
    }
  }

  // --- ends

  @Test
  void shouldEndAStreamWhoseWorkerHasEnded() throws Exception {
    try (Line client = connect()) {
      client.greet(hello("left"));
      s0.next().send(new byte[] {1}).close();
      assertThat(client.read(1)).containsExactly(1);
      assertThat(client.isOver()).isTrue();
      RunningGateway.await("the client does not hold it", () -> counts().connections() == 0);
    }
  }

  @Test
  void shouldPassOnAResetOfTheClient() throws Exception {
    long before = ended(End.CLIENT_LOST);
    Line client = connect();
    client.greet(hello("left"));
    try (Line at = s0.next()) {
      client.send(new byte[] {1});
      at.read(1);
      client.abort();
      assertThatThrownBy(at::isOver).hasMessageContaining("reset");
    }
    RunningGateway.await("it is counted", () -> ended(End.CLIENT_LOST) == before + 1);
  }

  @Test
  void shouldPassOnAResetOfTheWorkerAndCountItAgainstIt() throws Exception {
    long before = ended(End.WORKER_LOST);
    try (Line client = connect()) {
      client.greet(hello("left"));
      Line at = s0.next();
      client.send(new byte[] {1});
      at.read(1);
      at.abort();
      assertThatThrownBy(client::isOver).hasMessageContaining("reset");
    }
    RunningGateway.await("it is counted", () -> ended(End.WORKER_LOST) == before + 1);
    RunningGateway.await("the worker's calls say so", () -> routes().calls("w0").failed() > 0);
  }

  @Test
  void shouldNoticeAResetOfAClientThatIsNotRead() throws Exception {
    Line client = connect();
    client.greet(hello("left"));
    try (Line at = s0.next()) {
      CompletableFuture<?> sending =
          CompletableFuture.runAsync(
              () -> {
                try {
                  client.send(new byte[LARGE * 4]);
                } catch (IOException e) {
                  // it ends in the middle
                }
              },
              Thread::startVirtualThread);
      RunningGateway.await("the gateway waits", () -> held(Kept.MESSAGE) > 0);
      client.abort();
      sending.get(60, TimeUnit.SECONDS);
      assertThatThrownBy(() -> at.read(LARGE * 4)).isInstanceOf(IOException.class);
    }
  }

  // --- who does not read

  @Test
  void shouldHoldLittleForAClientThatDoesNotRead() throws Exception {
    try (Line client = connect()) {
      client.greet(hello("left"));
      Line at = s0.next();
      long before = counts().fromWorkers();
      byte[] all = random(LARGE * 4, 11);
      CompletableFuture<Line> sending = later(() -> at.send(all));
      RunningGateway.await("the client is waited for", () -> held(Kept.ANSWER) > 0);
      AtomicLong last = new AtomicLong(-1);
      long quiet = System.nanoTime() + 300_000_000;
      while (System.nanoTime() < quiet) { // nothing more is read once the sockets are full
        long now = counts().fromWorkers();
        if (last.getAndSet(now) != now) {
          quiet = System.nanoTime() + 300_000_000;
        }
        Thread.onSpinWait();
      }
      assertThat(sending).isNotDone();
      assertThat(counts().fromWorkers() - before).isLessThan(all.length - LARGE);
      assertThat(held(Kept.ANSWER)).isBetween(1L, 1L << 18);

      assertThat(client.read(all.length)).isEqualTo(all);
      assertThat(sending.get(60, TimeUnit.SECONDS)).isNotNull();
      at.close();
      assertThat(client.isOver()).isTrue();
    }
  }

  @Test
  void shouldHoldLittleForAWorkerThatDoesNotRead() throws Exception {
    try (Line client = connect()) {
      client.greet(hello("right"));
      try (Line at = s1.next()) {
        byte[] all = random(LARGE, 12);
        CompletableFuture<Line> sending = later(() -> client.send(all));
        RunningGateway.await("the worker is waited for", () -> held(Kept.MESSAGE) > 0);
        assertThat(held(Kept.MESSAGE)).isLessThan(1L << 18);
        assertThat(at.read(all.length)).isEqualTo(all);
        sending.get(60, TimeUnit.SECONDS);
      }
    }
  }

  @Test
  void shouldTakeAThousandIdleConnectionsInBoundedMemory() throws Exception {
    long before = held(Kept.CONNECTION);
    List<Line> lines = new ArrayList<>();
    for (int i = 0; i < 1_000; i++) {
      Line client = connect();
      lines.add(client);
      if (i % 10 == 0) {
        client.greet(hello("left"));
      }
    }
    RunningGateway.await("all are there", () -> counts().connections() == 1_000);
    assertThat(held(Kept.CONNECTION) - before).isEqualTo(1_000 * StreamGate.CONNECTION_BYTES);
    try (Line another = connect()) {
      another.greet(hello("left"));
      lines.add(s0.next());
    }
    for (Line each : lines) {
      each.close();
    }
    for (int i = 0; i < 100; i++) {
      s0.next().close();
    }
    RunningGateway.await(
        "all are gone", () -> counts().connections() == 0 && held(Kept.CONNECTION) == before);
  }

  // --- who takes it

  private static ServerReply refusing(HelloStatus status) {
    return new ServerReply(1, status, Set.of(), 250, 0, null, "as the worker says");
  }

  @ParameterizedTest
  @EnumSource(names = {"NO_SUCH_MODEL", "NOT_READY", "OVERLOADED"})
  void shouldAskAnotherWorkerWhereOneRefuses(HelloStatus status) throws Exception {
    s0.replies = hello -> refusing(status);
    for (int i = 0; i < 2; i++) { // whoever is asked first
      try (Line client = connect()) {
        assertThat(client.greet(hello("both"))).isEqualTo(agreed(hello("both")));
        s1.next().close();
      }
    }
    assertThat(s0.hellos).isNotEmpty();
  }

  @ParameterizedTest
  @EnumSource(names = {"NO_SUCH_MODEL", "NOT_READY", "OVERLOADED"})
  void shouldPassOnTheLastReplyWhereAllRefuse(HelloStatus status) throws Exception {
    s0.replies = hello -> refusing(status);
    s1.replies = s0.replies;
    long before = counts().refusedEver(status);
    try (Line client = connect()) {
      assertThat(client.greet(hello("both"))).isEqualTo(refusing(status));
      assertThat(client.isOver()).isTrue();
    }
    assertThat(s0.hellos).hasSize(1);
    assertThat(s1.hellos).hasSize(1);
    assertThat(counts().refusedEver(status)).isEqualTo(before + 1);
  }

  @ParameterizedTest
  @EnumSource(names = {"OTHER_SPEC", "NOT_FIXED", "UNAUTHORISED", "BAD_HELLO"})
  void shouldPassOnWhatEveryWorkerWouldRefuse(HelloStatus status) throws Exception {
    ServerReply reply = new ServerReply(1, status, Set.of(), 0, 0, PAIR, "the first difference");
    s0.replies = hello -> reply;
    s1.replies = s0.replies;
    try (Line client = connect()) {
      assertThat(client.greet(hello("both"))).isEqualTo(reply);
      assertThat(client.isOver()).isTrue();
    }
    assertThat(s0.hellos.size() + s1.hellos.size()).isEqualTo(1);
  }

  @Test
  void shouldAskAnotherWorkerWhereOneDoesNotReply() throws Exception {
    s0.replies = hello -> null;
    for (int i = 0; i < 2; i++) {
      try (Line client = connect()) {
        assertThat(client.greet(hello("both")).status()).isEqualTo(HelloStatus.OK);
        s1.next().close();
      }
    }
    assertThat(s0.hellos).isNotEmpty();
    try (Line client = connect()) {
      ServerReply reply = client.greet(hello("left"));
      assertThat(reply.status()).isEqualTo(HelloStatus.NOT_READY);
      assertThat(reply.text()).isEqualTo("worker 'w0' has not replied to a hello within 5000 ms");
    }
  }

  @Test
  void shouldAskAnotherWorkerWhereOneCannotBeReached() throws Exception {
    int free;
    try (ServerSocket socket = new ServerSocket(0)) {
      free = socket.getLocalPort();
    }
    w0.streamPort = free;
    try {
      RunningGateway.await("it is seen", () -> text(view("w0")).endsWith(":" + free));
      for (int i = 0; i < 2; i++) {
        try (Line client = connect()) {
          assertThat(client.greet(hello("both")).status()).isEqualTo(HelloStatus.OK);
          s1.next().close();
        }
      }
      try (Line client = connect()) {
        ServerReply reply = client.greet(hello("left"));
        assertThat(reply.status()).isEqualTo(HelloStatus.NOT_READY);
        assertThat(reply.text()).startsWith("worker 'w0' cannot be reached: ").contains("refused");
      }
    } finally {
      w0.streamPort = s0.port();
      RunningGateway.await("it is back", () -> text(view("w0")).endsWith(":" + w0.streamPort));
    }
  }

  @Test
  void shouldNotTellThePathOfAWorkersSocket() throws Exception {
    s1.close();
    try (Line client = connect()) {
      ServerReply reply = client.greet(hello("right"));
      assertThat(reply.status()).isEqualTo(HelloStatus.NOT_READY);
      assertThat(reply.text())
          .startsWith("worker 'w1' cannot be reached: ")
          .doesNotContain(folder.toString());
    } finally {
      Path socket = folder.resolve("w1");
      Files.deleteIfExists(socket);
      s1 = new FakeStreams(GatewayStreamTest::agreed, socket);
    }
  }

  private static WorkerView view(String worker) {
    return routes().fleet().worker(worker);
  }

  private static String text(WorkerView worker) {
    return worker.stream() instanceof DomainSocketAddress local
        ? local.path()
        : String.valueOf(worker.stream());
  }

  @Test
  void shouldPassOverWorkersThatTakeNoStreams() throws Exception {
    w0.streamPort = 0;
    try {
      RunningGateway.await("it is seen", () -> view("w0").stream() == null);
      for (int i = 0; i < 4; i++) {
        try (Line client = connect()) {
          client.greet(hello("both"));
          s1.next().close();
        }
      }
      assertThat(s0.hellos).isEmpty();
      w1.ready = false;
      RunningGateway.await("it is seen", () -> !view("w1").ready());
      try (Line client = connect()) {
        ServerReply reply = client.greet(hello("both"));
        assertThat(reply.status()).isEqualTo(HelloStatus.NOT_READY);
        assertThat(reply.text()).startsWith("no worker that is ready takes tensor streams; set");
      }
      w0.ready = false;
      RunningGateway.await("it is seen", () -> !view("w0").ready());
      try (Line client = connect()) {
        ServerReply reply = client.greet(hello("both"));
        assertThat(reply.status()).isEqualTo(HelloStatus.NOT_READY);
        assertThat(reply.text()).isEqualTo("no worker is ready");
      }
    } finally {
      w0.ready = true;
      w1.ready = true;
      w0.streamPort = s0.port();
    }
  }

  // --- hellos that are none

  static Stream<byte[]> badHellos() {
    byte[] good = hello("left").encoded();
    return Stream.of(
        "GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII),
        with(good, 0, 'X'),
        withInt(good, 8, 3),
        withInt(good, 8, 1 << 20),
        withInt(good, 8, -1),
        with(good, 44, 1),
        withInt(good, 32, 0x7fff),
        with(good, 20, 1),
        with(good, 48, 0xff),
        with(good, 49, 0),
        Arrays.copyOf(withInt(good, 8, good.length + 8), good.length + 8));
  }

  private static byte[] with(byte[] hello, int at, int value) {
    byte[] changed = hello.clone();
    changed[at] = (byte) value;
    return changed;
  }

  private static byte[] withInt(byte[] hello, int at, int value) {
    byte[] changed = hello.clone();
    ByteBuffer.wrap(changed).order(ByteOrder.LITTLE_ENDIAN).putInt(at, value);
    return changed;
  }

  @ParameterizedTest
  @MethodSource("badHellos")
  void shouldRefuseWhatIsNoHelloAndAskNobody(byte[] bytes) throws Exception {
    long before = counts().refusedEver(HelloStatus.BAD_HELLO);
    try (Line client = connect()) {
      ServerReply reply = client.send(bytes).reply();
      assertThat(reply.status()).isEqualTo(HelloStatus.BAD_HELLO);
      assertThat(reply.text()).isNotEmpty();
      assertThat(client.isOver()).isTrue();
    }
    assertThat(s0.hellos).isEmpty();
    assertThat(s1.hellos).isEmpty();
    assertThat(counts().refusedEver(HelloStatus.BAD_HELLO)).isEqualTo(before + 1);
  }

  @Test
  void shouldSurviveWhateverComesFirst() throws Exception {
    Random random = new Random(42);
    for (int i = 0; i < 300; i++) {
      byte[] bytes = hello("left").encoded();
      for (int flips = random.nextInt(4); flips >= 0; flips--) {
        bytes[random.nextInt(bytes.length)] ^= (byte) (1 << random.nextInt(8));
      }
      try (Line client = connect()) {
        client.send(bytes).halfClose();
        try {
          client.reply();
        } catch (IOException e) {
          // it was the beginning of a longer one
        }
      }
    }
    RunningGateway.await("all are over", () -> closeTaken() && counts().connections() == 0);
  }

  /** What was a hello all the same. */
  private static boolean closeTaken() {
    try {
      while (!s0.isIdle()) {
        s0.next().close();
      }
      while (!s1.isIdle()) {
        s1.next().close();
      }
      return true;
    } catch (IOException | InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void shouldRefuseAHelloThatIsTooLongWithWhatTheGatewayAdds() throws Exception {
    ClientHello long0 =
        new ClientHello(1, 1, Set.of(), 8, 1, 0, "left", "", "v".repeat(65_480), "", "", "", null);
    try (Line client = connect()) {
      ServerReply reply = client.greet(long0);
      assertThat(reply.status()).isEqualTo(HelloStatus.BAD_HELLO);
      assertThat(reply.text())
          .contains("bytes, and 65536 are allowed")
          .contains("a gateway writes");
    }
  }

  // --- when it stops

  @Test
  void shouldRefuseHellosAndLetStreamsEndWhenItStops() throws Exception {
    RunningGateway own =
        new RunningGateway(
            List.of(w0),
            "--roundhouse.gateway.stream.port=0",
            "--roundhouse.gateway.stream.address=127.0.0.1",
            "--roundhouse.gateway.shutdown.drain=30s");
    own.awaitReady(1);
    int port = own.bean(StreamGate.class).port();
    try (Line client = Line.to(port);
        Line greeting = Line.to(port)) {
      client.greet(hello("left"));
      Line at = s0.next();
      RunningGateway.await(
          "both are there", () -> own.bean(StreamGate.class).counts().connections() == 2);
      CompletableFuture<Void> closed =
          CompletableFuture.runAsync(own::close, Thread::startVirtualThread);
      assertThat(greeting.reply())
          .isEqualTo(ServerReply.refused(HelloStatus.NOT_READY, "Server exiting"));
      try (Line late = Line.to(port)) {
        assertThat(late.reply().text()).isEqualTo("Server exiting");
      }
      client.send(new byte[] {5});
      assertThat(at.read(1)).containsExactly(5);
      at.send(new byte[] {6});
      assertThat(client.read(1)).containsExactly(6);
      assertThat(closed).isNotDone();
      at.close();
      assertThat(client.isOver()).isTrue();
      client.close();
      closed.get(25, TimeUnit.SECONDS);
    }
  }

  @Test
  void shouldEndStreamsThatOutlastTheTimeToDrain() throws Exception {
    RunningGateway own =
        new RunningGateway(
            List.of(w0),
            "--roundhouse.gateway.stream.port=0",
            "--roundhouse.gateway.stream.address=127.0.0.1",
            "--roundhouse.gateway.shutdown.drain=200ms");
    own.awaitReady(1);
    try (Line client = Line.to(own.bean(StreamGate.class).port())) {
      client.greet(hello("left"));
      try (Line at = s0.next()) {
        own.close();
        assertThat(client.isOver()).isTrue();
        assertThat(at.isOver()).isTrue();
      }
    }
  }
}
