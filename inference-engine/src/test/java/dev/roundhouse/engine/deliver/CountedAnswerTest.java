package dev.roundhouse.engine.deliver;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.engine.model.ModelImage;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.HookedDevice.Call;
import dev.roundhouse.engine.testing.TestEngine;
import dev.roundhouse.engine.testing.TestImage;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Answers of a model {@code x f32[n,1] -> line f32[n,16], rest f32[n,1]}, version 1. */
class CountedAnswerTest {
  private static final int BLOCKS_PER_SLAB = 64;
  private static final int ROUNDS = 200;

  private final TestEngine engine = TestEngine.of((program, arguments, results) -> {});

  /** Where the outputs of an answer lay: one list per answer. */
  private final List<List<Long>> addresses = new ArrayList<>();

  private final Set<String> versions = new HashSet<>();

  @BeforeEach
  void load() {
    ModelImage image =
        TestImage.of(
            "m",
            List.of(TestImage.tensor("x", Axis.BATCH, new Axis.Fixed(1))),
            List.of(
                TestImage.tensor("line", Axis.BATCH, new Axis.Fixed(16)),
                TestImage.tensor("rest", Axis.BATCH, new Axis.Fixed(1))),
            List.of(),
            1);
    assertThat(engine.engine().admin().load(image).join().state()).isEqualTo(ModelState.READY);
  }

  @Test
  void shouldLieInMemoryThatEarlierAnswersGaveBack() {
    for (int round = 0; round < ROUNDS; round++) {
      call();
    }
    assertThat(addresses).hasSize(ROUNDS);
    assertThat(new HashSet<>(addresses)).hasSizeLessThanOrEqualTo(BLOCKS_PER_SLAB);
    assertThat(versions).containsExactly("1");
    engine.assertQuiescent();
  }

  @Test
  void shouldGiveItsMemoryBackWhenItCannotBeFilled() {
    boolean[] fails = {false};
    engine.hook(
        (call, of) -> {
          if (call == Call.READ && fails[0]) {
            throw new IllegalStateException("made by a test");
          }
        });
    for (int round = 0; round < ROUNDS; round++) {
      fails[0] = true;
      call();
      fails[0] = false;
      call();
    }
    assertThat(addresses).hasSize(ROUNDS);
    assertThat(new HashSet<>(addresses)).hasSizeLessThanOrEqualTo(BLOCKS_PER_SLAB);
    engine.assertQuiescent();
  }

  @Test
  void shouldHoldItsOutputsOneAfterTheOtherInWholeLines() {
    call();
    List<Long> outputs = addresses.getFirst();
    assertThat(outputs.get(0) % 64).isZero();
    assertThat(outputs.get(1) - outputs.get(0)).isEqualTo(64);
  }

  private void call() {
    AnswerSink sink =
        new AnswerSink() {
          @Override
          public void onPart(Answer part) {
            versions.add(part.modelVersion());
            addresses.add(part.outputs().stream().map(CountedAnswerTest::address).toList());
            part.close();
          }

          @Override
          public void onEnd(Outcome outcome) {}
        };
    engine
        .engine()
        .submit(
            InferenceRequest.of("m", List.of(Floats.input("x", new long[] {1, 1}, 1)), sink)
                .build());
    engine.run();
  }

  private static long address(OutputTensor output) {
    return output.data().address();
  }
}
