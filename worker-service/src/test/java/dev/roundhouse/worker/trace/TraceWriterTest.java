package dev.roundhouse.worker.trace;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Status;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

@Timeout(60)
class TraceWriterTest {
  private static final Outcome.Timings TIMINGS =
      new Outcome.Timings(1_010, 1_090, 20, 5, 40, 3, 1, 0);

  /** An input of 6 bytes, of which 4 are traced, and an output of 2. */
  private static final TracedTensors TENSORS =
      new TracedTensors(
          List.of(new TracedTensor("x", DType.I16, Shape.of(1, 3), new byte[] {1, 0, -1, -1}, 6)),
          List.of(new TracedTensor("y", DType.U8, Shape.of(2), new byte[] {7, -1}, 2)));

  @TempDir Path folder;
  private final AtomicLong held = new AtomicLong(TENSORS.byteSize());
  private final TensorCopies copies =
      new TensorCopies(64, bytes -> true, bytes -> held.addAndGet(-bytes));

  @Test
  void shouldWriteWhenEachStageBegan() throws Exception {
    TraceWriter writer = new TraceWriter(folder.resolve("trace.json"), copies, 100, 1L << 30);
    writer.start();
    writer.offer(
        new Trace(
            7,
            0,
            sampler("", 0),
            "m",
            "a\"b",
            new Outcome.Completed("3", TIMINGS),
            TracedTensors.NONE,
            1_000,
            1_100));
    writer.close();

    JsonNode elements = read("trace.json");
    assertThat(elements).hasSize(2);
    assertThat(elements.get(0))
        .hasToString(
            "{\"id\":7,\"model_name\":\"m\",\"model_version\":3,\"request_id\":\"a\\\"b\"}");
    assertThat(elements.get(1).get("id").asInt()).isEqualTo(7);
    assertThat(stages(elements.get(1)))
        .containsExactly(
            "REQUEST_START 1000",
            "QUEUE_START 1010",
            "COMPUTE_START 1030",
            "COMPUTE_INPUT_END 1035",
            "COMPUTE_OUTPUT_START 1087",
            "COMPUTE_END 1090",
            "REQUEST_END 1100");
    assertThat(writer.written()).isEqualTo(1);
    assertThat(writer.dropped()).isZero();
  }

  @Test
  void shouldWriteOfARequestThatFailedWhatThereIs() throws Exception {
    TraceWriter writer = new TraceWriter(folder.resolve("trace.json"), copies, 100, 1L << 30);
    writer.start();
    Outcome failed = new Outcome.Failed(Status.INTERNAL, "no");
    writer.offer(new Trace(1, 0, sampler("", 0), "m", "", failed, TracedTensors.NONE, 10, 20));
    writer.close();

    JsonNode elements = read("trace.json");
    assertThat(elements.get(0)).hasToString("{\"id\":1,\"model_name\":\"m\",\"model_version\":-1}");
    assertThat(stages(elements.get(1))).containsExactly("REQUEST_START 10", "REQUEST_END 20");
  }

  @Test
  void shouldWriteTensorsAndHowMuchOfThemIsLeftOut() throws Exception {
    TraceWriter writer = new TraceWriter(folder.resolve("trace.json"), copies, 100, 1L << 30);
    writer.start();
    writer.offer(trace(1, sampler("", 0, new TraceLevels(false, true)), TENSORS));
    writer.close();

    JsonNode elements = read("trace.json");
    assertThat(elements).hasSize(3);
    assertThat(elements.get(0)).hasToString("{\"id\":1,\"model_name\":\"m\",\"model_version\":1}");
    assertThat(elements.get(1))
        .hasToString(
            "{\"id\":1,\"activity\":\"TENSOR_QUEUE_INPUT\",\"tensor\":{\"name\":\"x\",\"data\":\"1,-1\",\"shape\":\"1,3\",\"dtype\":\"INT16\",\"cut_bytes\":2}}");
    assertThat(elements.get(2))
        .hasToString(
            "{\"id\":1,\"activity\":\"TENSOR_BACKEND_OUTPUT\",\"tensor\":{\"name\":\"y\",\"data\":\"7,255\",\"shape\":\"2\",\"dtype\":\"UINT8\"}}");
    assertThat(held).hasValue(0);
  }

  @Test
  void shouldHoldNothingOfATraceThatIsDropped() {
    TraceWriter writer = new TraceWriter(folder.resolve("t"), copies, 100, 1L << 30);
    for (int id = 1; id <= TraceWriter.CAPACITY; id++) {
      writer.offer(trace(id, sampler("", 0)));
    }
    writer.offer(trace(0, sampler("", 0, new TraceLevels(true, true)), TENSORS));
    assertThat(writer.dropped()).isEqualTo(1);
    assertThat(held).hasValue(0);
  }

  @Test
  void shouldHaveAWholeFileAfterEveryWriteAndReplaceWhatWasThere() throws Exception {
    Files.writeString(folder.resolve("trace.json"), "x".repeat(10_000));
    TraceFile file = new TraceFile(folder.resolve("trace.json"));
    for (int count = 1; count <= 3; count++) {
      file.append("{\"id\":" + count + "}", 1);
      assertThat(read("trace.json")).hasSize(count);
      assertThat(file.traces()).isEqualTo(count);
    }
  }

  @Test
  void shouldBeginAnotherFileAfterSoManyTraces() throws Exception {
    TraceWriter writer = new TraceWriter(folder.resolve("t"), copies, 100, 1L << 30);
    writer.start();
    Sampler every = sampler("m", 2);
    for (int id = 1; id <= 5; id++) {
      writer.offer(trace(id, every));
    }
    writer.offer(trace(6, sampler("", 0)));
    writer.close();

    assertThat(ids("t.0")).containsExactly(1, 2);
    assertThat(ids("t.1")).containsExactly(3, 4);
    assertThat(ids("t.2")).containsExactly(5);
    assertThat(ids("t")).containsExactly(6);
    assertThat(writer.written()).isEqualTo(6);
  }

  @Test
  void shouldKeepAFewFilesWhateverIsAskedFor() throws Exception {
    TraceWriter writer = new TraceWriter(folder.resolve("t"), copies, 3, 1L << 30);
    writer.start();
    for (int id = 1; id <= 1_000; id++) {
      // one trace a file, and files that are begun and never filled
      writer.offer(trace(id, sampler("m", id % 2 == 0 ? 1 : 1_000 + id)));
    }
    writer.close();

    assertThat(files()).containsExactlyInAnyOrder("t.0", "t.1", "t.2");
    assertThat(writer.written() + writer.dropped()).isEqualTo(1_000);
  }

  @Test
  void shouldRemoveTheOldestWhenTheBytesAreUsedUp() throws Exception {
    Files.writeString(folder.resolve("t.7"), "x".repeat(900)); // of an earlier process
    TraceWriter writer = new TraceWriter(folder.resolve("t"), copies, 10, 2_000);
    writer.start();
    for (int id = 1; id <= 100; id++) {
      writer.offer(trace(id, sampler("m", 1)));
    }
    writer.close();

    long bytes = 0;
    for (String file : files()) {
      bytes += Files.size(folder.resolve(file));
    }
    assertThat(bytes).isBetween(1L, 2_000L);
    assertThat(ids("t.9")).containsExactly(100);
    assertThat(writer.written()).isEqualTo(100);
  }

  @Test
  void shouldDropWhatHasNoRoomInTheOneFile() throws Exception {
    TraceWriter writer = new TraceWriter(folder.resolve("t"), copies, 10, 2_000);
    writer.start();
    for (int id = 1; id <= 10; id++) {
      long before = writer.written() + writer.dropped();
      writer.offer(trace(id, sampler("", 0)));
      while (writer.written() + writer.dropped() == before) {
        Thread.onSpinWait();
      }
    }
    writer.close();

    assertThat(Files.size(folder.resolve("t"))).isBetween(1L, 2_000L);
    assertThat(ids("t")).startsWith(1, 2);
    assertThat(writer.dropped()).isPositive();
    assertThat(writer.written() + writer.dropped()).isEqualTo(10);
  }

  private List<String> files() throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.map(file -> file.getFileName().toString()).toList();
    }
  }

  @Test
  void shouldDropAndCountWhatIsTooMuch() {
    TraceWriter writer = new TraceWriter(folder.resolve("t"), copies, 100, 1L << 30);
    for (int id = 1; id <= TraceWriter.CAPACITY + 3; id++) {
      writer.offer(trace(id, sampler("", 0))); // nobody writes yet
    }
    assertThat(writer.dropped()).isEqualTo(3);
    writer.start();
    writer.close();
    assertThat(writer.written()).isEqualTo(TraceWriter.CAPACITY);
  }

  @Test
  void shouldCountWhatCannotBeWrittenAndGoOn() throws Exception {
    Path missing = folder.resolve("missing");
    TraceWriter writer = new TraceWriter(missing.resolve("t"), copies, 100, 1L << 30);
    writer.start();
    writer.offer(trace(1, sampler("", 0)));
    while (writer.dropped() == 0) {
      Thread.onSpinWait();
    }
    Files.createDirectory(missing);
    writer.offer(trace(2, sampler("", 0)));
    writer.close();
    assertThat(writer.dropped()).isEqualTo(1);
    assertThat(ids("missing/t")).containsExactly(2);
  }

  private static Trace trace(int id, Sampler sampler) {
    return trace(id, sampler, TracedTensors.NONE);
  }

  private static Trace trace(int id, Sampler sampler, TracedTensors tensors) {
    return new Trace(
        id, 0, sampler, "m", "", new Outcome.Completed("1", TIMINGS), tensors, 1_000, 1_100);
  }

  private static Sampler sampler(String owner, int frequency) {
    return sampler(owner, frequency, new TraceLevels(true, false));
  }

  private static Sampler sampler(String owner, int frequency, TraceLevels levels) {
    return new Sampler(owner, new TraceSetting(levels, 1, -1, frequency, TraceMode.TRITON), -1);
  }

  private List<Integer> ids(String file) throws Exception {
    List<Integer> ids = new ArrayList<>();
    for (JsonNode element : read(file)) {
      if (element.has("model_name")) {
        ids.add(element.get("id").asInt());
      }
    }
    return ids;
  }

  private static List<String> stages(JsonNode element) {
    List<String> stages = new ArrayList<>();
    for (JsonNode stage : element.get("timestamps")) {
      stages.add(stage.get("name").asString() + " " + stage.get("ns").asLong());
    }
    return stages;
  }

  private JsonNode read(String file) throws Exception {
    return JsonMapper.shared().readTree(Files.readString(folder.resolve(file)));
  }
}
