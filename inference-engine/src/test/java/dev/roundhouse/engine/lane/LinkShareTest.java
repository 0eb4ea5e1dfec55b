package dev.roundhouse.engine.lane;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.residency.ResidencyOptions;
import dev.roundhouse.engine.schedule.VirtualTime;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.TestEngine;
import dev.roundhouse.engine.testing.TestImage;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Whose weights come next when the link is shared out; one model fits at a time. */
class LinkShareTest {
  private static final long MILLIS = 1_000_000;
  private static final int BYTES = 1 << 20;
  private static final int SCRATCH = 4096;

  @Test
  void shouldNotHoldLoadsAgainstAModelWhenNobodyElseWantedTheLink() {
    TestEngine engine = engine();
    for (int round = 0; round < 10; round++) {
      for (String model : List.of("often", "other")) {
        engine.completed(serve(engine, model));
      }
    }
    engine.submit("busy", row());
    engine.step();
    engine.clock().advance(1);
    Submission first = engine.submit("often", row());
    engine.clock().advance(1);
    Submission second = engine.submit("seldom", row());
    engine.run();
    assertThat(engine.finished()).containsSubsequence(first, second);
  }

  private static Submission serve(TestEngine engine, String model) {
    Submission call = engine.submit(model, row());
    engine.run();
    return call;
  }

  private static TestEngine engine() {
    ResidencyOptions residency = ResidencyOptions.DEFAULT.withUse(HostMemory.COPY).withWiggle(0);
    TestEngine engine =
        new TestEngine(
            SimulatedDeviceOptions.instant((program, arguments, results) -> {})
                .withMemoryBytes(BYTES + SCRATCH)
                .withExecutionNanos(program -> MILLIS)
                .withLinkBytesPerSecond(BYTES * 1000L),
            EngineOptions.builder().discipline(VirtualTime::new).residency(residency).build());
    for (String model : List.of("often", "other", "busy", "seldom")) {
      assertThat(engine.engine().admin().load(TestImage.scaled(model, 1, BYTES)).join().state())
          .isEqualTo(ModelState.READY);
    }
    return engine;
  }

  private static InputTensor row() {
    return Floats.input("x", new long[] {1, 2}, 1, 2);
  }
}
