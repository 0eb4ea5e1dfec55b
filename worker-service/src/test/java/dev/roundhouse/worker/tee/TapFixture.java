package dev.roundhouse.worker.tee;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.worker.config.TeeProperties;
import dev.roundhouse.worker.tee.Tee.Opened;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.springframework.util.unit.DataSize;

/** The tap with answers that a test makes. Batches have two rows of 8 bytes, or of 80,000. */
abstract class TapFixture {
  static final Outcome.Timings TIMES = new Outcome.Timings(0, 0, 0, 0, 0, 0, 1, 0);
  static final int WIDE = 10_000;

  final Map<String, ModelStatus> models = new ConcurrentHashMap<>();
  final List<String> told = Collections.synchronizedList(new ArrayList<>());
  Tee tee;

  final AnswerSink sink =
      new AnswerSink() {
        @Override
        public void onPart(Answer part) {
          told.add("part");
        }

        @Override
        public void onEnd(Outcome outcome) {
          told.add("end");
        }
      };

  @BeforeEach
  void start() {
    models.put("m", status(model(1)));
    models.put("wide", status(model(WIDE)));
    models.put("other", status(model(1)));
    tee = new Tee(settings(1), name -> Optional.ofNullable(models.get(name)), System::nanoTime);
  }

  @AfterEach
  void stop() {
    tee.close();
    assertThat(tee.heldBytes()).isZero();
  }

  static TeeProperties settings(double ratio) {
    return settings(ratio, 2, DataSize.ofMegabytes(16));
  }

  static TeeProperties settings(double ratio, int buffers, DataSize memory) {
    return new TeeProperties(
        List.of("m", "w*"),
        ratio,
        2,
        buffers,
        memory,
        DataSize.ofKilobytes(200),
        null,
        DataSize.ofGigabytes(1),
        0,
        InetAddress.getLoopbackAddress(),
        Path.of("unused"),
        Duration.ofSeconds(5),
        Duration.ofSeconds(5));
  }

  static ModelSpec model(int width) {
    List<Axis> axes = List.of(Axis.BATCH, new Axis.Fixed(width));
    return RingTest.model(
        List.of(new TensorSpec("x", DType.I64, axes)),
        List.of(new TensorSpec("y", DType.I64, axes)));
  }

  static ModelStatus status(ModelSpec made) {
    return ModelStatus.loading("m", "1").ready(made, 1, 0);
  }

  Opened open(String model) throws Exception {
    return tee.open(model, () -> {}).get(30, TimeUnit.SECONDS);
  }

  static MemorySegment row(long value, int width) {
    long[] row = new long[width];
    row[0] = value;
    return MemorySegment.ofArray(row);
  }

  static List<InputTensor> inputs(TensorData data, int width) {
    return List.of(new InputTensor("x", DType.I64, Shape.of(1, width), data));
  }

  record Made(String modelVersion, List<OutputTensor> outputs) implements Answer {
    @Override
    public void free() {}

    @Override
    public void close() {}
  }

  static Answer answer(String version, long value, int width) {
    return new Made(
        version, List.of(new OutputTensor("y", DType.I64, Shape.of(1, width), row(value, width))));
  }

  void ask(String model, List<InputTensor> inputs, Answer answer) {
    AnswerSink tapped = tee.tapped(model, inputs, sink);
    tapped.onPart(answer);
    tapped.onEnd(new Outcome.Completed(answer.modelVersion(), TIMES));
  }

  void ask(long value) {
    ask("m", inputs(TensorData.of(row(value, 1)), 1), answer("1", -value, 1));
  }

  TeeCounts counts(String model) {
    return tee.figures().stream()
        .filter(each -> each.model().equals(model))
        .findFirst()
        .orElseThrow()
        .counts();
  }

  static long at(Batch batch, int tensor, long row, int width) {
    return batch.tensor(tensor).getAtIndex(ValueLayout.JAVA_LONG, row * width);
  }

  static void await(BooleanSupplier condition) {
    long end = System.nanoTime() + 30_000_000_000L;
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as("in time").isLessThan(end);
      Thread.onSpinWait();
    }
  }
}
