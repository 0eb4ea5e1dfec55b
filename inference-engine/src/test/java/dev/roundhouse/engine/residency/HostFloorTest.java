package dev.roundhouse.engine.residency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.bundle.weights.Weight;
import dev.roundhouse.bundle.weights.WeightSource;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Test;

class HostFloorTest {
  private static final Weight WEIGHT = new Weight("w", TensorType.of(DType.U8, 3));

  @Test
  void shouldVerifyTheVeryBytesThatGoToTheDevice() {
    List<MemorySegment> verified = new ArrayList<>();
    WeightSource source =
        new Source(2) {
          @Override
          public void verify(IntFunction<MemorySegment> copies) {
            verified.add(copies.apply(0));
            verified.add(copies.apply(1));
          }
        };
    try (HostFloor floor = HostFloor.of(source)) {
      assertThat(verified.get(0).address()).isEqualTo(floor.tensor(0).address());
      assertThat(verified.get(1).address()).isEqualTo(floor.tensor(1).address());
      assertThat(verified.get(1).toArray(ValueLayout.JAVA_BYTE)).containsExactly(2, 2, 2);
    }
  }

  @Test
  void shouldMakeNoFloorWhenTheWeightsAreNotThosePublished() {
    for (int count : new int[] {0, 2}) {
      assertThatThrownBy(
              () ->
                  HostFloor.of(
                      new Source(count) {
                        @Override
                        public void verify(IntFunction<MemorySegment> copies) {
                          throw new BundleException("weights.safetensors", "was changed");
                        }
                      }))
          .isInstanceOf(BundleException.class);
    }
  }

  private static class Source implements WeightSource {
    private final int count;

    Source(int count) {
      this.count = count;
    }

    @Override
    public List<Weight> arguments() {
      return Collections.nCopies(count, WEIGHT);
    }

    @Override
    public void copyTo(int index, MemorySegment target) {
      target.asSlice(0, 3).fill((byte) (index + 1));
    }
  }
}
