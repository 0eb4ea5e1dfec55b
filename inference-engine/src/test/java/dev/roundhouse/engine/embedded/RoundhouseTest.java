package dev.roundhouse.engine.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.request.RequestOptions;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceProvider;
import dev.roundhouse.engine.numerics.NumericsPolicy;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.testing.TestBundle;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RoundhouseTest {
  private static final Map<String, Tensor> ONE_ROW =
      Map.of("x", Tensor.of(new float[] {1, 2}, 1, 2));

  @TempDir Path repository;
  @TempDir Path cache;

  @Test
  void shouldLoadARepositoryAndAnswer() {
    TestBundle.doubling(2, 1, 4).write(repository, "double");
    try (Roundhouse roundhouse = Roundhouse.open(config())) {
      Inference result = roundhouse.infer("double", ONE_ROW);
      assertThat(result.output("y").floats()).containsExactly(2, 4);
      assertThat(result.modelVersion()).isEqualTo("1");
      assertThat(result.output("y").shape().dims()).containsExactly(1, 2);
      assertThatThrownBy(() -> result.output("z")).hasMessageContaining("'z'", "[y]");
      assertThat(roundhouse.stats().getFirst().counts()).containsEntry(Metric.COMPLETED, 1L);
    }
  }

  @Test
  void shouldCompileNothingASecondTimeWhenProgramsAreKept() {
    TestBundle.doubling(2, 1, 4).write(repository, "double");
    for (int start = 0; start < 2; start++) {
      try (Roundhouse roundhouse = Roundhouse.open(config().withCompileCache(cache))) {
        assertThat(roundhouse.infer("double", ONE_ROW).output("y").floats()).containsExactly(2, 4);
        assertThat(roundhouse.programs().compiled()).isEqualTo(start == 0 ? 2 : 0);
      }
    }
  }

  @Test
  void shouldAnswerAFutureOnAThreadThatTheDispatchThreadDoesNotWaitFor() {
    TestBundle.doubling(2, 1).write(repository, "double");
    try (Roundhouse roundhouse = Roundhouse.open(config())) {
      CompletableFuture<Thread> answered =
          roundhouse.inferAsync("double", ONE_ROW).thenApply(result -> Thread.currentThread());
      assertThat(answered.orTimeout(10, TimeUnit.SECONDS).join().getName())
          .isNotEqualTo("dispatch");
    }
  }

  @Test
  void shouldSayWhyARequestWasNotAnswered() {
    TestBundle.doubling(2, 1).write(repository, "double");
    try (Roundhouse roundhouse = Roundhouse.open(config())) {
      assertThatThrownBy(() -> roundhouse.infer("dubble", ONE_ROW))
          .isInstanceOfSatisfying(
              InferenceException.class, e -> assertThat(e.status()).isEqualTo(Status.NOT_FOUND))
          .hasMessageContaining("'dubble'");
      assertThatThrownBy(() -> roundhouse.infer("double", ONE_ROW, Duration.ZERO))
          .isInstanceOfSatisfying(
              InferenceException.class,
              e -> assertThat(e.status()).isEqualTo(Status.DEADLINE_EXCEEDED));
      assertThatThrownBy(() -> roundhouse.inferAsync("double", Map.of()).join())
          .cause()
          .isInstanceOf(InferenceException.class)
          .hasMessageContaining("missing required input(s) ['x']");
    }
  }

  @Test
  void shouldTreatARequestAsItsOptionsSay() {
    TestBundle.doubling(2, 1)
        .serving("queue: {timeout_action: reject, allow_timeout_override: true}")
        .write(repository, "double");
    RequestOptions late = RequestOptions.DEFAULT.withTimeout(Duration.ZERO);
    RequestOptions impatient = RequestOptions.DEFAULT.withQueueTimeout(Duration.ofNanos(1));
    try (Roundhouse roundhouse = Roundhouse.open(config())) {
      assertThatThrownBy(() -> roundhouse.infer("double", ONE_ROW, late))
          .hasMessageContaining("deadline passed");
      assertThatThrownBy(() -> roundhouse.inferAsync("double", ONE_ROW, impatient).join())
          .hasMessageContaining("Request timeout expired");
      RequestOptions none = RequestOptions.DEFAULT.withPriority(3);
      assertThat(roundhouse.infer("double", ONE_ROW, none).output("y").floats())
          .containsExactly(2, 4);
    }
  }

  @Test
  void shouldTakeARequestBackWhenItsFutureIsCancelled() {
    TestBundle.doubling(2, 4).write(repository, "double");
    EngineOptions holding = EngineOptions.builder().maxQueueDelay(Duration.ofMinutes(5)).build();
    try (Roundhouse roundhouse = Roundhouse.open(config().withEngine(holding))) {
      CompletableFuture<Inference> held = roundhouse.inferAsync("double", ONE_ROW);
      assertThat(roundhouse.engine().openRequests()).isEqualTo(1);
      held.cancel(false);
      assertThat(roundhouse.engine().openRequests()).isZero();
      assertThat(roundhouse.stats().getFirst().counts()).containsEntry(Metric.CANCELLED, 1L);
    }
  }

  @Test
  void shouldLoadAModelLaterAndRefuseADeviceNobodyBrings() {
    Path folder = TestBundle.doubling(2, 1).write(repository.resolve("elsewhere"), "late");
    try (Roundhouse roundhouse =
        Roundhouse.open(
            RoundhouseConfig.of().withDevice("doubling", DeviceProvider.Settings.DEFAULT))) {
      assertThat(roundhouse.stats()).isEmpty();
      assertThat(roundhouse.load(folder).join().isReady()).isTrue();
      assertThat(roundhouse.infer("late", ONE_ROW).output("y").floats()).containsExactly(2, 4);
    }
    assertThatThrownBy(
            () ->
                Roundhouse.open(
                    RoundhouseConfig.of().withDevice("abacus", DeviceProvider.Settings.DEFAULT)))
        .isInstanceOf(DeviceException.class)
        .hasMessageContaining("'abacus'", "[doubling]");
  }

  @Test
  void shouldForbidTf32ToTheLibrariesOfTheDeviceUnderF32Only() {
    Roundhouse.open(config().withNumerics(NumericsPolicy.F32)).close();
    assertThat(SimulatedDeviceProvider.asked.forbidsTf32()).isTrue();
    Roundhouse.open(config()).close();
    assertThat(SimulatedDeviceProvider.asked.forbidsTf32()).isFalse();
  }

  @Test
  void shouldRefuseATensorWhoseShapeIsNotThatOfItsData() {
    assertThatThrownBy(() -> Tensor.of(new float[3], 2, 2))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("[2,2] has 16 bytes, got 12");
    assertThatThrownBy(() -> Tensor.of(new int[] {1}, 1).floats())
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("i32", "f32");
    assertThat(Tensor.of(new long[] {7, 8}, 2).longs()).containsExactly(7, 8);
    assertThat(Tensor.ofStrings(List.of("a", "größer"), 1, 2).strings())
        .containsExactly("a", "größer");
    assertThatThrownBy(() -> Tensor.ofStrings(List.of("a", "b"), 3))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("expected 3 string elements for a tensor of shape [3], got 2");
    assertThatThrownBy(() -> Tensor.of(new int[] {1}, 1).strings())
        .isInstanceOf(IllegalStateException.class);
    assertThat(Tensor.of(new int[] {7, 8}, 2).ints()).containsExactly(7, 8);
  }

  private RoundhouseConfig config() {
    return RoundhouseConfig.of(repository).withDevice("doubling", DeviceProvider.Settings.DEFAULT);
  }
}
