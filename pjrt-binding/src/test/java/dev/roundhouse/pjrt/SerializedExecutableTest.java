package dev.roundhouse.pjrt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.device.ProgramSource;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class SerializedExecutableTest {
  private static final TensorType TYPE = TensorType.of(DType.F32, 2, 2);
  private static final ProgramSource SQUARE =
      new ProgramSource(
          "square",
          """
          func.func public @main(%a: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<f32>) {
            %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
            %1 = stablehlo.constant dense<7.0> : tensor<f32>
            return %0, %1 : tensor<2x2xf32>, tensor<f32>
          }
          """
              .getBytes(StandardCharsets.UTF_8));

  private final PjrtDevice device = PjrtDevice.open(PjrtDeviceOptions.DEFAULTS);

  @AfterEach
  void closeDevice() {
    device.close();
  }

  @Test
  void shouldRunTheSameWhenLoadedAgain() {
    byte[] serialized;
    try (PjrtExecutable compiled = device.compile(SQUARE)) {
      serialized = compiled.serialize();
    }
    try (PjrtExecutable loaded = device.load("square", serialized);
        DeviceBuffer x =
            device.upload(TYPE, MemorySegment.ofArray(new float[] {1, 2, 3, 4}), HostMemory.COPY);
        Execution run = device.execute(loaded, new DeviceBuffer[] {x})) {
      assertThat(loaded.parameters()).containsExactly(TYPE);
      assertThat(loaded.results()).containsExactly(TYPE, TensorType.of(DType.F32));
      float[] square = new float[4];
      run.output(0).read(0, MemorySegment.ofArray(square));
      assertThat(square).containsExactly(7, 10, 15, 22);
    }
  }

  @Test
  void shouldRefuseWhatAnotherPluginBuildOrMachineWrote() {
    byte[] here = new byte[Sha256.BYTES];
    byte[] elsewhere = new byte[Sha256.BYTES];
    elsewhere[31] = 1;
    byte[] payload = {1, 2, 3};
    ExecutableEnvelope envelope = new ExecutableEnvelope(here, here);
    assertThat(envelope.unwrap("m", envelope.wrap(payload))).isEqualTo(payload);
    assertThatThrownBy(
            () -> envelope.unwrap("m", new ExecutableEnvelope(elsewhere, here).wrap(payload)))
        .isInstanceOf(DeviceException.class)
        .hasMessageContaining("the plugin file");
    assertThatThrownBy(
            () -> envelope.unwrap("m", new ExecutableEnvelope(here, elsewhere).wrap(payload)))
        .isInstanceOf(DeviceException.class)
        .hasMessageContaining("CPU features");
  }
}
