package dev.roundhouse.engine.numerics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceDescription;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.ForwardingDevice;
import dev.roundhouse.engine.device.ProgramSource;
import dev.roundhouse.engine.device.ReferenceFunction;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.numerics.Numerics.ProbeWhen;
import dev.roundhouse.engine.time.NanoClock;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class NumericsTest {
  private static final ProgramSource TF32_DOT = source("tf32", "tf32");

  /** A device of any platform that rounds as a test says, and remembers what it compiled. */
  private static final class Rounding extends ForwardingDevice {
    final List<String> compiled = new ArrayList<>();
    private final String platform;
    private final Map<String, String> attributes;

    Rounding(String platform, Map<String, String> attributes, ReferenceFunction function) {
      super(new SimulatedDevice(SimulatedDeviceOptions.instant(function), NanoClock.SYSTEM));
      this.platform = platform;
      this.attributes = attributes;
    }

    @Override
    public DeviceDescription description() {
      return new DeviceDescription(platform, "Test 9000", 0, true, false, attributes);
    }

    @Override
    public DeviceProgram compile(ProgramSource source) {
      compiled.add(new String(source.code(), StandardCharsets.UTF_8));
      return super.compile(source);
    }
  }

  private static Rounding gpu(String capability, UnaryOperator<Float> rounding) {
    return new Rounding("cuda", Map.of("compute_capability", capability), product(rounding));
  }

  /** The product by the identity, with each factor rounded. */
  private static ReferenceFunction product(UnaryOperator<Float> rounding) {
    return (program, arguments, results) -> {
      MemorySegment left = arguments.getFirst();
      for (long i = 0; i < left.byteSize() / 4; i++) {
        float value = left.getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i);
        results.getFirst().setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i, rounding.apply(value));
      }
    };
  }

  /** To the nearest of 10 bits, ties to even. */
  private static float toTf32(float value) {
    int bits = Float.floatToRawIntBits(value);
    int rounded = bits + 0xFFF + (bits >>> 13 & 1);
    return Float.intBitsToFloat(rounded & 0xFFFFE000);
  }

  private static float cutToTf32(float value) {
    return Float.intBitsToFloat(Float.floatToRawIntBits(value) & 0xFFFFE000);
  }

  @Test
  void shouldLoseEverySentinelWhenRoundedToTf32() {
    for (int i = 0; i < NumericsProbe.SIDE * NumericsProbe.SIDE; i++) {
      float sentinel = NumericsProbe.sentinel(i);
      assertThat(sentinel).isBetween(1f, 1.001f);
      assertThat(toTf32(sentinel)).isNotEqualTo(sentinel);
    }
  }

  @Test
  void shouldStartUnderF32WhenEveryBitComesBack() {
    try (Rounding device = gpu("9.0", value -> value)) {
      Numerics numerics = Numerics.start(device, NumericsPolicy.F32, ProbeWhen.AUTO);
      assertThat(numerics.summary()).startsWith("f32: every product in f32; probe: in f32 (");
      assertThat(device.compiled).singleElement().asString().contains("[HIGHEST, HIGHEST]");
    }
  }

  @Test
  void shouldRefuseF32WhenTheDeviceRounds() {
    for (UnaryOperator<Float> rounding :
        List.<UnaryOperator<Float>>of(
            NumericsTest::toTf32, NumericsTest::cutToTf32, value -> value + 0x1p-23f)) {
      try (Rounding device = gpu("9.0", rounding)) {
        assertThatThrownBy(() -> Numerics.start(device, NumericsPolicy.F32, ProbeWhen.AUTO))
            .isInstanceOf(NumericsException.class)
            .hasMessageContaining("'Test 9000' (cuda)")
            .hasMessageContaining("Use numerics auto");
      }
    }
  }

  @Test
  void shouldTellWhatItSawWhenTheDeviceMayRound() {
    try (Rounding nearest = gpu("8.0", NumericsTest::toTf32);
        Rounding cut = gpu("8.0", NumericsTest::cutToTf32);
        Rounding wrong = gpu("8.0", value -> 0f)) {
      assertThat(Numerics.start(nearest, NumericsPolicy.AUTO, ProbeWhen.AUTO).summary())
          .startsWith("auto: programs as they are; probe: in TF32 (");
      assertThat(Numerics.start(cut, NumericsPolicy.TF32, ProbeWhen.AUTO).summary())
          .startsWith("tf32: programs as they are; probe: in TF32 (");
      assertThat(Numerics.start(wrong, NumericsPolicy.AUTO, ProbeWhen.AUTO).summary())
          .startsWith("auto: programs as they are; probe: neither in f32 nor in TF32 (");
    }
  }

  @ParameterizedTest
  @CsvSource({
    "cpu, '', NO",
    "simulated, '', NO",
    "cuda, 9.0, YES",
    "cuda, 8.0, YES",
    "cuda, 12, YES",
    "cuda, 7.5, NO",
    "cuda, '', UNKNOWN",
    "cuda, volta, UNKNOWN",
    "rocm, '', UNKNOWN"
  })
  void shouldKnowWhoHasTf32(String platform, String capability, Tf32Support expected) {
    Map<String, String> attributes =
        capability.isEmpty() ? Map.of() : Map.of(Tf32Support.COMPUTE_CAPABILITY, capability);
    assertThat(Tf32Support.of(new DeviceDescription(platform, "kind", 0, false, false, attributes)))
        .isEqualTo(expected);
  }

  @Test
  void shouldRefuseTf32WhenTheDeviceHasNone() {
    for (Rounding device :
        List.of(
            gpu("7.5", value -> value), new Rounding("cpu", Map.of(), product(value -> value)))) {
      try (device) {
        assertThatThrownBy(() -> Numerics.start(device, NumericsPolicy.TF32, ProbeWhen.AUTO))
            .isInstanceOf(NumericsException.class)
            .hasMessageContaining("has no TF32; use auto");
        assertThat(device.compiled).isEmpty();
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
    "AUTO, cpu, '', f32",
    "AUTO, cuda, 7.5, f32",
    "AUTO, cuda, 9.0, tf32",
    "AUTO, cuda, '', tf32",
    "TF32, cuda, 9.0, tf32",
    "F32, cuda, 9.0, f32",
    "F32, cpu, '', f32"
  })
  void shouldCompileTheAlgorithmThatThePolicyAllows(
      NumericsPolicy policy, String platform, String capability, String expected) {
    Map<String, String> attributes =
        capability.isEmpty() ? Map.of() : Map.of(Tf32Support.COMPUTE_CAPABILITY, capability);
    try (Rounding device = new Rounding(platform, attributes, product(value -> value))) {
      Device governed = Numerics.start(device, policy, ProbeWhen.AUTO).device();
      device.compiled.clear();
      governed.compile(TF32_DOT).close();
      assertThat(device.compiled)
          .containsExactly(new String(source("tf32", expected).code(), StandardCharsets.UTF_8));
    }
  }

  @Test
  void shouldProbeTheCpuOnlyWhenAsked() {
    try (Rounding device = new Rounding("cpu", Map.of(), product(value -> value))) {
      assertThat(Numerics.start(device, NumericsPolicy.AUTO, ProbeWhen.AUTO).summary())
          .isEqualTo(
              "auto: TF32 algorithms in f32, as the device has no TF32; probe: not run on cpu");
      assertThat(device.compiled).isEmpty();
      assertThat(Numerics.start(device, NumericsPolicy.AUTO, ProbeWhen.ALWAYS).summary())
          .contains("probe: in f32 (");
    }
  }

  @ParameterizedTest
  @EnumSource(NumericsPolicy.class)
  void shouldStartWithoutAFindingUnlessF32WhenTheProbeFails(NumericsPolicy policy) {
    ReferenceFunction failing =
        (program, arguments, results) -> {
          throw new DeviceException(DeviceException.Code.INTERNAL, "no");
        };
    Map<String, String> attributes = Map.of(Tf32Support.COMPUTE_CAPABILITY, "9.0");
    try (Rounding device = new Rounding("cuda", attributes, failing)) {
      switch (policy) {
        case F32 ->
            assertThatThrownBy(() -> Numerics.start(device, policy, ProbeWhen.AUTO))
                .isInstanceOf(NumericsException.class)
                .hasMessageContaining("failed when that was probed");
        case AUTO, TF32 ->
            assertThat(Numerics.start(device, policy, ProbeWhen.AUTO).summary())
                .endsWith("probe: failed");
      }
    }
  }

  @ParameterizedTest
  @EnumSource(NumericsPolicy.class)
  @Timeout(60)
  void shouldGiveUpUnderEveryPolicyWhenTheProbeNeverEnds(NumericsPolicy policy) {
    CountDownLatch ended = new CountDownLatch(1);
    ReferenceFunction endless =
        (program, arguments, results) -> {
          try {
            ended.await();
          } catch (InterruptedException e) {
            throw new IllegalStateException(e);
          }
        };
    Rounding device = new Rounding("cuda", Map.of(Tf32Support.COMPUTE_CAPABILITY, "9.0"), endless);
    try {
      Duration limit = Duration.ofMillis(20);
      assertThatThrownBy(() -> Numerics.start(device, policy, ProbeWhen.AUTO, limit))
          .isInstanceOf(DeviceHangsException.class)
          .hasMessageContainingAll("'Test 9000' (cuda)", "within 20 ms");
      assertThatThrownBy(device::close)
          .as("the probe is still in it")
          .isInstanceOf(DeviceException.class);
    } finally {
      ended.countDown();
    }
  }

  @Test
  void shouldRefuseAProgramByNameWhenItCannotBeRewritten() {
    byte[] cut = {'M', 'L', (byte) 0xEF, 'R', 13, 'S', 0};
    try (Rounding device = gpu("9.0", value -> value)) {
      Device governed = Numerics.start(device, NumericsPolicy.F32, ProbeWhen.AUTO).device();
      assertThatThrownBy(() -> governed.compile(new ProgramSource("net/model.mlir", cut)))
          .isInstanceOf(BundleException.class)
          .hasMessageStartingWith("net/model.mlir: cannot be made to compute in f32");
    }
  }

  private static ProgramSource source(String name, String type) {
    String text =
        """
        func.func public @main(%%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
          %%y = stablehlo.dot_general %%a, %%a, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = %s, rhs_precision_type = %s, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
          return %%y : tensor<4x4xf32>
        }
        """
            .formatted(type, type);
    return new ProgramSource(name, text.getBytes(StandardCharsets.UTF_8));
  }
}
