package dev.roundhouse.pjrt;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.device.ProgramSource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is seen of XLA's own memory on the CPU is an output's alone, until that is closed. */
class OutputViewTest {
  private static final int NUMBERS = 1 << 16;
  private static final TensorType ROW = TensorType.of(DType.F32, NUMBERS);
  private static final int ROUNDS = 50;

  private final Arena arena = Arena.ofShared();
  private final PjrtDevice device = PjrtDevice.open(PjrtDeviceOptions.DEFAULTS);

  @AfterEach
  void closeDevice() {
    assertThat(device.openHandles()).isZero();
    device.close();
    arena.close();
  }

  /** The input's memory is written to again as soon as the run is over. */
  @ParameterizedTest
  @ValueSource(strings = {"", " {tf.aliasing_output = 0 : i32}", " {jax.buffer_donor = true}"})
  void shouldNotBeTheMemoryOfAnInputThatTheProgramReturns(String attributes) {
    MemorySegment memory = arena.allocate(ROW.byteSize(), 64);
    fill(memory, 1);
    try (DeviceProgram program =
            compile(
                """
                func.func public @main(%%a: tensor<%1$dxf32>%2$s) -> tensor<%1$dxf32> {
                  return %%a : tensor<%1$dxf32>
                }
                """
                    .formatted(NUMBERS, attributes));
        DeviceBuffer x = device.upload(ROW, memory, HostMemory.ALIAS);
        Execution run = device.execute(program, new DeviceBuffer[] {x})) {
      run.await();
      MemorySegment view = run.output(0).view().orElseThrow();
      assertThat(view.asOverlappingSlice(memory)).isEmpty();
      fill(memory, 2);
      assertFilled(view, 1);
    }
  }

  @Test
  void shouldBeKnownForTheCallersMemoryWhereItIs() {
    MemorySegment memory = arena.allocate(2 * ROW.byteSize(), 64);
    MemorySegment first = memory.asSlice(0, ROW.byteSize());
    try (PjrtBuffer x = (PjrtBuffer) device.upload(ROW, first, HostMemory.ALIAS);
        PjrtBuffer copied = (PjrtBuffer) device.upload(ROW, first, HostMemory.COPY)) {
      MemorySegment address = MemorySegment.ofAddress(memory.address() + ROW.byteSize() - 4);
      assertThat(x.aliases(address.reinterpret(8))).isTrue();
      assertThat(x.aliases(memory.asSlice(ROW.byteSize()))).isFalse();
      assertThat(copied.aliases(first)).isFalse();
    }
  }

  @Test
  void shouldEachHaveMemoryOfTheirOwnWhenOneValueIsReturnedTwiceOrIsAConstant() {
    DeviceProgram program =
        compile(
            """
            func.func public @main(%%a: tensor<%1$dxf32>) -> (tensor<%1$dxf32>, tensor<%1$dxf32>, tensor<%1$dxf32>) {
              %%c = stablehlo.constant dense<7.0> : tensor<%1$dxf32>
              %%0 = stablehlo.add %%a, %%a : tensor<%1$dxf32>
              return %%0, %%0, %%c : tensor<%1$dxf32>, tensor<%1$dxf32>, tensor<%1$dxf32>
            }
            """
                .formatted(NUMBERS));
    List<Execution> kept = new ArrayList<>();
    List<MemorySegment> views = new ArrayList<>();
    for (int round = 0; round < ROUNDS; round++) {
      Execution run = run(program, round);
      kept.add(run);
      for (int i = 0; i < 3; i++) {
        views.add(run.output(i).view().orElseThrow());
      }
      run(program, -1).close(); // XLA uses the memory of this one again
    }
    program.close();
    for (int i = 0; i < views.size(); i++) {
      assertFilled(views.get(i), i % 3 == 2 ? 7 : 2 * (i / 3));
      for (int other = 0; other < i; other++) {
        assertThat(views.get(i).asOverlappingSlice(views.get(other))).isEmpty();
      }
    }
    kept.forEach(Execution::close);
  }

  /** As event loops close answers while the dispatch thread starts runs. */
  @Test
  void shouldBeFreedByAnotherThreadBesideRuns() throws InterruptedException {
    try (DeviceProgram program =
        compile(
            """
            func.func public @main(%%a: tensor<%1$dxf32>) -> tensor<%1$dxf32> {
              %%0 = stablehlo.negate %%a : tensor<%1$dxf32>
              return %%0 : tensor<%1$dxf32>
            }
            """
                .formatted(NUMBERS))) {
      List<Throwable> failures = new ArrayList<>();
      for (int round = 0; round < ROUNDS; round++) {
        Execution run = run(program, round);
        float expected = -round;
        MemorySegment view = run.output(0).view().orElseThrow();
        Thread closing =
            Thread.ofPlatform()
                .uncaughtExceptionHandler((thread, failure) -> failures.add(failure))
                .start(
                    () -> {
                      assertFilled(view, expected);
                      run.close();
                    });
        run(program, 1).close();
        closing.join();
      }
      assertThat(failures).isEmpty();
    }
  }

  private Execution run(DeviceProgram program, float value) {
    MemorySegment memory = arena.allocate(ROW.byteSize(), 64);
    fill(memory, value);
    try (DeviceBuffer x = device.upload(ROW, memory, HostMemory.COPY)) {
      Execution run = device.execute(program, new DeviceBuffer[] {x});
      run.await();
      return run;
    }
  }

  private DeviceProgram compile(String text) {
    return device.compile(new ProgramSource("views", text.getBytes(StandardCharsets.UTF_8)));
  }

  private static void fill(MemorySegment memory, float value) {
    for (int i = 0; i < NUMBERS; i++) {
      memory.setAtIndex(ValueLayout.JAVA_FLOAT, i, value);
    }
  }

  private static void assertFilled(MemorySegment view, float value) {
    assertThat(view.byteSize()).isEqualTo(ROW.byteSize());
    for (int i = 0; i < NUMBERS; i++) {
      float found = view.getAtIndex(ValueLayout.JAVA_FLOAT, i);
      if (found != value) {
        assertThat(found).as("number %d", i).isEqualTo(value);
      }
    }
  }
}
