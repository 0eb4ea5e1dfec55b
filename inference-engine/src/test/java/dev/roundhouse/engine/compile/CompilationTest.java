package dev.roundhouse.engine.compile;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.ForwardingDevice;
import dev.roundhouse.engine.device.ProgramCompiler;
import dev.roundhouse.engine.device.ProgramSource;
import dev.roundhouse.engine.device.ReferenceFunction;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.time.NanoClock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CompilationTest {
  private static final ProgramSource PROGRAM = program("f32");
  private static final ProgramSource BROKEN =
      new ProgramSource("m/broken", "nonsense".getBytes(StandardCharsets.UTF_8));

  @TempDir private Path root;
  private final SimulatedDevice device = simulated(Long.MAX_VALUE);

  @AfterEach
  void shouldLeaveNothingOpen() {
    assertThat(device.openHandles()).isZero();
    device.close();
  }

  @Test
  void shouldCompileOnceAndLoadAfterARestart() {
    Compilation first = cached(device);
    first.device().compile(PROGRAM).close();
    first.device().compile(PROGRAM).close();
    assertThat(counts(first)).containsExactly(1, 0, 1, 1, 0);

    Compilation second = cached(device);
    try (DeviceProgram program = second.device().compile(PROGRAM)) {
      assertThat(program.name()).isEqualTo(PROGRAM.name());
      assertThat(program.parameters()).hasToString("[f32[4]]");
    }
    assertThat(counts(second)).containsExactly(0, 0, 1, 0, 0);
    assertThat(device.compiles()).isEqualTo(1);
  }

  @Test
  void shouldCompileAgainWhenCodeOrDeviceDiffer() {
    cached(device).device().compile(PROGRAM).close();
    Compilation otherCode = cached(device);
    otherCode.device().compile(program("f16")).close();
    assertThat(counts(otherCode)).containsExactly(1, 0, 0, 1, 0);

    SimulatedDevice smaller = simulated(1 << 20);
    Compilation otherDevice = cached(smaller);
    otherDevice.device().compile(PROGRAM).close();
    assertThat(counts(otherDevice)).containsExactly(1, 0, 0, 1, 0);
    smaller.close();
  }

  @Test
  void shouldRebuildAnEntryThatIsDamaged() throws Exception {
    cached(device).device().compile(PROGRAM).close();
    Path entry = entries().getFirst();
    byte[] bytes = Files.readAllBytes(entry);
    bytes[bytes.length - 1] ^= 1;
    Files.write(entry, bytes);

    Compilation second = cached(device);
    second.device().compile(PROGRAM).close();
    assertThat(counts(second)).containsExactly(1, 0, 0, 1, 1);
    second.device().compile(PROGRAM).close();
    assertThat(counts(second)).containsExactly(1, 0, 1, 1, 1);
  }

  /** Whole, by its checksum, and yet not what the device takes. */
  @Test
  void shouldRebuildAnEntryThatTheDeviceRefuses() {
    ExecutableKey key = ExecutableKey.of(device.compileTarget().orElseThrow(), PROGRAM.code());
    ExecutableCache.open(folder(), 1 << 20).write(key, new byte[100]);
    Compilation compilation = cached(device);
    compilation.device().compile(PROGRAM).close();
    compilation.device().compile(PROGRAM).close();
    assertThat(counts(compilation)).containsExactly(1, 0, 1, 1, 1);
  }

  @Test
  void shouldKeepNothingOfAProgramThatDoesNotCompile() throws Exception {
    Compilation compilation = cached(device);
    assertThatThrownBy(() -> compilation.device().compile(BROKEN))
        .isInstanceOf(DeviceException.class)
        .hasMessageContaining("m/broken");
    assertThat(counts(compilation)).containsExactly(0, 1, 0, 1, 0);
    assertThat(entries()).isEmpty();
  }

  @Test
  void shouldCompileEveryTimeWhereTheDeviceCannotSerialise() throws Exception {
    Device mute =
        new ForwardingDevice(device) {
          @Override
          public Optional<String> compileTarget() {
            return Optional.empty();
          }
        };
    Compilation compilation = cached(mute);
    compilation.device().compile(PROGRAM).close();
    compilation.device().compile(PROGRAM).close();
    assertThat(counts(compilation)).containsExactly(2, 0, 0, 0, 0);
    assertThat(entries()).isEmpty();
  }

  @Test
  void shouldServeAProgramThatCannotBeSerialised() throws Exception {
    Device partly =
        new ForwardingDevice(device) {
          @Override
          public byte[] serialize(DeviceProgram program) {
            throw new DeviceException(Code.UNSUPPORTED, "not this one");
          }
        };
    Compilation compilation = cached(partly);
    compilation.device().compile(PROGRAM).close();
    assertThat(counts(compilation)).containsExactly(1, 0, 0, 1, 0);
    assertThat(entries()).isEmpty();
  }

  /** What went wrong is not the entry's fault, so that stays. */
  @Test
  void shouldKeepTheEntryWhenTheDeviceHasNoRoomToLoadIt() throws Exception {
    cached(device).device().compile(PROGRAM).close();
    Device full =
        new ForwardingDevice(device) {
          @Override
          public DeviceProgram load(String name, byte[] serialized) {
            throw new DeviceException(Code.OUT_OF_MEMORY, "no room for " + name);
          }
        };
    assertThatThrownBy(() -> cached(full).device().compile(PROGRAM))
        .hasMessage("no room for " + PROGRAM.name());
    assertThat(entries()).hasSize(1);
  }

  @Test
  void shouldLoadWhatACompilerElsewhereMade() throws Exception {
    SimulatedDevice elsewhere = simulated(Long.MAX_VALUE);
    Compilation compilation = isolated(elsewhere);
    compilation.device().compile(PROGRAM).close();
    assertThat(device.compiles()).isZero();
    assertThat(elsewhere.compiles()).isEqualTo(1);
    assertThat(entries()).hasSize(1);
    assertThatThrownBy(() -> compilation.device().compile(BROKEN))
        .isInstanceOf(DeviceException.class);
    assertThat(counts(compilation)).containsExactly(1, 1, 0, 2, 0);
    compilation.close();
    assertThatThrownBy(() -> elsewhere.compile(PROGRAM)).hasMessageContaining("closed");
  }

  @Test
  void shouldKeepNothingThatDoesNotLoadHere() throws Exception {
    SimulatedDevice foreign = simulated(1 << 20);
    Compilation compilation = isolated(foreign);
    assertThatThrownBy(() -> compilation.device().compile(PROGRAM))
        .hasMessageContaining("another device");
    assertThat(counts(compilation)).containsExactly(0, 1, 0, 1, 0);
    assertThat(entries()).isEmpty();
    compilation.close();
  }

  private Compilation isolated(SimulatedDevice elsewhere) {
    ProgramCompiler compiler =
        new ProgramCompiler() {
          @Override
          public byte[] compile(ProgramSource source) {
            try (DeviceProgram program = elsewhere.compile(source)) {
              return elsewhere.serialize(program);
            }
          }

          @Override
          public void close() {
            elsewhere.close();
          }
        };
    return new Compilation(
        device, Optional.of(compiler), Optional.of(ExecutableCache.open(folder(), 1 << 20)));
  }

  private Compilation cached(Device on) {
    return new Compilation(
        on, Optional.empty(), Optional.of(ExecutableCache.open(folder(), 1 << 20)));
  }

  /** Compiled, failed, hits, misses, rebuilt. */
  private static List<Integer> counts(Compilation compilation) {
    CompileCounts counts = compilation.counts();
    return Stream.of(
            counts.compiled(), counts.failed(), counts.hits(), counts.misses(), counts.rebuilt())
        .map(Math::toIntExact)
        .toList();
  }

  private List<Path> entries() throws Exception {
    try (Stream<Path> files = Files.list(folder())) {
      return files.toList();
    }
  }

  private Path folder() {
    return root.resolve("executables");
  }

  private static SimulatedDevice simulated(long memoryBytes) {
    return new SimulatedDevice(
        SimulatedDeviceOptions.instant(ReferenceFunction.ZERO).withMemoryBytes(memoryBytes),
        NanoClock.SYSTEM);
  }

  private static ProgramSource program(String type) {
    String text =
        "func.func public @main(%%x: tensor<4x%s>) -> tensor<4x%s> { return %%x : tensor<4x%s> }"
            .formatted(type, type, type);
    return new ProgramSource("m/model.mlir", text.getBytes(StandardCharsets.UTF_8));
  }
}
