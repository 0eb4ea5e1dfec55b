package dev.roundhouse.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.client.retry.RetryPolicy;
import dev.roundhouse.client.tensor.Tensor;
import io.grpc.Status;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class DatasetTest {
  private static final int ROWS = 101;

  private final FakeServer server;
  private final KServeClient client;
  private final ModelShape pair;

  DatasetTest() throws Exception {
    server = new FakeServer();
    client = KServeClient.to(server.address()).retry(RetryPolicy.NONE).build();
    pair = client.shape("pair");
  }

  @AfterEach
  void close() {
    client.close();
    server.close();
  }

  private static Tensor numbers(int rows) {
    float[] values = new float[2 * rows];
    for (int i = 0; i < values.length; i++) {
      values[i] = i;
    }
    return Tensor.of(values, rows, 2);
  }

  /** Writes what {@link #numbers} has. */
  private static void write(long firstRow, long rows, MemorySegment target) {
    for (long i = 0; i < 2 * rows; i++) {
      target.setAtIndex(ValueLayout.JAVA_FLOAT, i, 2 * firstRow + i);
    }
  }

  private static void assertDoubled(DatasetResult result) {
    float[] values = result.output("y").floats();
    assertThat(values).hasSize(2 * ROWS);
    for (int i = 0; i < values.length; i++) {
      assertThat(values[i]).isEqualTo(2f * i);
    }
  }

  @Test
  void shouldAskInChunksOfTheLargestBatchAndPlaceTheRowsInOrder() throws Exception {
    List<String> told = new CopyOnWriteArrayList<>();
    DatasetResult result =
        client.infer(
            Dataset.of(pair)
                .input("x", numbers(ROWS))
                .onProgress((done, failed, all) -> told.add(done + "/" + failed + "/" + all)));
    assertDoubled(result.complete());
    assertThat(result.output("y")).hasToString("FP32[101,2]");
    assertThat(result.chunks()).isEqualTo(13);
    assertThat(result.attempts()).isEqualTo(13);
    assertThat(told).hasSize(13).last().isEqualTo("101/0/101");
    assertThat(server.arrivals)
        .allSatisfy(
            arrival ->
                assertThat(arrival.request().getInputs(0).getShape(0))
                    .isIn((long) FakeServer.MAX_BATCH, 5L));
  }

  @Test
  void shouldUseItsBuffersAgain() throws Exception {
    Set<Long> addresses = new HashSet<>();
    DatasetResult result =
        client.infer(
            Dataset.of(pair)
                .input(
                    "x",
                    ROWS,
                    Shape.of(2),
                    (first, rows, target) -> {
                      addresses.add(target.address());
                      assertThat(target.byteSize()).isEqualTo(8 * rows);
                      write(first, rows, target);
                    })
                .chunkRows(3)
                .window(2));
    assertDoubled(result.complete());
    assertThat(result.chunks()).isEqualTo(34);
    assertThat(addresses).hasSizeBetween(1, 2);
  }

  @Test
  void shouldLeaveRowsAloneUntilTheirCallHasEnded() throws Exception {
    RetryPolicy quick =
        RetryPolicy.DEFAULT.withWaits(Duration.ofMillis(20), 1, Duration.ofMillis(20));
    int refused = 8;
    try (KServeClient retrying = KServeClient.to(server.address()).retry(quick).build()) {
      server.refuse(refused, Status.UNAVAILABLE); // the other chunks go on meanwhile
      DatasetResult result =
          retrying.infer(
              Dataset.of(pair)
                  .input("x", ROWS, Shape.of(2), DatasetTest::write)
                  .chunkRows(3)
                  .window(3));
      assertDoubled(result.complete());
      assertThat(result.attempts()).isEqualTo(result.chunks() + refused);
    }
  }

  @Test
  void shouldKeepToItsWindow() throws Exception {
    server.hold.set(true);
    AtomicReference<Throwable> thrown = new AtomicReference<>();
    Thread running =
        Thread.startVirtualThread(
            () -> {
              try {
                assertDoubled(
                    client.infer(Dataset.of(pair).input("x", numbers(ROWS)).window(3)).complete());
              } catch (Throwable e) {
                thrown.set(e);
              }
            });
    InferTest.await("a full window", () -> server.arrivals.size() == 3);
    assertThat(client.counters().calls()).isEqualTo(3);
    server.release();
    running.join();
    assertThat(thrown.get()).isNull();
    assertThat(client.counters().calls()).isEqualTo(13);
  }

  @Test
  void shouldPlaceRowsInTheCallersMemory() throws Exception {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment target = arena.allocate(8 * ROWS + 4);
      target.fill((byte) 7);
      DatasetResult result =
          client.infer(Dataset.of(pair).input("x", numbers(ROWS)).output("y", target));
      assertDoubled(result.complete());
      assertThat(target.getAtIndex(ValueLayout.JAVA_FLOAT, 2 * ROWS - 1)).isEqualTo(402);
      assertThat(target.get(ValueLayout.JAVA_INT, 8 * ROWS)).as("beyond").isEqualTo(0x07070707);
    }
  }

  @Test
  void shouldTellWhichRowsFailed() throws Exception {
    server.refuse(1, Status.INTERNAL.withDescription("no luck"));
    DatasetResult result = client.infer(Dataset.of(pair).input("x", numbers(ROWS)).window(1));
    assertThat(result.failures()).hasSize(1);
    RowFailure failure = result.failures().getFirst();
    assertThat(failure.firstRow()).isZero();
    assertThat(failure.rows()).isEqualTo(FakeServer.MAX_BATCH);
    assertThat(failure.cause()).isInstanceOf(KServeException.class).hasMessageContaining("no luck");
    float[] values = result.output("y").floats();
    assertThat(values[15]).as("not answered").isZero();
    assertThat(values[16]).isEqualTo(32);
    assertThatThrownBy(result::complete)
        .hasMessage("8 of 101 rows were not answered: rows 0 to 7: INTERNAL: no luck");
  }

  @Test
  void shouldStopWhenTooMuchFails() throws Exception {
    server.refuse(100, Status.INTERNAL.withDescription("no luck"));
    DatasetResult result =
        client.infer(Dataset.of(pair).input("x", numbers(ROWS)).window(1).stopAfter(2));
    assertThat(server.arrivals).hasSize(2);
    assertThat(result.failures())
        .extracting(RowFailure::firstRow, RowFailure::rows)
        .containsExactly(
            org.assertj.core.groups.Tuple.tuple(0L, 16L),
            org.assertj.core.groups.Tuple.tuple(16L, 85L));
    assertThat(result.failedRows()).isEqualTo(ROWS);
  }

  @Test
  void shouldGoOnWhenASourceFails() throws Exception {
    DatasetResult result =
        client.infer(
            Dataset.of(pair)
                .input(
                    "x",
                    ROWS,
                    Shape.of(2),
                    (first, rows, target) -> {
                      if (first == 8) {
                        throw new IOException("a hole in the file");
                      }
                      write(first, rows, target);
                    }));
    assertThat(result.failures()).hasSize(1);
    assertThat(result.failures().getFirst()).hasToString("rows 8 to 15: a hole in the file");
    assertThat(result.failures().getFirst().cause()).isInstanceOf(IOException.class);
  }

  @Test
  void shouldCancelWhatIsUnderWayWhenItIsInterrupted() throws Exception {
    server.hold.set(true);
    AtomicReference<Throwable> thrown = new AtomicReference<>();
    Thread running =
        Thread.startVirtualThread(
            () -> {
              try {
                client.infer(Dataset.of(pair).input("x", numbers(ROWS)).window(2));
              } catch (InterruptedException e) {
                thrown.set(e);
              }
            });
    InferTest.await("a full window", () -> server.arrivals.size() == 2);
    running.interrupt();
    running.join();
    assertThat(thrown.get()).isInstanceOf(InterruptedException.class);
    InferTest.await("the server hears of it", () -> server.cancelled.get() == 2);
  }

  @Test
  void shouldThrowWhatItsListenerThrows() {
    Dataset dataset =
        Dataset.of(pair)
            .input("x", numbers(ROWS))
            .window(1)
            .onProgress(
                (answered, failed, all) -> {
                  throw new UnsupportedOperationException("no more");
                });
    assertThatThrownBy(() -> client.infer(dataset)).hasMessage("no more");
    assertThat(server.arrivals).hasSize(1);
  }

  @Test
  void shouldTakeNoRows() throws Exception {
    DatasetResult result = client.infer(Dataset.of(pair).input("x", numbers(0)));
    assertThatCode(result::complete).doesNotThrowAnyException();
    assertThat(result.output("y")).hasToString("FP32[0,2]");
    assertThat(server.arrivals).isEmpty();
  }

  @Test
  void shouldRefuseWhatDoesNotFitTheModel() {
    assertThatThrownBy(() -> Dataset.of(pair).input("z", numbers(1)))
        .hasMessageContaining("has no input 'z'");
    assertThatThrownBy(
            () ->
                Dataset.of(pair)
                    .input("x", numbers(2))
                    .input("x", 3, Shape.of(2), (first, rows, target) -> {}))
        .hasMessage("input 'x' has 2 rows and 'x' has 3; give all inputs as many");
    assertThatThrownBy(() -> client.infer(Dataset.of(pair)))
        .hasMessage("a data set for 'pair' has no input");
    assertThatThrownBy(
            () ->
                client.infer(
                    Dataset.of(pair)
                        .input("x", numbers(2))
                        .output("y", MemorySegment.ofArray(new byte[15]))))
        .hasMessageContaining("has 15 bytes; 2 rows of f32[2] take 16");
    assertThatThrownBy(() -> Dataset.of(client.shape("double")).output("y"))
        .hasMessageContaining("whose rows have no fixed size");
    assertThatThrownBy(() -> Dataset.of(client.shape("columns")).input("x", numbers(2)))
        .hasMessageContaining("does not count rows along axis 0");
    server.config.set(false);
    assertThatThrownBy(() -> Dataset.of(client.shape("pair")))
        .hasMessageContaining("counts no rows");
  }

  @Test
  void shouldFailEachChunkOfAnotherType() throws Exception {
    DatasetResult result =
        client.infer(Dataset.of(pair).input("x", Tensor.of(DType.I32, new int[4], 2, 2)));
    assertThat(result.failures().getFirst().cause())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("convert it to FP32");
    assertThat(server.arrivals).isEmpty();
  }
}
