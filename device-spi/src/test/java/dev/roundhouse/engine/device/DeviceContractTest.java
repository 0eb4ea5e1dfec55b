package dev.roundhouse.engine.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.Device.HostMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * What every {@link Device} does. A subclass opens the device under test in {@link #openDevice()};
 * one that does not compile StableHLO overrides {@link #affine()} and {@link #sumAndDifference()}
 * with sources its own device understands as the same two functions.
 *
 * <p>Each test gets a device of its own and closes it at the end; {@link Device#close} refuses open
 * handles, so a test that leaks one fails.
 */
public abstract class DeviceContractTest implements PartedUploadContract {
  /** Type of all three arguments and the result of {@link #affine()}. */
  protected static final TensorType AFFINE = TensorType.of(DType.F32, 4);

  /** Type of both arguments and both results of {@link #sumAndDifference()}. */
  protected static final TensorType INTEGERS = TensorType.of(DType.I32, 16);

  private Device device;
  private Arena arena;

  /** True when the host reads outputs where they lie. */
  protected boolean showsOutputs() {
    return device.description().hostVisible();
  }

  /** Opens the device under test; the contract closes it. */
  protected abstract Device openDevice();

  /** {@code (x, scale, shift) -> x * scale + shift}, all {@link #AFFINE}. */
  @Override
  public ProgramSource affine() {
    return source(
        "affine",
        """
        func.func public @main(%x: tensor<4xf32>, %scale: tensor<4xf32>, %shift: tensor<4xf32>) -> tensor<4xf32> {
          %0 = stablehlo.multiply %x, %scale : tensor<4xf32>
          %1 = stablehlo.add %0, %shift : tensor<4xf32>
          return %1 : tensor<4xf32>
        }
        """);
  }

  /** {@code (a, b) -> (a + b, a - b)}, all {@link #INTEGERS}. */
  protected ProgramSource sumAndDifference() {
    return source(
        "sum-and-difference",
        """
        func.func public @main(%a: tensor<16xi32>, %b: tensor<16xi32>) -> (tensor<16xi32>, tensor<16xi32>) {
          %0 = stablehlo.add %a, %b : tensor<16xi32>
          %1 = stablehlo.subtract %a, %b : tensor<16xi32>
          return %0, %1 : tensor<16xi32>, tensor<16xi32>
        }
        """);
  }

  protected static ProgramSource source(String name, String text) {
    return new ProgramSource(name, text.getBytes(StandardCharsets.UTF_8));
  }

  @Override
  public final Device device() {
    return device;
  }

  @Override
  public final Arena arena() {
    return arena;
  }

  @BeforeEach
  void openDeviceUnderTest() {
    arena = Arena.ofShared();
    device = openDevice();
  }

  @AfterEach
  void closeDeviceUnderTest() {
    device.close();
    arena.close();
  }

  @Test
  void shouldDescribeItselfAndItsMemory() {
    assertThat(device.description().platform()).isNotBlank();
    assertThat(device.description().kind()).isNotBlank();
    assertThat(device.memory()).isNotNull();
  }

  @Test
  void shouldFeedTheNextRunsWhatWasTakenOutOfTheOnesBefore() {
    int[] ones = new int[16];
    Arrays.fill(ones, 1);
    try (DeviceProgram program = device.compile(sumAndDifference());
        DeviceBuffer one = device.upload(INTEGERS, ints(ones), HostMemory.COPY)) {
      DeviceBuffer sum = device.upload(INTEGERS, ints(new int[16]), HostMemory.COPY);
      for (int step = 1; step <= 5; step++) {
        DeviceBuffer next;
        try (Execution run = device.execute(program, new DeviceBuffer[] {sum, one})) {
          letRunsEnd();
          run.await();
          next = run.take(0);
          assertThat(read(run.output(1))[0]).as("the other output").isEqualTo((byte) (step - 2));
        }
        sum.close();
        sum = next;
        assertThat(sum.type()).isEqualTo(INTEGERS);
        assertThat(sum.isReady()).isTrue();
        assertThat(sum.view()).isEmpty();
        assertThat(read(sum)[0]).isEqualTo((byte) step);
      }
      sum.close();
    }
  }

  @Test
  void shouldRefuseToGiveAnOutputAwayTwiceOrBeforeTheEndWasNoticed() {
    try (DeviceProgram program = device.compile(sumAndDifference());
        DeviceBuffer zero = device.upload(INTEGERS, ints(new int[16]), HostMemory.COPY);
        Execution run = device.execute(program, new DeviceBuffer[] {zero, zero})) {
      assertCode(() -> run.take(0), DeviceException.Code.INVALID_ARGUMENT);
      letRunsEnd();
      run.await();
      assertCode(() -> run.take(2), DeviceException.Code.INVALID_ARGUMENT);
      try (DeviceBuffer taken = run.take(0)) {
        assertCode(() -> run.take(0), DeviceException.Code.CLOSED);
        assertCode(() -> run.output(0), DeviceException.Code.CLOSED);
        assertThat(read(taken)).containsOnly(0);
      }
    }
  }

  private static void assertCode(ThrowingCallable call, DeviceException.Code code) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            DeviceException.class, refusal -> assertThat(refusal.code()).isEqualTo(code));
  }

  private MemorySegment ints(int[] values) {
    return arena.allocateFrom(ValueLayout.JAVA_INT, values);
  }

  @ParameterizedTest
  @EnumSource(value = DType.class, mode = EnumSource.Mode.EXCLUDE, names = "BYTES")
  void shouldReadBackWhatWasUploadedWhenTypeIsFixedSize(DType dtype) {
    TensorType type = TensorType.of(dtype, 3, 5);
    byte[] bytes = randomBytes(type, 7);
    try (DeviceBuffer buffer = device.upload(type, copied(bytes), HostMemory.COPY)) {
      assertThat(buffer.type()).isEqualTo(type);
      assertThat(read(buffer)).isEqualTo(bytes);
    }
  }

  @Test
  void shouldReadBackScalarAndEmptyTensors() {
    TensorType scalar = TensorType.of(DType.F64);
    byte[] bytes = randomBytes(scalar, 8);
    try (DeviceBuffer buffer = device.upload(scalar, copied(bytes), HostMemory.COPY)) {
      assertThat(read(buffer)).isEqualTo(bytes);
    }
    for (TensorType empty :
        List.of(TensorType.of(DType.F32, 0), TensorType.of(DType.I8, 3, 0, 2))) {
      for (HostMemory use : HostMemory.values()) {
        try (DeviceBuffer buffer = device.upload(empty, MemorySegment.NULL, use)) {
          assertThat(buffer.type()).isEqualTo(empty);
          assertThat(read(buffer)).isEmpty();
        }
      }
    }
  }

  @Test
  void shouldUploadAndReadWhenMemoryIsOnTheHeap() {
    byte[] bytes = randomBytes(INTEGERS, 9);
    for (HostMemory use : HostMemory.values()) {
      try (DeviceBuffer buffer = device.upload(INTEGERS, MemorySegment.ofArray(bytes), use)) {
        byte[] target = new byte[bytes.length];
        buffer.read(0, MemorySegment.ofArray(target));
        assertThat(target).isEqualTo(bytes);
      }
    }
  }

  @Test
  void shouldReadRangesAndRefuseThoseOutside() {
    byte[] bytes = randomBytes(INTEGERS, 10);
    try (DeviceBuffer buffer = device.upload(INTEGERS, copied(bytes), HostMemory.COPY)) {
      MemorySegment middle = arena.allocate(12);
      buffer.read(8, middle);
      assertThat(middle.toArray(ValueLayout.JAVA_BYTE))
          .isEqualTo(java.util.Arrays.copyOfRange(bytes, 8, 20));
      buffer.read(64, MemorySegment.NULL);

      refused(DeviceException.Code.INVALID_ARGUMENT, () -> buffer.read(60, arena.allocate(8)));
      refused(DeviceException.Code.INVALID_ARGUMENT, () -> buffer.read(-4, arena.allocate(4)));
      refused(
          DeviceException.Code.INVALID_ARGUMENT,
          () -> buffer.read(Long.MAX_VALUE, arena.allocate(4)));
      refused(DeviceException.Code.INVALID_ARGUMENT, () -> buffer.read(0, arena.allocate(65)));
    }
  }

  @Test
  void shouldRefuseUploadsWhoseDataDoesNotFitTheType() {
    for (HostMemory use : HostMemory.values()) {
      refused(
          DeviceException.Code.INVALID_ARGUMENT,
          () -> device.upload(AFFINE, arena.allocate(15, 64), use));
      refused(
          DeviceException.Code.INVALID_ARGUMENT,
          () -> device.upload(AFFINE, arena.allocate(17, 64), use));
      refused(
          DeviceException.Code.INVALID_ARGUMENT,
          () -> device.upload(AFFINE, MemorySegment.NULL, use));
      refused(
          DeviceException.Code.INVALID_ARGUMENT,
          () -> device.upload(TensorType.of(DType.F32, -1), arena.allocate(4, 64), use));
      refused(
          DeviceException.Code.INVALID_ARGUMENT,
          () -> device.upload(TensorType.of(DType.BYTES, 4), arena.allocate(16, 64), use));
      refused(
          DeviceException.Code.INVALID_ARGUMENT,
          () ->
              device.upload(
                  TensorType.of(DType.F32, 1L << 40, 1L << 40), arena.allocate(4, 64), use));
    }
  }

  @Test
  void shouldNotSeeLaterChangesWhenMemoryWasCopied() {
    MemorySegment data = floats(1, 2, 3, 4);
    try (DeviceBuffer buffer = device.upload(AFFINE, data, HostMemory.COPY)) {
      data.fill((byte) 0);
      assertThat(readFloats(buffer)).containsExactly(1, 2, 3, 4);
    }
  }

  @Test
  void shouldSeeTheCallersMemoryWhenAliasedOnAHostVisibleDevice() {
    MemorySegment data = floats(1, 2, 3, 4);
    try (DeviceBuffer buffer = device.upload(AFFINE, data, HostMemory.ALIAS)) {
      assertThat(readFloats(buffer)).containsExactly(1, 2, 3, 4);
      // Changing aliased memory is forbidden to users; here it shows whether aliasing took place.
      data.setAtIndex(ValueLayout.JAVA_FLOAT, 0, 9);
      float first = device.description().hostVisible() ? 9 : 1;
      assertThat(readFloats(buffer)).containsExactly(first, 2, 3, 4);
    }
  }

  @Test
  void shouldCopyToAndFromPinnedMemoryOrSayThatItDoesNotPin() {
    MemorySegment pages = arena.allocate(2 * PinnedMemory.PAGE_BYTES, PinnedMemory.PAGE_BYTES);
    Optional<PinnedMemory> pinned = device.pin(pages);
    MemorySegment data = pages.asSlice(0, 16).copyFrom(floats(1, 2, 3, 4));
    MemorySegment target = pages.asSlice(PinnedMemory.PAGE_BYTES, 16);
    try (DeviceBuffer buffer = device.upload(AFFINE, data, HostMemory.COPY)) {
      buffer.read(0, target);
    }
    assertThat(target.toArray(ValueLayout.JAVA_FLOAT)).containsExactly(1, 2, 3, 4);
    pinned.ifPresent(
        pin -> {
          pin.close();
          pin.close(); // harmless
          device.pin(pages).orElseThrow().close(); // it may be pinned again
        });
  }

  @Test
  void shouldRefuseToPinTwiceAndToCloseOverPinnedMemory() {
    MemorySegment pages = arena.allocate(3 * PinnedMemory.PAGE_BYTES, PinnedMemory.PAGE_BYTES);
    MemorySegment middle = pages.asSlice(PinnedMemory.PAGE_BYTES, PinnedMemory.PAGE_BYTES);
    Optional<PinnedMemory> pinned = device.pin(middle);
    if (pinned.isEmpty()) {
      // Nothing is kept of memory that was not pinned.
      assertThat(device.pin(pages)).isEmpty();
      return;
    }
    try (PinnedMemory pin = pinned.get()) {
      assertThat(pin).isNotNull();
      refused(DeviceException.Code.INVALID_ARGUMENT, () -> device.pin(middle));
      refused(DeviceException.Code.INVALID_ARGUMENT, () -> device.pin(pages));
      refused(DeviceException.Code.INVALID_ARGUMENT, device::close);
      device.pin(pages.asSlice(0, PinnedMemory.PAGE_BYTES)).orElseThrow().close();
      device.pin(pages.asSlice(2 * PinnedMemory.PAGE_BYTES)).orElseThrow().close();
    }
  }

  @Test
  void shouldRefuseToPinWhatIsNoWholePageOfNativeMemoryForEverybody() {
    int page = PinnedMemory.PAGE_BYTES;
    MemorySegment pages = arena.allocate(2L * page, page);
    for (MemorySegment wrong :
        List.of(
            MemorySegment.ofArray(new byte[page]),
            MemorySegment.NULL,
            pages.asSlice(64, page),
            pages.asSlice(0, page + 64))) {
      refused(DeviceException.Code.INVALID_ARGUMENT, () -> device.pin(wrong));
    }
    try (Arena confined = Arena.ofConfined()) {
      MemorySegment mine = confined.allocate(page, page);
      refused(DeviceException.Code.INVALID_ARGUMENT, () -> device.pin(mine));
    }
    Arena closed = Arena.ofShared();
    MemorySegment freed = closed.allocate(page, page);
    closed.close();
    refused(DeviceException.Code.CLOSED, () -> device.pin(freed));
  }

  @Test
  void shouldNoticeWhenMemoryIsFreedBeforeItIsUnpinned() {
    Arena closed = Arena.ofShared();
    Optional<PinnedMemory> pinned =
        device.pin(closed.allocate(PinnedMemory.PAGE_BYTES, PinnedMemory.PAGE_BYTES));
    closed.close();
    pinned.ifPresent(pin -> refused(DeviceException.Code.CLOSED, pin::close));
  }

  @Test
  void shouldCopyWhenAliasedMemoryIsNotAligned() {
    MemorySegment data = arena.allocate(64 + 16, 64).asSlice(4, 16);
    data.copyFrom(floats(1, 2, 3, 4));
    try (DeviceBuffer buffer = device.upload(AFFINE, data, HostMemory.ALIAS)) {
      assertThat(readFloats(buffer)).containsExactly(1, 2, 3, 4);
    }
  }

  @Test
  void shouldTellTheProgramsSignature() {
    try (DeviceProgram affine = device.compile(affine());
        DeviceProgram integers = device.compile(sumAndDifference())) {
      assertThat(affine.name()).isEqualTo(affine().name());
      assertThat(affine.parameters()).containsExactly(AFFINE, AFFINE, AFFINE);
      assertThat(affine.results()).containsExactly(AFFINE);
      assertThat(affine.memory().argumentBytes()).isEqualTo(48);
      assertThat(integers.parameters()).containsExactly(INTEGERS, INTEGERS);
      assertThat(integers.results()).containsExactly(INTEGERS, INTEGERS);
      assertThat(integers.memory().outputBytes()).isGreaterThanOrEqualTo(128);
    }
  }

  @ParameterizedTest
  @EnumSource(HostMemory.class)
  void shouldComputeTheAffineFunction(HostMemory use) {
    try (DeviceProgram program = device.compile(affine());
        DeviceBuffer x = device.upload(AFFINE, floats(1, 2, 3, 4), use);
        DeviceBuffer scale = device.upload(AFFINE, floats(10, 100, 1000, -1), use);
        DeviceBuffer shift = device.upload(AFFINE, floats(0.5f, 0.25f, 0, 4), use)) {
      for (int run = 0; run < 3; run++) {
        try (Execution execution = device.execute(program, new DeviceBuffer[] {x, scale, shift})) {
          execution.await();
          assertThat(execution.isDone()).isTrue();
          assertThat(execution.output(0).type()).isEqualTo(AFFINE);
          assertThat(readFloats(execution.output(0))).containsExactly(10.5f, 200.25f, 3000, 0);
        }
      }
      assertThat(readFloats(x)).containsExactly(1, 2, 3, 4);
    }
  }

  @Test
  void shouldReturnOutputsInOrderAndWaitForThemWhenRead() {
    int[] a = new Random(11).ints(16).toArray();
    int[] b = new Random(12).ints(16).toArray();
    try (DeviceProgram program = device.compile(sumAndDifference());
        DeviceBuffer left = device.upload(INTEGERS, MemorySegment.ofArray(a), HostMemory.COPY);
        DeviceBuffer right = device.upload(INTEGERS, MemorySegment.ofArray(b), HostMemory.COPY);
        Execution execution = device.execute(program, new DeviceBuffer[] {left, right})) {
      int[] difference = new int[16];
      int[] sum = new int[16];
      execution.output(1).read(0, MemorySegment.ofArray(difference));
      execution.output(0).read(0, MemorySegment.ofArray(sum));
      for (int i = 0; i < 16; i++) {
        assertThat(sum[i]).isEqualTo(a[i] + b[i]);
        assertThat(difference[i]).isEqualTo(a[i] - b[i]);
      }
    }
  }

  @Test
  void shouldAcceptOneBufferAsSeveralArguments() {
    try (DeviceProgram program = device.compile(affine());
        DeviceBuffer x = device.upload(AFFINE, floats(1, 2, 3, 4), HostMemory.COPY);
        Execution execution = device.execute(program, new DeviceBuffer[] {x, x, x})) {
      assertThat(readFloats(execution.output(0))).containsExactly(2, 6, 12, 20);
    }
  }

  @Test
  void shouldRefuseArgumentsThatDoNotMatchTheSignature() {
    try (DeviceProgram program = device.compile(affine());
        DeviceBuffer x = device.upload(AFFINE, floats(1, 2, 3, 4), HostMemory.COPY);
        DeviceBuffer sameSizeOtherType =
            device.upload(TensorType.of(DType.I32, 4), floats(1, 2, 3, 4), HostMemory.COPY);
        DeviceBuffer sameSizeOtherShape =
            device.upload(TensorType.of(DType.F32, 2, 2), floats(1, 2, 3, 4), HostMemory.COPY);
        DeviceBuffer smaller =
            device.upload(TensorType.of(DType.F32, 2), floats(1, 2), HostMemory.COPY)) {
      refusedExecution(program);
      refusedExecution(program, x, x);
      refusedExecution(program, x, x, x, x);
      refusedExecution(program, x, sameSizeOtherType, x);
      refusedExecution(program, x, sameSizeOtherShape, x);
      refusedExecution(program, smaller, x, x);
    }
  }

  @Test
  void shouldRefuseWhatIsClosed() {
    DeviceProgram program = device.compile(affine());
    DeviceBuffer open = device.upload(AFFINE, floats(1, 2, 3, 4), HostMemory.COPY);
    DeviceBuffer closed = device.upload(AFFINE, floats(1, 2, 3, 4), HostMemory.COPY);
    closed.close();
    refused(DeviceException.Code.CLOSED, () -> closed.read(0, arena.allocate(16)));
    refused(
        DeviceException.Code.CLOSED,
        () -> device.execute(program, new DeviceBuffer[] {open, closed, open}));

    // The refusal above must not have left a hold on the others.
    program.close();
    refused(
        DeviceException.Code.CLOSED,
        () -> device.execute(program, new DeviceBuffer[] {open, open, open}));
    open.close();
  }

  @Test
  void shouldIgnoreASecondClose() {
    DeviceProgram program = device.compile(affine());
    DeviceBuffer x = device.upload(AFFINE, floats(1, 2, 3, 4), HostMemory.COPY);
    Execution execution = device.execute(program, new DeviceBuffer[] {x, x, x});
    execution.close();
    execution.close();
    x.close();
    x.close();
    program.close();
    program.close();
    device.close();
    device.close();
  }

  @Test
  void shouldFreeOutputsWhenTheExecutionIsClosed() {
    try (DeviceProgram program = device.compile(affine());
        DeviceBuffer x = device.upload(AFFINE, floats(1, 2, 3, 4), HostMemory.COPY)) {
      Execution execution = device.execute(program, new DeviceBuffer[] {x, x, x});
      DeviceBuffer output = execution.output(0);
      execution.close();
      refused(DeviceException.Code.CLOSED, () -> output.read(0, arena.allocate(16)));
    }
  }

  @Test
  void shouldShowAnOutputWhereItLiesOrSayThatItCannot() {
    DeviceProgram program = device.compile(affine());
    DeviceBuffer x = device.upload(AFFINE, floats(1, 2, 3, 4), HostMemory.COPY);
    Execution execution = device.execute(program, new DeviceBuffer[] {x, x, x});
    DeviceBuffer output = execution.output(0);
    refused(DeviceException.Code.INVALID_ARGUMENT, output::view);
    execution.await();
    Optional<MemorySegment> view = output.view();
    assertThat(view.isPresent()).isEqualTo(showsOutputs());
    assertThat(x.view()).as("no output").isEmpty();
    try (DeviceBuffer other = device.upload(AFFINE, floats(5, 6, 7, 8), HostMemory.COPY)) {
      for (int run = 0; run < 20; run++) {
        device.execute(program, new DeviceBuffer[] {other, other, other}).close();
      }
    }
    x.close();
    program.close();
    view.ifPresent(
        bytes -> {
          assertThat(bytes.toArray(ValueLayout.JAVA_FLOAT)).containsExactly(2, 6, 12, 20);
          assertThat(bytes.isAccessibleBy(Thread.ofPlatform().unstarted(() -> {}))).isTrue();
          assertThat(output.view()).contains(bytes);
        });
    assertThat(readFloats(output)).containsExactly(2, 6, 12, 20);
    refused(DeviceException.Code.INVALID_ARGUMENT, device::close);
    execution.close();
    refused(DeviceException.Code.CLOSED, output::view);
  }

  @Test
  void shouldShowEveryOutputOnceTheEndIsNoticedByALook() {
    try (DeviceProgram program = device.compile(sumAndDifference());
        DeviceBuffer a =
            device.upload(INTEGERS, copied(randomBytes(INTEGERS, 3)), HostMemory.COPY);
        Execution execution = device.execute(program, new DeviceBuffer[] {a, a})) {
      letRunsEnd();
      while (!execution.isDone()) {
        Thread.onSpinWait();
      }
      for (int i = 0; i < 2; i++) {
        DeviceBuffer output = execution.output(i);
        byte[] bytes = read(output);
        output
            .view()
            .ifPresent(view -> assertThat(view.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(bytes));
      }
    }
  }

  @Test
  void shouldRefuseAnOutputThatIsNotThere() {
    try (DeviceProgram program = device.compile(affine());
        DeviceBuffer x = device.upload(AFFINE, floats(1, 2, 3, 4), HostMemory.COPY);
        Execution execution = device.execute(program, new DeviceBuffer[] {x, x, x})) {
      refused(DeviceException.Code.INVALID_ARGUMENT, () -> execution.output(1));
      refused(DeviceException.Code.INVALID_ARGUMENT, () -> execution.output(-1));
    }
  }

  @Test
  void shouldFeedOneExecutionsOutputToTheNext() {
    try (DeviceProgram program = device.compile(affine());
        DeviceBuffer x = device.upload(AFFINE, floats(1, 2, 3, 4), HostMemory.COPY);
        Execution first = device.execute(program, new DeviceBuffer[] {x, x, x});
        Execution second = device.execute(program, new DeviceBuffer[] {first.output(0), x, x})) {
      assertThat(readFloats(second.output(0))).containsExactly(3, 14, 39, 84);
      second.close();
    }
  }

  @Test
  void shouldRefuseToCloseWhatARunUsesUntilItsEndIsNoticed() {
    DeviceProgram program = device.compile(affine());
    DeviceBuffer x = device.upload(AFFINE, floats(1, 2, 3, 4), HostMemory.ALIAS);
    try (Execution execution = device.execute(program, new DeviceBuffer[] {x, x, x})) {
      refused(DeviceException.Code.INVALID_ARGUMENT, x::close);
      refused(DeviceException.Code.INVALID_ARGUMENT, program::close);
      execution.await();
      x.close();
      program.close();
      assertThat(readFloats(execution.output(0))).containsExactly(2, 6, 12, 20);
    }
  }

  @Test
  void shouldGiveBackWhatARunUsesWhenItIsOnlyPolledOrOnlyClosed() {
    DeviceProgram program = device.compile(affine());
    DeviceBuffer polled = device.upload(AFFINE, floats(1, 2, 3, 4), HostMemory.COPY);
    try (Execution execution =
        device.execute(program, new DeviceBuffer[] {polled, polled, polled})) {
      letRunsEnd();
      while (!execution.isDone()) {
        Thread.onSpinWait();
      }
      polled.close();
    }
    DeviceBuffer closed = device.upload(AFFINE, floats(1, 2, 3, 4), HostMemory.COPY);
    device.execute(program, new DeviceBuffer[] {closed, closed, closed}).close();
    closed.close();
    program.close();
  }

  @Test
  void shouldKeepWhatItUsedUsableWhenARunIsRefused() {
    DeviceProgram program = device.compile(affine());
    DeviceBuffer x = device.upload(AFFINE, floats(1, 2, 3, 4), HostMemory.COPY);
    DeviceBuffer closed = device.upload(AFFINE, floats(1, 2, 3, 4), HostMemory.COPY);
    closed.close();
    refused(
        DeviceException.Code.CLOSED,
        () -> device.execute(program, new DeviceBuffer[] {x, x, closed}));
    x.close();
    program.close();
  }

  @Test
  void shouldRefuseAliasedMemoryWhoseArenaIsClosed() {
    try (DeviceProgram program = device.compile(affine())) {
      Arena shortLived = Arena.ofShared();
      DeviceBuffer x = device.upload(AFFINE, shortLived.allocate(16, 64), HostMemory.ALIAS);
      readFloats(x); // has arrived: no device survives memory that is freed under a copy
      shortLived.close();
      refused(
          DeviceException.Code.CLOSED, () -> device.execute(program, new DeviceBuffer[] {x, x, x}));
      refused(DeviceException.Code.CLOSED, () -> x.read(0, arena.allocate(16)));
      x.close();
    }
  }

  @Test
  void shouldRefuseUploadsOfMemoryThatCannotBeRead() throws Exception {
    Arena closed = Arena.ofShared();
    MemorySegment freed = closed.allocate(16, 64);
    closed.close();
    try (Arena confined = Arena.ofConfined()) {
      MemorySegment mine = confined.allocate(16, 64);
      for (HostMemory use : HostMemory.values()) {
        refused(DeviceException.Code.CLOSED, () -> device.upload(AFFINE, freed, use));
        onAnotherThread(
            () ->
                refused(
                    DeviceException.Code.INVALID_ARGUMENT, () -> device.upload(AFFINE, mine, use)));
      }
      refused(
          DeviceException.Code.INVALID_ARGUMENT,
          () -> device.upload(AFFINE, mine, HostMemory.ALIAS));
      device.upload(AFFINE, mine, HostMemory.COPY).close();
    }
  }

  @Test
  void shouldRefuseToReadIntoMemoryThatCannotBeWritten() throws Exception {
    Arena closed = Arena.ofShared();
    MemorySegment freed = closed.allocate(16, 64);
    closed.close();
    try (DeviceBuffer x = device.upload(AFFINE, floats(1, 2, 3, 4), HostMemory.COPY);
        Arena confined = Arena.ofConfined()) {
      MemorySegment mine = confined.allocate(16, 64);
      refused(DeviceException.Code.CLOSED, () -> x.read(0, freed));
      refused(DeviceException.Code.INVALID_ARGUMENT, () -> x.read(0, mine.asReadOnly()));
      refused(
          DeviceException.Code.INVALID_ARGUMENT,
          () -> x.read(0, MemorySegment.ofArray(new byte[16]).asReadOnly()));
      onAnotherThread(() -> refused(DeviceException.Code.INVALID_ARGUMENT, () -> x.read(0, mine)));
      x.read(0, mine);
      assertThat(mine.toArray(ValueLayout.JAVA_FLOAT)).containsExactly(1, 2, 3, 4);
    }
  }

  @Test
  void shouldReadAnOutputOnAnotherThreadBesideTheNextRuns() throws Exception {
    try (DeviceProgram program = device.compile(affine());
        DeviceBuffer x = device.upload(AFFINE, floats(1, 2, 3, 4), HostMemory.COPY);
        ExecutorService reader = Executors.newSingleThreadExecutor()) {
      for (int run = 0; run < 100; run++) {
        Execution read = device.execute(program, new DeviceBuffer[] {x, x, x});
        read.await();
        Future<float[]> values = reader.submit(() -> readFloats(read.output(0)));
        device.execute(program, new DeviceBuffer[] {x, x, x}).close();
        assertThat(values.get()).containsExactly(2, 6, 12, 20);
        read.close();
      }
    }
  }

  @Test
  void shouldCallBackOnceWhenTheRunIsOver() throws Exception {
    try (DeviceProgram program = device.compile(affine());
        DeviceBuffer x = device.upload(AFFINE, floats(1, 2, 3, 4), HostMemory.COPY)) {
      for (int run = 0; run < 100; run++) {
        Semaphore calls = new Semaphore(0);
        AtomicBoolean wasDone = new AtomicBoolean();
        try (Execution execution = device.execute(program, new DeviceBuffer[] {x, x, x})) {
          execution.onDone(
              () -> {
                wasDone.set(execution.isDone());
                calls.release();
              });
          execution.await();
          assertThat(calls.tryAcquire(20, TimeUnit.SECONDS)).isTrue();
          assertThat(wasDone).isTrue();
          assertThat(execution.isDone()).isTrue();
        }
        assertThat(calls.availablePermits()).as("further calls").isZero();
      }
    }
  }

  @Test
  void shouldCallBackAtOnceWhenTheRunIsOverAlready() {
    try (DeviceProgram program = device.compile(affine());
        DeviceBuffer x = device.upload(AFFINE, floats(1, 2, 3, 4), HostMemory.COPY);
        Execution execution = device.execute(program, new DeviceBuffer[] {x, x, x})) {
      execution.await();
      Thread[] caller = new Thread[1];
      execution.onDone(() -> caller[0] = Thread.currentThread());
      assertThat(caller[0]).isEqualTo(Thread.currentThread());
    }
  }

  @Test
  void shouldRefuseASecondCallback() {
    try (DeviceProgram program = device.compile(affine());
        DeviceBuffer x = device.upload(AFFINE, floats(1, 2, 3, 4), HostMemory.COPY);
        Execution execution = device.execute(program, new DeviceBuffer[] {x, x, x})) {
      execution.onDone(() -> {});
      refused(DeviceException.Code.INVALID_ARGUMENT, () -> execution.onDone(() -> {}));
      execution.await();
      refused(DeviceException.Code.INVALID_ARGUMENT, () -> execution.onDone(() -> {}));
    }
  }

  @Test
  void shouldReadOneBufferFromSeveralThreads() throws Exception {
    TensorType type = TensorType.of(DType.U8, 1 << 16);
    byte[] bytes = randomBytes(type, 13);
    try (DeviceBuffer buffer = device.upload(type, copied(bytes), HostMemory.COPY);
        ExecutorService readers = Executors.newFixedThreadPool(4)) {
      List<Future<byte[]>> reads = new ArrayList<>();
      for (int i = 0; i < 32; i++) {
        reads.add(readers.submit(() -> read(buffer)));
      }
      for (Future<byte[]> read : reads) {
        assertThat(read.get()).isEqualTo(bytes);
      }
    }
  }

  /** A device that cannot serialise has no target either, and says so. */
  @Test
  void shouldRunTheSameWhenSerialisedAndLoadedInAnotherDeviceOfItsKind() {
    if (device.compileTarget().isEmpty()) {
      try (DeviceProgram program = device.compile(affine())) {
        refused(DeviceException.Code.UNSUPPORTED, () -> device.serialize(program));
        refused(DeviceException.Code.UNSUPPORTED, () -> device.load("affine", new byte[200]));
      }
      return;
    }
    byte[] serialized;
    try (DeviceProgram program = device.compile(affine())) {
      serialized = device.serialize(program);
    }
    try (Device other = openDevice()) {
      assertThat(other.compileTarget()).isEqualTo(device.compileTarget());
      try (DeviceProgram loaded = other.load("affine", serialized);
          DeviceBuffer x = other.upload(AFFINE, floats(1, 2, 3, 4), HostMemory.COPY);
          Execution run = other.execute(loaded, new DeviceBuffer[] {x, x, x})) {
        letRunsEnd();
        run.await();
        assertThat(loaded.name()).isEqualTo("affine");
        assertThat(loaded.parameters()).containsExactly(AFFINE, AFFINE, AFFINE);
        assertThat(loaded.results()).containsExactly(AFFINE);
        assertThat(readFloats(run.output(0))).containsExactly(2, 6, 12, 20);
      }
    }
  }

  @Test
  void shouldRefuseToLoadWhatWasChangedOrCutOff() {
    if (device.compileTarget().isEmpty()) {
      return;
    }
    byte[] good;
    try (DeviceProgram program = device.compile(affine())) {
      good = device.serialize(program);
    }
    Random random = new Random(17);
    for (int i = 0; i < 200; i++) {
      byte[] bad = good.clone();
      int bit = random.nextInt(8 * bad.length);
      bad[bit / 8] ^= (byte) (1 << bit % 8);
      refused(DeviceException.Code.INVALID_ARGUMENT, () -> device.load("affine", bad));
    }
    for (int length : new int[] {0, 1, 31, 32, 33, good.length / 2, good.length - 1}) {
      byte[] cut = Arrays.copyOf(good, length);
      refused(DeviceException.Code.INVALID_ARGUMENT, () -> device.load("affine", cut));
    }
  }

  @Test
  void shouldRefuseToSerialiseWhatIsClosedOrOfAnotherDevice() {
    if (device.compileTarget().isEmpty()) {
      return;
    }
    DeviceProgram program = device.compile(affine());
    try (Device other = openDevice()) {
      refused(DeviceException.Code.INVALID_ARGUMENT, () -> other.serialize(program));
    }
    program.close();
    refused(DeviceException.Code.CLOSED, () -> device.serialize(program));
  }

  @Test
  void shouldRefuseToCloseWithOpenHandlesAndNameThem() {
    try (DeviceProgram program = device.compile(affine())) {
      assertThatThrownBy(device::close)
          .isInstanceOf(DeviceException.class)
          .hasMessageContaining(program.name());
    }
    try (DeviceBuffer buffer = device.upload(AFFINE, floats(1, 2, 3, 4), HostMemory.COPY)) {
      assertThatThrownBy(device::close)
          .isInstanceOf(DeviceException.class)
          .hasMessageContaining(buffer.type().toString());
    }
  }

  @Test
  void shouldRefuseEverythingWhenTheDeviceIsClosed() {
    device.close();
    refused(DeviceException.Code.CLOSED, () -> device.compile(affine()));
    refused(
        DeviceException.Code.CLOSED,
        () -> device.upload(AFFINE, floats(1, 2, 3, 4), HostMemory.COPY));
  }

  /** Four-byte floats in native memory that suits aliasing; lives until the end of the test. */
  protected final MemorySegment floats(float... values) {
    MemorySegment segment = arena.allocate(values.length * 4L, 64);
    segment.copyFrom(MemorySegment.ofArray(values));
    return segment;
  }

  protected static float[] readFloats(DeviceBuffer buffer) {
    float[] values = new float[Math.toIntExact(buffer.type().shape().elementCount())];
    buffer.read(0, MemorySegment.ofArray(values));
    return values;
  }

  /** Runs {@code call} and checks that it is refused with {@code code} and a text. */
  protected static void refused(DeviceException.Code code, ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            DeviceException.class,
            refusal -> {
              assertThat(refusal.code()).as(refusal.getMessage()).isEqualTo(code);
              assertThat(refusal).hasMessageMatching("(?s).{10,}");
            });
  }

  @Override
  public void letRunsEnd() {}

  private static void onAnotherThread(Runnable task) throws Exception {
    try (ExecutorService other = Executors.newSingleThreadExecutor()) {
      other.submit(task).get();
    }
  }

  private void refusedExecution(DeviceProgram program, DeviceBuffer... arguments) {
    refused(DeviceException.Code.INVALID_ARGUMENT, () -> device.execute(program, arguments));
  }

  private MemorySegment copied(byte[] bytes) {
    MemorySegment segment = arena.allocate(bytes.length, 64);
    segment.copyFrom(MemorySegment.ofArray(bytes));
    return segment;
  }

  private static byte[] read(DeviceBuffer buffer) {
    byte[] bytes = new byte[Math.toIntExact(buffer.type().byteSize())];
    buffer.read(0, MemorySegment.ofArray(bytes));
    return bytes;
  }

  private static byte[] randomBytes(TensorType type, long seed) {
    byte[] bytes = new byte[Math.toIntExact(type.byteSize())];
    new Random(seed).nextBytes(bytes);
    if (type.dtype() == DType.BOOL) {
      for (int i = 0; i < bytes.length; i++) {
        bytes[i] &= 1;
      }
    }
    return bytes;
  }
}
