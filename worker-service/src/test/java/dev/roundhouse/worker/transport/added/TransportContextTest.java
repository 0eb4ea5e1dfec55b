package dev.roundhouse.worker.transport.added;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.ReplySink;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.transport.Caller;
import dev.roundhouse.engine.transport.CallerCredentials;
import dev.roundhouse.engine.transport.CallerUse;
import dev.roundhouse.engine.transport.ClientConnection;
import dev.roundhouse.engine.transport.ClientRefusedException;
import dev.roundhouse.engine.transport.ClientRefusedException.Reason;
import dev.roundhouse.engine.transport.TransportRequest;
import dev.roundhouse.engine.transport.TransportSettings;
import dev.roundhouse.pjrt.MappedCopy;
import dev.roundhouse.platform.access.AccessProperties;
import dev.roundhouse.platform.access.AccessTest;
import dev.roundhouse.platform.access.JwtProperties;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.transport.memory.PeerMemory;
import dev.roundhouse.worker.config.TraceProperties;
import dev.roundhouse.worker.trace.Tracing;
import dev.roundhouse.worker.transport.EngineMemory;
import dev.roundhouse.worker.transport.Inference;
import dev.roundhouse.worker.transport.ReceiptOrigin;
import dev.roundhouse.worker.transport.Tenants;
import dev.roundhouse.worker.transport.shm.ClientRegions;
import dev.roundhouse.worker.transport.shm.CudaAccess;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.util.unit.DataSize;

/** What a transport is given, and what the server holds against it. */
@Timeout(60)
class TransportContextTest {
  private static final InetSocketAddress CLIENT = new InetSocketAddress("10.0.0.7", 4242);
  private static final int MOST_CONNECTIONS = 2;

  @TempDir Path repository;

  private volatile CountDownLatch gate = new CountDownLatch(0);
  private final CountDownLatch arrived = new CountDownLatch(1);
  private final LiveEngine engine =
      new LiveEngine(
          EngineOptions.builder().build(),
          (program, arguments, results) -> {
            CountDownLatch shut = gate;
            if (shut.getCount() > 0) {
              arrived.countDown();
              awaitQuietly(shut);
            }
            TestBundle.DOUBLE.apply(program, arguments, results);
          });
  private final PeerMemory memory = new PeerMemory(new EngineMemory(engine.engine()));
  private final WorkerContext context = context();

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private WorkerContext context() {
    return new WorkerContext(
        "tested",
        new AddedTransports.Services(
            inference(),
            AccessTest.access(Map.of()),
            new ClientText(List.of()),
            memory,
            MOST_CONNECTIONS,
            "the.limit",
            () -> true),
        new EngineModels(engine.engine(), () -> true),
        new TransportSettings("prefix", Map.of()),
        TransportContextTest.class.getClassLoader());
  }

  private Inference inference() {
    ClientRegions none =
        new ClientRegions(
            new ClientRegions.Settings(false, List.of(), 1), MappedCopy::copy, CudaAccess.NO_GPU);
    TraceProperties off =
        new TraceProperties(
            "",
            List.of(TraceProperties.Level.OFF),
            1000,
            -1,
            0,
            100,
            DataSize.ofGigabytes(1),
            DataSize.ofKilobytes(64));
    AccessProperties open =
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
            List.of());
    return new Inference(
        engine.engine(),
        none,
        new Tracing(off, engine.engine(), false).tracer(),
        null,
        new ReceiptOrigin("here/1", "cpu:0 a device"),
        Tenants.of(Map.of(), open, ""),
        null,
        null);
  }

  @BeforeEach
  void load() {
    engine.load(TestBundle.doubling(2, 1).write(repository, "m"));
    context.answers().start();
  }

  @AfterEach
  void shouldLeaveNothing() {
    gate.countDown();
    context.end();
    LiveEngine.await("its thread has ended", () -> !isTelling());
    assertThat(context.counts().connections()).isZero();
    assertThat(context.counts().open()).isZero();
    engine.assertWell();
    assertThat(memory.held()).isZero();
    engine.close();
  }

  private static boolean isTelling() {
    return Thread.getAllStackTraces().keySet().stream()
        .anyMatch(thread -> thread.getName().equals("transport-tested"));
  }

  private ClientConnection connect() throws ClientRefusedException {
    return context.connect(CLIENT, () -> {});
  }

  private static void submit(ClientConnection connection, ReplySink sink)
      throws ClientRefusedException {
    Caller caller = connection.admit(CallerUse.INFERENCE, CallerCredentials.NONE);
    var unused =
        connection.submit(
            caller,
            TransportRequest.of("m", List.of(Floats.input("x", new long[] {1, 2}, 1, 2))),
            sink);
  }

  private static ClientRefusedException refusal(Reason reason, ThrowingCallable call) {
    ClientRefusedException refusal = catchThrowableOfType(ClientRefusedException.class, call);
    assertThat(refusal).isNotNull();
    assertThat(refusal.reason()).isEqualTo(reason);
    return refusal;
  }

  @Test
  void shouldAnswerAndCount() throws Exception {
    ReplySink sink = new ReplySink();
    try (ClientConnection connection = connect()) {
      submit(connection, sink);
      ReplySink.Reply reply = LiveEngine.get(sink.reply());
      assertThat(Floats.of(reply.outputs().getFirst())).containsExactly(2, 4);
      assertThat(context.counts().requestsEver()).isOne();
      assertThat(context.counts().connections()).isOne();
      assertThat(context.counts().open()).isZero();
    }
  }

  @Test
  void shouldTellWhatRanWhenTheTransportEnded() throws Exception {
    gate = new CountDownLatch(1);
    ReplySink sink = new ReplySink();
    ClientConnection connection = connect();
    submit(connection, sink);
    arrived.await();

    context.end();
    context.end();
    gate.countDown();

    LiveEngine.get(sink.reply());
    refusal(Reason.UNAVAILABLE, () -> submit(connection, new ReplySink()));
  }

  @Test
  void shouldCancelWhatWaitsWhenItsConnectionCloses() throws Exception {
    gate = new CountDownLatch(1);
    ReplySink running = new ReplySink();
    ReplySink waiting = new ReplySink();
    ClientConnection first = connect();
    ClientConnection second = connect();
    submit(first, running);
    arrived.await();
    submit(second, waiting);

    second.close();

    assertThat(LiveEngine.outcome(waiting.reply())).isInstanceOf(Outcome.Cancelled.class);
    gate.countDown();
    assertThat(LiveEngine.outcome(running.reply())).isInstanceOf(Outcome.Completed.class);
  }

  /** A number that would overflow what it is added to. */
  @Test
  void shouldRefuseMoreMemoryThanThereIsAndCountNothing() throws Exception {
    try (ClientConnection connection = connect()) {
      long before = memory.held();
      connection.take(10);
      for (long bytes : new long[] {Long.MAX_VALUE, Long.MAX_VALUE - 10, memory.limit()}) {
        assertThat(refusal(Reason.NO_ROOM, () -> connection.take(bytes)))
            .hasMessageContaining(Long.toString(bytes));
      }
      assertThatThrownBy(() -> connection.take(-1)).isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> connection.giveBack(-1))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> connection.giveBack(11))
          .isInstanceOf(IllegalStateException.class)
          .hasMessage("11 bytes are given back, and 10 are taken");
      connection.giveBack(10);
      assertThat(memory.held()).isEqualTo(before);
      connection.take(1 << 20); // is given back when it closes
    }
  }

  @Test
  void shouldRefuseAConnectionTooMany() throws Exception {
    ClientConnection first = connect();
    ClientConnection second = connect();
    assertThat(refusal(Reason.NO_ROOM, this::connect)).hasMessageContaining("the.limit is 2");
    second.close();
    second.close();
    connect().close();
    first.close();
    assertThat(context.counts().connections()).isZero();
  }

  @Test
  void shouldConnectNobodyWhenItDrains() throws Exception {
    ReplySink sink = new ReplySink();
    ClientConnection before = connect();

    context.drain();

    refusal(Reason.UNAVAILABLE, this::connect);
    submit(before, sink);
    assertThat(LiveEngine.outcome(sink.reply())).isInstanceOf(Outcome.Completed.class);
  }

  @Test
  void shouldTakeRequestsOfCallersThatWereAdmittedThereForThat() throws Exception {
    ClientConnection connection = connect();
    Caller looker = connection.admit(CallerUse.METADATA, CallerCredentials.NONE);
    Caller other = connect().admit(CallerUse.INFERENCE, CallerCredentials.NONE);
    TransportRequest request = TransportRequest.of("m", List.of());
    for (Caller caller : List.of(looker, other)) {
      assertThatThrownBy(() -> connection.submit(caller, request, new ReplySink()))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("not admitted for INFERENCE by this connection");
    }
  }
}
