package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.worker.tee.Tee;
import dev.roundhouse.worker.tee.TeeCounts;
import dev.roundhouse.worker.tee.TeeCounts.Discard;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.BooleanSupplier;

/** A whole worker on the simulated device whose model 'double' learners can read. */
final class TeedWorker implements AutoCloseable {
  private final RunningWorker worker;

  private TeedWorker(RunningWorker worker) {
    this.worker = worker;
  }

  /**
   * @param settings in the place of those by which batches have four rows and models are loaded by
   *     name
   */
  static TeedWorker start(Path repository, String... settings) throws Exception {
    List<String> all =
        new ArrayList<>(
            List.of(
                "--roundhouse.worker.tee.models=double,te*,wide",
                "--roundhouse.worker.tee.batch-size=4",
                "--roundhouse.worker.tee.port=0",
                "--roundhouse.worker.repository.mode=explicit",
                "--roundhouse.worker.repository.load=double"));
    for (String setting : settings) {
      String key = setting.substring(0, setting.indexOf('=') + 1);
      all.removeIf(one -> one.startsWith(key));
      all.add(setting);
    }
    TestBundle.doubling(2, 1).write(repository, "double");
    RunningWorker worker =
        new RunningWorker(repository, TestBundle.DOUBLE, all.toArray(String[]::new));
    return new TeedWorker(worker.awaitLoaded());
  }

  RunningWorker running() {
    return worker;
  }

  LearnerPeer learner() throws Exception {
    return new LearnerPeer(worker.port("tee"));
  }

  /** A row of 'double', over gRPC. */
  void ask(float first, float second) {
    ModelInferRequest request = WorkerTest.request("double", 1, first, second);
    assertThat(worker.stub().modelInfer(request).getRawOutputContents(0).size()).isEqualTo(8);
  }

  TeeCounts counts() {
    return figures().counts();
  }

  Tee.Figures figures() {
    return worker.bean(Tee.class).figures().stream()
        .filter(each -> each.model().equals("double"))
        .findFirst()
        .orElseThrow();
  }

  /** No row is lost without a count. */
  void assertIdentity() {
    Tee.Figures now = figures();
    long discarded = Arrays.stream(Discard.values()).mapToLong(now.counts()::discarded).sum();
    assertThat(now.counts().taken()).isEqualTo(now.counts().delivered() + discarded + now.stored());
  }

  static void await(BooleanSupplier condition) {
    long end = System.nanoTime() + 30_000_000_000L;
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as("in time").isLessThan(end);
      Thread.onSpinWait();
    }
  }

  @Override
  public void close() {
    worker.close();
  }
}
