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
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
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
    try (PjrtExecutable loaded = device.load("square", serialized)) {
      assertThat(loaded.parameters()).containsExactly(TYPE);
      assertThat(loaded.results()).containsExactly(TYPE, TensorType.of(DType.F32));
      assertSquares(loaded);
    }
  }

  @Test
  void shouldLoadEqualProgramsOnceAndEachUnderItsName() {
    byte[] serialized;
    try (PjrtExecutable compiled = device.compile(SQUARE)) {
      serialized = compiled.serialize();
    }
    PjrtExecutable first = device.load("first", serialized);
    PjrtExecutable second = device.load("second", serialized);
    assertThat(second.loaded()).isSameAs(first.loaded());
    first.close();
    first.close();
    assertThatThrownBy(() -> device.execute(first, new DeviceBuffer[] {}))
        .hasMessageContaining("program first is closed");
    assertThatThrownBy(() -> device.execute(second, new DeviceBuffer[] {}))
        .hasMessage("second: takes 1 arguments, got 0");
    assertSquares(second);
    second.close();
    try (PjrtExecutable again = device.load("again", serialized)) {
      assertThat(again.loaded()).isNotSameAs(second.loaded());
      assertSquares(again);
    }
    assertThat(device.openHandles()).isZero();
  }

  @Test
  void shouldKeepWhatIsLoadedForAsLongAsSomebodyHasItWhenManyComeAndGo() throws Exception {
    byte[] serialized;
    try (PjrtExecutable compiled = device.compile(SQUARE)) {
      serialized = compiled.serialize();
    }
    List<Callable<Void>> users = new ArrayList<>();
    for (int user = 0; user < 4; user++) {
      users.add(
          () -> {
            for (int i = 0; i < 50; i++) {
              try (PjrtExecutable program = device.load("square", serialized)) {
                assertSquares(program);
              }
            }
            return null;
          });
    }
    try (ExecutorService threads = Executors.newFixedThreadPool(users.size())) {
      for (Future<Void> user : threads.invokeAll(users)) {
        user.get();
      }
    }
    assertThat(device.openHandles()).isZero();
    assertThat(device.loadedExecutables()).isZero();
  }

  private void assertSquares(PjrtExecutable program) {
    try (DeviceBuffer x =
            device.upload(TYPE, MemorySegment.ofArray(new float[] {1, 2, 3, 4}), HostMemory.COPY);
        Execution run = device.execute(program, new DeviceBuffer[] {x})) {
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
    assertThat(envelope.unwrap("m", envelope.wrap(payload)).bytes()).isEqualTo(payload);
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
