package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.device.ReferenceFunction;
import dev.roundhouse.engine.testing.TestBundle;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class NumericsStartTest {
  private static final String F32 = "--roundhouse.worker.runtime.numerics=f32";
  private static final String TF32 = "--roundhouse.worker.runtime.numerics=tf32";
  private static final String PROBE = "--roundhouse.worker.runtime.numerics-probe=always";

  /** As the product by the identity leaves the probe's sentinels. */
  private static final ReferenceFunction EXACT =
      (program, arguments, results) ->
          MemorySegment.copy(
              arguments.getFirst(), 0, results.getFirst(), 0, results.getFirst().byteSize());

  @TempDir Path repository;

  @Test
  void shouldShowThePolicyAndWhatTheProbeSaw() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    try (RunningWorker worker = new RunningWorker(repository, EXACT, F32, PROBE)) {
      assertThat(worker.awaitLoaded().get("metrics", "/actuator/info"))
          .contains("\"numerics\":\"f32: every product in f32; probe: in f32 (");
    }
  }

  @Test
  void shouldNotStartWhenTheDeviceCannotKeepThePolicy() {
    assertThatThrownBy(
            () -> new RunningWorker(repository, ReferenceFunction.ZERO, F32, PROBE).close())
        .hasStackTraceContaining("The device cannot keep roundhouse.worker.runtime.numerics")
        .hasStackTraceContaining("neither in f32 nor in TF32");
    assertThatThrownBy(() -> new RunningWorker(repository, EXACT, TF32).close())
        .hasStackTraceContaining("has no TF32; use auto");
  }
}
