package dev.roundhouse.hooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.hooks.testing.SampleCalls;
import dev.roundhouse.hooks.testing.SampleCalls.Made;
import dev.roundhouse.hooks.testing.SampleRequest;
import java.nio.ReadOnlyBufferException;
import org.junit.jupiter.api.Test;

class SampleCallsTest {
  private static final Tensors IN = Tensors.of(SampleRequest.f32("x", new float[] {1, 2}, 1, 2));

  private final SampleCalls calls =
      new SampleCalls()
          .with("twice", in -> Tensors.of(doubled(in, "y"), doubled(in, "z")))
          .with(
              "gone",
              in -> {
                throw new CallException("gone", "UNAVAILABLE", "it is away");
              });

  private static Tensor doubled(Tensors in, String name) {
    float[] values = {2 * in.get("x").f32().get(0), 2 * in.get("x").f32().get(1)};
    return SampleRequest.f32(name, values, 1, 2);
  }

  @Test
  void shouldAnswerAndTellWhatWasCalled() {
    assertThat(calls.call("twice", IN).names()).containsExactly("y", "z");
    Calls.Pending pending = calls.forwardAsync("twice", IN, "z");
    assertThat(pending.isDone()).isTrue();
    assertThat(pending.await().names()).containsExactly("z");
    assertThat(pending.await().get("z").f32().get(1)).isEqualTo(4);
    assertThat(calls.called()).containsExactly("twice", "twice");
    assertThat(calls.made().getLast().outputs()).containsExactly("z");
    assertThat(calls.made()).extracting(Made::inputs).containsOnly(IN);
    assertThat(calls.isFinished()).isFalse();
    calls.finish();
    assertThat(calls.isFinished()).isTrue();
  }

  @Test
  void shouldThrowWhereAServerDoes() {
    Calls.Pending pending = calls.callAsync("gone", IN); // not here
    assertThatExceptionOfType(CallException.class)
        .isThrownBy(pending::await)
        .satisfies(e -> assertThat(e.status()).isEqualTo("UNAVAILABLE"));
    assertThatExceptionOfType(CallException.class)
        .isThrownBy(() -> calls.call("twice", IN, "w"))
        .withMessage("model 'twice' has no output 'w'; it has [y, z]");
    assertThatExceptionOfType(IllegalArgumentException.class)
        .isThrownBy(() -> calls.call("other", IN))
        .withMessage("'other' is called, and this test has [twice, gone]");
    Tensor answer = calls.call("twice", IN, "y").get("y");
    assertThatExceptionOfType(ReadOnlyBufferException.class)
        .isThrownBy(() -> answer.f32().put(0, 1f));
  }

  @Test
  void shouldMakeScratchOfZerosThatMayBeWritten() {
    Tensor scratch = calls.scratch("s", DType.I32, 2, 2);
    assertThat(scratch.i32().get(3)).isZero();
    scratch.i32().put(3, 7);
    assertThat(scratch.i32().get(3)).isEqualTo(7);
  }
}
