package dev.roundhouse.pjrt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.engine.device.ProgramSource;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class TrialRunsTest {
  @ParameterizedTest
  @EnumSource(names = "BYTES", mode = EnumSource.Mode.EXCLUDE)
  void shouldFillWholeMemoryWhateverTheType(DType type) {
    for (TrialValues values : TrialValues.values()) {
      byte[] bytes = new byte[100 * type.byteSize()];
      values.fill(type, MemorySegment.ofArray(bytes));
      boolean zeros = values == TrialValues.ZEROS;
      if (zeros) {
        assertThat(bytes).containsOnly(0);
      } else {
        assertThat(bytes).as(type + " " + values).isNotEqualTo(new byte[bytes.length]);
      }
      if (type == DType.BOOL) {
        assertThat(bytes).containsOnly(zeros ? new byte[] {0} : new byte[] {0, 1});
      }
    }
  }

  @Test
  void shouldHoldInfinitiesAndEndsOfTheTypeWhenValuesAreExtreme() {
    float[] reals = new float[24];
    int[] integers = new int[24];
    TrialValues.EXTREME.fill(DType.F32, MemorySegment.ofArray(reals));
    TrialValues.EXTREME.fill(DType.I32, MemorySegment.ofArray(integers));
    assertThat(reals)
        .contains(Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY, Float.MAX_VALUE, -1);
    assertThat(integers).contains(Integer.MAX_VALUE, Integer.MIN_VALUE, -1, 0);
  }

  /** A gigabyte of weights, twice, in a process that may take less. */
  @Test
  void shouldTakeNoMemoryForArgumentsThatAreZeros() {
    try (PjrtDevice device = PjrtDevice.open(PjrtDeviceOptions.DEFAULTS);
        PjrtExecutable program =
            device.compile(
                new ProgramSource(
                    "m/wide",
                    """
                    func.func @main(%a: tensor<268435456xf32>, %b: tensor<268435456xf32>) -> tensor<1xf32> {
                      %x = stablehlo.slice %a [5:6] : (tensor<268435456xf32>) -> tensor<1xf32>
                      %y = stablehlo.slice %b [7:8] : (tensor<268435456xf32>) -> tensor<1xf32>
                      %z = stablehlo.add %x, %y : tensor<1xf32>
                      return %z : tensor<1xf32>
                    }
                    """
                        .getBytes(StandardCharsets.UTF_8)))) {
      assertThatCode(
              () -> {
                for (TrialValues values : TrialValues.values()) {
                  device.tryOut(program, values, 1L << 30);
                }
              })
          .doesNotThrowAnyException();
      assertThat(device.openHandles()).isEqualTo(1);
    }
  }
}
