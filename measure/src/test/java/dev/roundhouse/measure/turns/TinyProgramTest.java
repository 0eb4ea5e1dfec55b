package dev.roundhouse.measure.turns;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.pjrt.PjrtDevice;
import dev.roundhouse.pjrt.PjrtDeviceOptions;
import org.junit.jupiter.api.Test;

class TinyProgramTest {

  @Test
  void shouldBeReadableWhenItHasThreeArguments() {
    assertThat(new TinyProgram(3).code())
        .isEqualTo(
            """
            module @sum {
              func.func public @main(%arg0: tensor<16xf32>, %arg1: tensor<16xf32>, %arg2: tensor<16xf32>) -> tensor<16xf32> {
                %0 = stablehlo.add %arg0, %arg2 : tensor<16xf32>
                return %0 : tensor<16xf32>
              }
            }
            """);
    assertThat(new TinyProgram(3).expectedSum()).isEqualTo(16 * (1 + 3));
  }

  @Test
  void shouldComputeItsSumWhenTheDeviceRunsIt() {
    try (PjrtDevice device = PjrtDevice.open(PjrtDeviceOptions.DEFAULTS)) {
      try (JavaCalls calls = new JavaCalls(device, new TinyProgram(100))) {
        assertThat(calls.run(10).wallNanos()).isPositive();
      }
      assertThat(device.openHandles()).isZero();
    }
  }
}
