package dev.roundhouse.engine.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.SimulatedDeviceOptions.Pinning;
import dev.roundhouse.engine.time.ManualClock;
import dev.roundhouse.engine.time.NanoClock;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

class SimulatedDeviceTest {
  private static final TensorType ROW = TensorType.of(DType.F32, 1, 250);

  private static final long RUN_NANOS = 5_000;

  /** {@code y = 2x} for f32. */
  private static final ReferenceFunction DOUBLE =
      (program, arguments, results) -> {
        var f32 = ValueLayout.JAVA_FLOAT_UNALIGNED;
        for (long i = 0; i < arguments.getFirst().byteSize() / Float.BYTES; i++) {
          results.getFirst().setAtIndex(f32, i, 2 * arguments.getFirst().getAtIndex(f32, i));
        }
      };

  private final ManualClock clock = new ManualClock();
  private final AtomicInteger computed = new AtomicInteger();
  private SimulatedDevice device =
      new SimulatedDevice(
          SimulatedDeviceOptions.instant(
                  (program, arguments, results) -> computed.incrementAndGet())
              .withExecutionNanos(program -> RUN_NANOS),
          clock);

  @Test
  void shouldReadIntoPinnedMemoryOnlyWhenThatIsRequired() {
    SimulatedDevice device =
        new SimulatedDevice(
            SimulatedDeviceOptions.instant(DOUBLE).withPinning(Pinning.REQUIRED), clock);
    try (Arena arena = Arena.ofShared();
        DeviceBuffer x = upload(device)) {
      long page = PinnedMemory.PAGE_BYTES;
      MemorySegment pages = arena.allocate(2 * page, page);
      MemorySegment first = pages.asSlice(0, page);
      assertRefused(() -> x.read(0, first.asSlice(0, 8)), "not in pinned memory");
      PinnedMemory pin = device.pin(first).orElseThrow();
      x.read(0, first.asSlice(0, 8));
      x.read(0, first.asSlice(page - 8, 8));
      assertRefused(() -> x.read(0, pages.asSlice(page - 4, 8)), "not in pinned memory");
      assertRefused(() -> x.read(0, MemorySegment.ofArray(new byte[8])), "not in pinned memory");
      assertThat(device.openHandles()).isEqualTo(2);
      pin.close();
      assertRefused(() -> x.read(0, first.asSlice(0, 8)), "not in pinned memory");
    }
    device.close();
  }

  @Test
  void shouldStopWorkingWhenPinnedMemoryWasFreed() {
    SimulatedDevice device =
        new SimulatedDevice(
            SimulatedDeviceOptions.instant(DOUBLE).withPinning(Pinning.OFFERED), clock);
    DeviceProgram program = device.compile(doubling());
    DeviceBuffer x = upload(device);
    Arena arena = Arena.ofShared();
    PinnedMemory pin =
        device.pin(arena.allocate(PinnedMemory.PAGE_BYTES, PinnedMemory.PAGE_BYTES)).orElseThrow();
    arena.close();
    assertRefused(() -> device.execute(program, new DeviceBuffer[] {x}), "freed while");
    assertRefused(() -> x.read(0, MemorySegment.ofArray(new byte[8])), "freed while");
    assertRefused(pin::close, "freed while");
    x.read(0, MemorySegment.ofArray(new byte[8]));
    x.close();
    program.close();
    device.close();
  }

  @Test
  void shouldTakeTheTimeThatLinkAndExecutionTake() {
    SimulatedDevice device =
        new SimulatedDevice(
            SimulatedDeviceOptions.instant(DOUBLE)
                .withMaxInFlight(2)
                .withLinkBytesPerSecond(1_000_000_000)
                .withExecutionNanos(program -> 5_000),
            clock);
    DeviceProgram program = device.compile(doubling());
    DeviceBuffer x = upload(device);
    Execution first = device.execute(program, new DeviceBuffer[] {x});
    Execution second = device.execute(program, new DeviceBuffer[] {x});
    clock.advance(5_999); // 1000 bytes take 1000 ns to cross the link, the run 5000
    assertThat(first.isDone()).isFalse();
    clock.advance(1);
    assertThat(first.isDone()).isTrue();
    assertThat(second.isDone()).isFalse();
    second.await();
    assertThat(clock.nanoTime()).isEqualTo(11_000);
    first.close();
    second.close();
    x.close();
    program.close();
    device.close();
  }

  @Test
  void shouldCallBackFromTheCallThatNoticesTheEndWhenTheClockStandsStill() {
    SimulatedDevice device =
        new SimulatedDevice(
            SimulatedDeviceOptions.instant(DOUBLE).withExecutionNanos(p -> 5_000), clock);
    AtomicInteger calls = new AtomicInteger();
    try (DeviceProgram program = device.compile(doubling());
        DeviceBuffer x = upload(device);
        Execution run = device.execute(program, new DeviceBuffer[] {x})) {
      run.onDone(calls::incrementAndGet);
      clock.advance(4_999);
      assertThat(run.isDone()).isFalse();
      clock.advance(1);
      assertThat(calls).hasValue(0);
      assertThat(run.isDone()).isTrue();
      assertThat(calls).hasValue(1);
      run.await();
      assertThat(calls).hasValue(1);
    }
  }

  @Test
  void shouldCallBackByItselfWhenTheClockIsTheSystems() throws Exception {
    SimulatedDevice device =
        new SimulatedDevice(
            SimulatedDeviceOptions.instant(DOUBLE).withExecutionNanos(p -> 2_000_000),
            NanoClock.SYSTEM);
    try (DeviceProgram program = device.compile(doubling());
        DeviceBuffer x = upload(device);
        Execution run = device.execute(program, new DeviceBuffer[] {x})) {
      CompletableFuture<Boolean> told = new CompletableFuture<>();
      run.onDone(() -> told.complete(run.isDone()));
      assertThat(told.get(20, TimeUnit.SECONDS)).isTrue();
    }
  }

  @Test
  void shouldRefuseWhatDoesNotFitInMemoryAndSayHowMuchIsInUse() {
    SimulatedDevice device =
        new SimulatedDevice(SimulatedDeviceOptions.instant(DOUBLE).withMemoryBytes(1_500), clock);
    DeviceBuffer x = upload(device);
    assertThatThrownBy(() -> upload(device))
        .isInstanceOfSatisfying(
            DeviceException.class,
            e -> assertThat(e.code()).isEqualTo(DeviceException.Code.OUT_OF_MEMORY))
        .hasMessageContaining("1000 bytes wanted, 1000 of 1500 in use");
    x.close();
    upload(device).close();
    assertThat(device.memory().inUse()).hasValue(0);
    assertThat(device.memory().peak()).hasValue(1_000);
  }

  @Test
  void shouldComputeWhenTheRunEnds() {
    try (DeviceProgram program = device.compile(doubling());
        DeviceBuffer x = upload(device)) {
      Execution run = device.execute(program, new DeviceBuffer[] {x});
      assertThat(computed).hasValue(0);
      clock.advance(RUN_NANOS);
      assertThat(computed).hasValue(0);
      assertThat(run.isDone()).isTrue();
      assertThat(computed).hasValue(1);
      run.await();
      run.close();
      run.close();
      assertThat(computed).hasValue(1);
    }
  }

  @Test
  void shouldFailTheRunWhenAliasedMemoryIsTouchedUnderIt() {
    try (Arena arena = Arena.ofShared();
        DeviceProgram program = device.compile(doubling())) {
      MemorySegment staging = arena.allocate(1_000, 64);
      DeviceBuffer x = device.upload(ROW, staging, Device.HostMemory.ALIAS);
      Execution run = device.execute(program, new DeviceBuffer[] {x});
      staging.set(ValueLayout.JAVA_BYTE, 999, (byte) 1);
      clock.advance(RUN_NANOS);
      assertThat(run.isDone()).isTrue();
      assertThatThrownBy(run::await)
          .isInstanceOf(DeviceException.class)
          .hasMessageContaining("changed while the run read it");
      assertThatThrownBy(() -> run.output(0).read(0, MemorySegment.ofArray(new byte[4])))
          .isInstanceOf(DeviceException.class);
      assertThat(computed).hasValue(0);
      run.close();
      x.close();
    }
  }

  @Test
  void shouldNoticeAChangeOfLargeAliasedMemory() {
    byte[] data = new byte[1 << 20];
    MemorySegment memory = MemorySegment.ofArray(data);
    long before = Checksum.of(memory);
    memory.asSlice(1 << 19, 1 << 10).fill((byte) 1);
    assertThat(Checksum.of(memory)).isNotEqualTo(before);
  }

  @Test
  void shouldFailTheRunWhenAliasedMemoryIsFreedUnderIt() {
    try (DeviceProgram program = device.compile(doubling())) {
      Arena arena = Arena.ofShared();
      DeviceBuffer x = device.upload(ROW, arena.allocate(1_000, 64), Device.HostMemory.ALIAS);
      Execution run = device.execute(program, new DeviceBuffer[] {x});
      arena.close();
      assertThatThrownBy(run::await)
          .isInstanceOfSatisfying(
              DeviceException.class,
              e -> assertThat(e.code()).isEqualTo(DeviceException.Code.CLOSED));
      run.close();
      x.close();
    }
  }

  @Test
  void shouldRefuseASecondRunUntilTheEndOfTheFirstIsNoticed() {
    try (DeviceProgram program = device.compile(doubling());
        DeviceBuffer x = upload(device)) {
      DeviceBuffer[] arguments = {x};
      Execution first = device.execute(program, arguments);
      clock.advance(RUN_NANOS);
      assertThatThrownBy(() -> device.execute(program, arguments))
          .isInstanceOf(DeviceException.class)
          .hasMessageContaining("1 of at most 1 runs are under way");
      assertThat(first.isDone()).isTrue();
      device.execute(program, arguments).close();
      first.close();
    }
  }

  @Test
  void shouldRefuseToCloseAnOutputOfARunThatIsNotOver() {
    try (DeviceProgram program = device.compile(doubling());
        DeviceBuffer x = upload(device);
        Execution run = device.execute(program, new DeviceBuffer[] {x})) {
      assertThatThrownBy(() -> run.output(0).close())
          .isInstanceOf(DeviceException.class)
          .hasMessageContaining("in use");
    }
  }

  @Test
  void shouldFailEveryCallOnceARunHasLostTheDevice() {
    device =
        new SimulatedDevice(
            SimulatedDeviceOptions.instant(
                (program, arguments, results) -> {
                  throw new DeviceException(DeviceException.Code.DEVICE_LOST, "gone");
                }),
            clock);
    try (DeviceProgram program = device.compile(doubling());
        DeviceBuffer x = upload(device)) {
      DeviceBuffer[] arguments = {x};
      Execution run = device.execute(program, arguments);
      lost(run::await);
      run.close();
      lost(() -> device.execute(program, arguments));
      lost(() -> upload(device));
      lost(() -> device.compile(doubling()));
    }
    device.close();
  }

  private static void lost(ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            DeviceException.class,
            e -> assertThat(e.code()).isEqualTo(DeviceException.Code.DEVICE_LOST))
        .hasMessageContaining("gone");
  }

  private static ProgramSource doubling() {
    String text =
        """
        module {
          func.func public @main(%x: tensor<1x250xf32>) -> tensor<1x250xf32> {
            %0 = stablehlo.add %x, %x : tensor<1x250xf32>
            return %0 : tensor<1x250xf32>
          }
        }
        """;
    return new ProgramSource("double", text.getBytes(StandardCharsets.UTF_8));
  }

  private static DeviceBuffer upload(Device device) {
    return device.upload(ROW, MemorySegment.ofArray(new byte[1_000]), Device.HostMemory.COPY);
  }

  private static void assertRefused(ThrowingCallable call, String text) {
    assertThatThrownBy(call).isInstanceOf(DeviceException.class).hasMessageContaining(text);
  }
}
