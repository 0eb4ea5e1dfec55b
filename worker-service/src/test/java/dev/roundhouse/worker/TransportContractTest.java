package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.transport.Transport;
import dev.roundhouse.transport.memory.PeerMemory;
import dev.roundhouse.worker.TransportClient.Reply;
import dev.roundhouse.worker.TransportClient.Way;
import dev.roundhouse.worker.transport.Transports;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * What every transport does alike: gRPC, HTTP, tensor streams, and the example, which comes as
 * anybody's does, in a jar beside the worker.
 */
@Timeout(120)
class TransportContractTest {
  /** Numbers that a detour by text, or by a double, would spoil: -0, subnormal, 24 bits set. */
  private static final float[] HARD = {-0.0f, 1.4e-45f, 16777215f, 0.1f};

  private static final int QUEUE = 2;
  private static final Gate GATE = new Gate();

  @TempDir static Path repository;
  @TempDir static Path jars;
  private static RunningWorker worker;
  private final List<TransportClient> clients = new ArrayList<>();

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    TestBundle.doubling(HARD.length, 1).write(repository, "hard");
    ExampleTransport.jar(jars);
    worker = worker();
  }

  private static RunningWorker worker() throws Exception {
    return new RunningWorker(
            repository,
            GATE,
            "--roundhouse.worker.stream.port=0",
            "--roundhouse.worker.stream.address=127.0.0.1",
            "--roundhouse.worker.scheduler.max-queue-depth=" + QUEUE,
            "--roundhouse.worker.server.transports-directory=" + jars,
            "--roundhouse.worker.transports.line.enabled=true",
            "--roundhouse.worker.transports.line.settings.port=0")
        .awaitLoaded();
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  @AfterEach
  void shouldHoldNothing() throws IOException {
    GATE.open();
    for (TransportClient client : clients) {
      client.close();
    }
    worker.assertHoldsNothing();
    await(() -> worker.bean(PeerMemory.class).held() == 0);
  }

  private TransportClient connect(Way way) throws IOException {
    return connect(way, worker);
  }

  private TransportClient connect(Way way, RunningWorker to) throws IOException {
    TransportClient client = way.connect(to);
    clients.add(client);
    return client;
  }

  private static Reply of(CompletableFuture<Reply> reply) throws Exception {
    return reply.get(60, TimeUnit.SECONDS);
  }

  private static void await(BooleanSupplier condition) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as("in time").isLessThan(end);
      Thread.onSpinWait();
    }
  }

  private static long count(Metric metric) {
    return worker.bean(Engine.class).reports().counters("double").orElseThrow().get(metric);
  }

  private static long open() {
    return worker.bean(Engine.class).openRequests();
  }

  /** A run that stands before the gate, with nothing behind it. */
  private CompletableFuture<Reply> block() throws IOException {
    GATE.shut();
    CompletableFuture<Reply> running = connect(Way.GRPC).infer("double", 0, 1, 1);
    GATE.awaitArrival();
    return running;
  }

  @ParameterizedTest
  @EnumSource
  void shouldGiveTheSameBits(Way way) throws Exception {
    Reply reply = of(connect(way).infer("hard", 0, HARD));

    assertThat(reply.status()).isEqualTo("OK");
    for (int i = 0; i < HARD.length; i++) {
      assertThat(Float.floatToRawIntBits(reply.values()[i]))
          .as("of %s", HARD[i])
          .isEqualTo(Float.floatToRawIntBits(HARD[i] * 2));
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldRefuseWhatIsWrongAndGoOn(Way way) throws Exception {
    TransportClient client = connect(way);

    assertThat(of(client.infer("absent", 0, 1, 2)).status()).isEqualTo("NOT_FOUND");
    assertThat(of(client.infer("double", 0, 1, 2, 3)).status()).isEqualTo("INVALID_ARGUMENT");
    assertThat(of(client.infer("double", 0, 1, 2)).values()).containsExactly(2, 4);
  }

  @ParameterizedTest
  @EnumSource
  void shouldSayThatTheQueueIsFull(Way way) throws Exception {
    CompletableFuture<Reply> running = block();
    List<CompletableFuture<Reply>> waiting = new ArrayList<>();
    for (int i = 0; i < QUEUE; i++) {
      waiting.add(connect(way).infer("double", 0, 3, 4));
      int under = i + 2;
      await(() -> open() == under);
    }
    long before = count(Metric.REFUSED_FULL);

    assertThat(of(connect(way).infer("double", 0, 5, 6)).status()).isEqualTo("RESOURCE_EXHAUSTED");

    assertThat(count(Metric.REFUSED_FULL) - before).isOne();
    GATE.open();
    assertThat(of(running).values()).containsExactly(2, 2);
    for (CompletableFuture<Reply> each : waiting) {
      assertThat(of(each).values()).containsExactly(6, 8);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldHonourDeadlines(Way way) throws Exception {
    CompletableFuture<Reply> running = block();
    long before = late();
    Engine engine = worker.bean(Engine.class);

    CompletableFuture<Reply> late = connect(way).infer("double", 50, 1, 2);

    await(() -> open() == 2 || late.isDone()); // it waits, or is known to be too late already
    long end = engine.nanoTime() + TimeUnit.MILLISECONDS.toNanos(50);
    await(() -> engine.nanoTime() > end);
    GATE.open();
    assertThat(of(late).status()).isEqualTo("DEADLINE_EXCEEDED");
    assertThat(late() - before).isOne();
    assertThat(of(running).values()).containsExactly(2, 2);
  }

  private static long late() {
    return count(Metric.REFUSED_LATE)
        + count(Metric.SHED_DEADLINE_PASSED)
        + count(Metric.SHED_TOO_LITTLE_TIME);
  }

  @ParameterizedTest
  @EnumSource
  void shouldTakeBackWhatWaits(Way way) throws Exception {
    CompletableFuture<Reply> running = block();
    long before = count(Metric.CANCELLED);
    TransportClient client = connect(way);
    CompletableFuture<Reply> waiting = client.infer("double", 0, 1, 2);
    await(() -> open() == 2);

    client.abandon();

    await(() -> open() == 1);
    assertThat(count(Metric.CANCELLED) - before).isOne();
    assertThat(of(waiting).status()).isIn("CANCELLED", "UNAVAILABLE");
    GATE.open();
    assertThat(of(running).values()).containsExactly(2, 2);
  }

  @ParameterizedTest
  @EnumSource
  void shouldCountEachRequestOnce(Way way) throws Exception {
    long accepted = count(Metric.ACCEPTED);
    long completed = count(Metric.COMPLETED);
    TransportClient client = connect(way);

    for (int i = 0; i < 10; i++) {
      assertThat(of(client.infer("double", 0, i, 1)).values()).containsExactly(2 * i, 2);
    }

    assertThat(count(Metric.ACCEPTED) - accepted).isEqualTo(10);
    await(() -> count(Metric.COMPLETED) - completed == 10);
  }

  @ParameterizedTest
  @EnumSource
  void shouldAnswerWhatItHasTakenWhenItDrainsAndTakeNoMore(Way way) throws Exception {
    try (RunningWorker other = worker()) {
      Transport transport =
          other.bean(Transports.class).all().stream()
              .filter(each -> each.name().equals(way.port()))
              .findFirst()
              .orElseThrow();
      TransportClient client = connect(way, other);
      GATE.shut();
      CompletableFuture<Reply> taken = client.infer("double", 0, 1, 2);
      GATE.awaitArrival();

      transport.drain();
      transport.drain();

      assertThat(late(way, other)).isNotEqualTo("OK");
      GATE.open();
      assertThat(of(taken).values()).containsExactly(2, 4);
      other.assertHoldsNothing();
      other.stop();
    }
  }

  /** What a client that comes too late is told. */
  private String late(Way way, RunningWorker to) throws Exception {
    try {
      return of(connect(way, to).infer("double", 100, 1, 2)).status();
    } catch (IOException e) {
      return String.valueOf(e.getMessage());
    }
  }
}
