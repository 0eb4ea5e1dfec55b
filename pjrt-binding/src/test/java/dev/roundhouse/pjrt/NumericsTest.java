package dev.roundhouse.pjrt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.device.ProgramSource;
import dev.roundhouse.engine.numerics.Numerics;
import dev.roundhouse.engine.numerics.Numerics.ProbeWhen;
import dev.roundhouse.engine.numerics.NumericsException;
import dev.roundhouse.engine.numerics.NumericsPolicy;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Policies of numerics on XLA's CPU client, which multiplies in f32 and has no TF32. */
class NumericsTest {
  private static final Path VECTORS = Path.of("../model-bundle/src/test/resources/products");
  private static final TensorType MATRIX = TensorType.of(DType.F32, 4, 4);

  /** XLA refuses TF32 where it emits a product element by element, as it does one of 1x1. */
  private static final String SMALL_TF32 =
      """
      func.func public @main(%a: tensor<1x1xf32>) -> tensor<1x1xf32> {
        %y = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
        return %y : tensor<1x1xf32>
      }
      """;

  private final Device device = PjrtDevice.open(PjrtDeviceOptions.DEFAULTS);

  @AfterEach
  void close() {
    device.close();
  }

  @Test
  void shouldGiveBackEveryBitWhenProbed() {
    assertThat(Numerics.start(device, NumericsPolicy.F32, ProbeWhen.ALWAYS).summary())
        .startsWith("f32: every product in f32; probe: in f32 (");
    assertThat(Numerics.start(device, NumericsPolicy.AUTO, ProbeWhen.ALWAYS).summary())
        .contains("probe: in f32 (");
  }

  @Test
  void shouldRefuseTf32() {
    assertThatThrownBy(() -> Numerics.start(device, NumericsPolicy.TF32, ProbeWhen.AUTO))
        .isInstanceOf(NumericsException.class)
        .hasMessageContaining("(cpu) has no TF32");
  }

  @Test
  void shouldCompileWhatXlaRefusesWhenTheAlgorithmIsRewritten() {
    ProgramSource source = new ProgramSource("tf32", SMALL_TF32.getBytes(StandardCharsets.UTF_8));
    assertThatThrownBy(() -> device.compile(source).close())
        .isInstanceOf(DeviceException.class)
        .hasMessageContaining("ALG_DOT_TF32_TF32_F32");
    for (NumericsPolicy policy : new NumericsPolicy[] {NumericsPolicy.AUTO, NumericsPolicy.F32}) {
      Numerics.start(device, policy, ProbeWhen.AUTO).device().compile(source).close();
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"every_kind.text.mlir", "every_kind.artifact.mlir", "nested.artifact.mlir"})
  void shouldComputeAsTheExportInF32WhenAFileAsksForTf32(String file) throws IOException {
    byte[] code = Files.readAllBytes(VECTORS.resolve(file));
    // Equal to the exporter's own f32 program, as its tests have it.
    byte[] exact = Files.readAllBytes(VECTORS.resolve(file + ".every_product"));
    float[] wanted = run(device, exact);

    for (NumericsPolicy policy : new NumericsPolicy[] {NumericsPolicy.AUTO, NumericsPolicy.F32}) {
      Device governed = Numerics.start(device, policy, ProbeWhen.AUTO).device();
      assertThat(run(governed, code)).as(policy.name()).containsExactly(wanted);
    }
  }

  private static float[] run(Device device, byte[] code) {
    try (Arena arena = Arena.ofShared();
        DeviceProgram program = device.compile(new ProgramSource("net", code))) {
      MemorySegment values = arena.allocate(MATRIX.byteSize(), 64);
      for (int i = 0; i < 16; i++) {
        values.setAtIndex(ValueLayout.JAVA_FLOAT, i, (i - 7) / 23f);
      }
      MemorySegment result = arena.allocate(MATRIX.byteSize(), 64);
      try (DeviceBuffer x = device.upload(MATRIX, values, HostMemory.COPY);
          DeviceBuffer w = device.upload(MATRIX, values, HostMemory.COPY);
          Execution execution = device.execute(program, new DeviceBuffer[] {x, w})) {
        execution.await();
        execution.output(0).read(0, result);
      }
      return result.toArray(ValueLayout.JAVA_FLOAT);
    }
  }
}
