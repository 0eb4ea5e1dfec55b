package dev.roundhouse.pjrt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.device.ProgramSource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Runs that fail: by asking for more memory than there are addresses, which is refused at once. The
 * limit that would refuse such programs at compile is lifted here.
 */
class FailedRunTest {
  private static final TensorType COLUMN = TensorType.of(DType.F32, 1 << 24, 1);

  private final Arena arena = Arena.ofShared();
  private final PjrtDevice device =
      PjrtDevice.open(PjrtDeviceOptions.DEFAULTS.withRunBytesLimit(Long.MAX_VALUE));

  @AfterEach
  void closeDevice() {
    assertThat(device.openHandles()).isZero();
    device.close();
    arena.close();
  }

  @Test
  void shouldKeepNothingWhenTheRunDoesNotStart() {
    TensorType scalar = TensorType.of(DType.F32);
    try (DeviceProgram program =
            compile(
                """
                func.func public @main(%a: tensor<f32>) -> tensor<281474976710656xf32> {
                  %0 = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<281474976710656xf32>
                  return %0 : tensor<281474976710656xf32>
                }
                """);
        DeviceBuffer x =
            device.upload(scalar, MemorySegment.ofArray(new float[] {1}), HostMemory.COPY)) {
      assertThatThrownBy(() -> device.execute(program, new DeviceBuffer[] {x}))
          .isInstanceOfSatisfying(
              DeviceException.class,
              failure -> assertThat(failure.code()).isEqualTo(Code.OUT_OF_MEMORY))
          .hasMessageContaining("fails");
    }
  }

  @Test
  void shouldTellWhoeverWaitsOrReadsWhenTheRunFails() {
    try (DeviceProgram program = scratchTooLarge();
        DeviceBuffer x =
            device.upload(COLUMN, arena.allocate(COLUMN.byteSize(), 64), HostMemory.ALIAS)) {
      try (Execution run = device.execute(program, new DeviceBuffer[] {x})) {
        outOfMemory(run::await);
        assertThat(run.isDone()).isTrue();
        outOfMemory(run::await);
        outOfMemory(() -> run.output(0).read(0, arena.allocate(4)));
      }
    }
  }

  @Test
  void shouldFreeAFailedRunThatNobodyWaitedFor() {
    try (DeviceProgram program = scratchTooLarge();
        DeviceBuffer x =
            device.upload(COLUMN, arena.allocate(COLUMN.byteSize(), 64), HostMemory.ALIAS)) {
      device.execute(program, new DeviceBuffer[] {x}).close();
    }
  }

  private DeviceProgram scratchTooLarge() {
    return compile(
        """
        func.func public @main(%a: tensor<16777216x1xf32>) -> tensor<16777216x1xf32> {
          %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : (tensor<16777216x1xf32>, tensor<16777216x1xf32>) -> tensor<16777216x16777216xf32>
          %1 = stablehlo.sine %0 : tensor<16777216x16777216xf32>
          %2 = stablehlo.dot_general %1, %a, contracting_dims = [1] x [0] : (tensor<16777216x16777216xf32>, tensor<16777216x1xf32>) -> tensor<16777216x1xf32>
          return %2 : tensor<16777216x1xf32>
        }
        """);
  }

  private static void outOfMemory(org.assertj.core.api.ThrowableAssert.ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            DeviceException.class,
            failure -> assertThat(failure.code()).isEqualTo(Code.OUT_OF_MEMORY))
        .hasMessageContaining("run of fails failed");
  }

  private DeviceProgram compile(String text) {
    return device.compile(new ProgramSource("fails", text.getBytes(StandardCharsets.UTF_8)));
  }
}
