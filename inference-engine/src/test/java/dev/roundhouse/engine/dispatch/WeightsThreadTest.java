package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.evict.LeastRecentlyUsed;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.residency.ResidencyOptions;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.HookedDevice.Call;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.ReplySink.Reply;
import dev.roundhouse.engine.testing.SmallDevice;
import dev.roundhouse.engine.testing.TestImage;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Weights that come and go on the engine's own threads, and what that costs when it goes wrong. */
@Timeout(60)
class WeightsThreadTest {
  private static final int MODELS = 40;
  private static final int FIT = 4;
  private static final int BYTES = 64 << 10;
  private static final String TENSOR = Integer.toString(BYTES / Float.BYTES);

  @Test
  void shouldAnswerFortyModelsWhenFourFit() {
    try (LiveEngine engine = open(Watchdog.Limits.DEFAULT)) {
      load(engine, MODELS);
      Random random = new Random(3);
      for (int round = 0; round < 30; round++) {
        List<CompletableFuture<Reply>> replies = new ArrayList<>();
        int[] models = random.ints(50, 0, MODELS).toArray();
        for (int model : models) {
          replies.add(engine.submit(name(model), row(round)));
        }
        for (int i = 0; i < models.length; i++) {
          assertThat(answer(replies.get(i))).isEqualTo(models[i] * round);
        }
        assertThat(engine.engine().reports().residentWeightBytes())
            .isLessThanOrEqualTo((long) FIT * BYTES);
      }
      engine.assertWell();
    }
  }

  @Test
  void shouldEndTheEngineWhenAnUploadNeverEnds() {
    CountDownLatch release = new CountDownLatch(1);
    try (LiveEngine engine =
        open(new Watchdog.Limits(Duration.ofMillis(200), Duration.ofSeconds(20)))) {
      load(engine, FIT + 1);
      engine
          .device()
          .hook(
              (call, of) -> {
                if (call == Call.UPLOAD && of.contains(TENSOR)) {
                  awaitUninterruptibly(release);
                }
              });
      CompletableFuture<Reply> cold = engine.submit(name(0), row(1));
      CompletableFuture<Reply> behind = engine.submit(name(0), row(2));
      assertThat(LiveEngine.get(engine.engine().failed()))
          .hasMessageContaining("bringing weights to the device has taken");
      assertThat(engine.engine().isReady()).isFalse();
      assertThat(engine.engine().isAlive()).isFalse();
      for (CompletableFuture<Reply> each : List.of(cold, behind)) {
        assertFailed(each, Status.UNAVAILABLE, "bringing weights to the device has taken");
      }
      release.countDown();
    }
  }

  @Test
  void shouldServeTheOthersWhenAnUploadEndsInAnError() {
    try (LiveEngine engine = open(Watchdog.Limits.DEFAULT)) {
      load(engine, FIT + 1);
      engine
          .device()
          .hook(
              (call, of) -> {
                if (call == Call.UPLOAD && of.contains(TENSOR)) {
                  throw new OutOfMemoryError("made by a test");
                }
              });
      assertFailed(
          engine.submit(name(0), row(1)), Status.UNAVAILABLE, "weights of model 'm0' could not be");
      assertThat(answer(engine.submit(name(FIT), row(3)))).isEqualTo(3 * FIT);
      engine.device().hook((call, of) -> {});
      assertThat(answer(engine.submit(name(0), row(1)))).isZero();
      engine.assertWell();
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = Call.class,
      names = {"UPLOAD", "EXECUTE", "AWAIT"})
  void shouldHaveOthersLeaveWhenARunFindsTooLittleMemory(Call refusing) {
    try (LiveEngine engine = open(Watchdog.Limits.DEFAULT)) {
      load(engine, FIT);
      AtomicInteger refusals = new AtomicInteger(2);
      engine
          .device()
          .hook(
              (call, of) -> {
                boolean weights = of.contains(TENSOR);
                if (call == refusing && !weights && refusals.getAndDecrement() > 0) {
                  throw new DeviceException(DeviceException.Code.OUT_OF_MEMORY, "no room");
                }
              });
      assertThat(answer(engine.submit(name(1), row(3)))).isEqualTo(3);
      assertThat(engine.engine().reports().residentWeightBytes()).isEqualTo(BYTES);
      refusals.set(3); // nothing is left that could leave
      assertFailed(
          engine.submit(name(1), row(3)), Status.RESOURCE_EXHAUSTED, "execution of model 'm1'");
      refusals.set(0);
      for (int model = 0; model < FIT; model++) {
        assertThat(answer(engine.submit(name(model), row(2)))).isEqualTo(2 * model);
      }
      engine.assertWell();
    }
  }

  @Test
  void shouldGiveUpALoadWhenTheEngineCloses() throws InterruptedException {
    CountDownLatch uploads = new CountDownLatch(1);
    LiveEngine engine = open(Watchdog.Limits.DEFAULT);
    load(engine, FIT + 1);
    engine
        .device()
        .hook(
            (call, of) -> {
              if (call == Call.UPLOAD && of.contains(TENSOR)) {
                uploads.countDown();
              }
            });
    CompletableFuture<Reply> cold = engine.submit(name(0), row(1));
    assertThat(uploads.await(20, TimeUnit.SECONDS)).isTrue();
    engine.close(); // nothing stays on the device
    assertThat(LiveEngine.outcome(cold))
        .isInstanceOfAny(Outcome.Shed.class, Outcome.Completed.class);
  }

  private static void assertFailed(CompletableFuture<Reply> reply, Status status, String text) {
    assertThat(LiveEngine.outcome(reply))
        .isInstanceOfSatisfying(
            Outcome.Failed.class,
            failed -> {
              assertThat(failed.status()).isEqualTo(status);
              assertThat(failed.message()).contains(text);
            });
  }

  private static LiveEngine open(Watchdog.Limits limits) {
    ResidencyOptions residency =
        ResidencyOptions.DEFAULT
            .withUse(HostMemory.COPY)
            .withDeviceBytes((long) FIT * BYTES + 4096)
            .withWiggle(0)
            .withPolicy(LeastRecentlyUsed::new); // the first that was loaded is the first to leave
    return new LiveEngine(
        EngineOptions.builder().residency(residency).watchdog(limits).build(), SmallDevice.SCALE);
  }

  private static void load(LiveEngine engine, int models) {
    for (int i = 0; i < models; i++) {
      ModelStatus status =
          LiveEngine.get(engine.engine().admin().load(TestImage.scaled(name(i), i, BYTES)));
      assertThat(status.state()).as(status.reason()).isEqualTo(ModelState.READY);
    }
  }

  private static String name(int model) {
    return "m" + model;
  }

  private static float answer(CompletableFuture<Reply> reply) {
    LiveEngine.assertCompleted(reply);
    return Floats.of(reply.join().outputs().getFirst())[0];
  }

  private static InputTensor row(float value) {
    return Floats.input("x", new long[] {1, 2}, value, value);
  }

  private static void awaitUninterruptibly(CountDownLatch latch) {
    boolean interrupted = false;
    while (true) {
      try {
        latch.await();
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
