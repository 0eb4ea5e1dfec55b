package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import io.grpc.Status;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A client that does not read holds nobody else up, and may still read later. */
@Timeout(120)
class SilentReaderTest {
  private static final int WIDE = 1 << 19;
  private static final int CALLS = 8;
  @TempDir static Path repository;
  private static RunningWorker worker;

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    TestBundle.doubling(WIDE, 1).write(repository, "wide");
    worker = new RunningWorker(repository, TestBundle.DOUBLE).awaitLoaded();
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  @Test
  void shouldAnswerOthersWhileAClientReadsNothing() throws Exception {
    try (SilentReader silent = new SilentReader(worker.port("grpc"))) {
      callWide(silent);

      assertThat(worker.stub().modelInfer(WorkerTest.request("double", 1, 1, 2)).getOutputsCount())
          .isOne();
      for (int i = 0; i < CALLS; i++) {
        ModelInferResponse answer = Objects.requireNonNull(silent.read(i));
        assertThat(answer.getRawOutputContents(0).size()).isEqualTo(4 * WIDE);
      }
    }
  }

  @Test
  void shouldCountAnswersUntilTheirClientHasReadThemOrIsGone() throws Exception {
    Engine engine = worker.bean(Engine.class);
    await(() -> engine.heldBytes() == 0);
    try (SilentReader silent = new SilentReader(worker.port("grpc"))) {
      callWide(silent);
      assertThat(engine.heldBytes()).as("answers that nobody has read").isGreaterThan(4L * WIDE);
      for (int i = 0; i < CALLS; i++) {
        silent.read(i);
      }
      await(() -> engine.heldBytes() == 0);
      callWide(silent);
    }
    await(() -> engine.heldBytes() == 0);
  }

  @Test
  void shouldRefuseFurtherCallsOfAConnectionThatDoesNotReadAndTakeThoseOfOthers() throws Exception {
    String setting = "--roundhouse.worker.server.max-unread=8MB";
    try (RunningWorker small = new RunningWorker(repository, TestBundle.DOUBLE, setting)) {
      small.awaitLoaded();
      try (SilentReader silent = new SilentReader(small.port("grpc"))) {
        Engine engine = small.bean(Engine.class);
        // Four answers of 2 MiB and their names are a little more than 8 MiB.
        for (int i = 0; i < 4; i++) {
          int answers = i + 1;
          silent.call(WorkerTest.request("wide", 1, new float[WIDE]));
          await(() -> silent.begun() == answers);
        }
        assertThat(engine.heldBytes()).isEqualTo(4L * 4 * WIDE);
        silent.call(WorkerTest.request("double", 1, 1, 2));
        Status status = silent.end(4);
        assertThat(status.getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
        assertThat(status.getDescription())
            .contains("bytes of answers that its client has not read and the limit is 8388608")
            .contains("roundhouse.worker.server.max-unread");
        assertThat(small.stub().modelInfer(WorkerTest.request("double", 1, 1, 2)).getOutputsCount())
            .isOne();
      }
      await(() -> small.bean(Engine.class).heldBytes() == 0);
    }
  }

  @Test
  void shouldForgetAClientThatHangsUpWithoutReading() {
    try (SilentReader silent = new SilentReader(worker.port("grpc"))) {
      callWide(silent);
      silent.cancel(0);
    }

    assertThat(worker.stub().modelInfer(WorkerTest.request("double", 1, 1, 2)).getOutputsCount())
        .isOne();
  }

  private static void callWide(SilentReader silent) {
    int answers = silent.begun() + CALLS;
    for (int i = 0; i < CALLS; i++) {
      silent.call(WorkerTest.request("wide", 1, new float[WIDE]));
    }
    await(() -> silent.begun() == answers);
  }

  private static void await(BooleanSupplier condition) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as("waited for 30 s").isLessThan(end);
      Thread.onSpinWait();
    }
  }
}
