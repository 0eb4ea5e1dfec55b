package dev.roundhouse.engine.device;

import static dev.roundhouse.engine.device.DeviceContractTest.AFFINE;
import static dev.roundhouse.engine.device.DeviceContractTest.readFloats;
import static dev.roundhouse.engine.device.DeviceContractTest.refused;
import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.DeviceException.Code;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** What {@link Device#uploadInParts} does where a device has it; elsewhere it says so. */
public interface PartedUploadContract {
  TensorType LARGE = TensorType.of(DType.F32, 1 << 18);

  /** The device of the running test. */
  Device device();

  /** Memory that lives until the end of the running test. */
  Arena arena();

  ProgramSource affine();

  /** Lets time pass on a device whose clock stands still. */
  void letRunsEnd();

  @Test
  default void shouldHoldTheBytesOfAllPartsInTheirOrder() {
    if (!takesParts()) {
      return;
    }
    MemorySegment data = random(LARGE, 31);
    // Parts end in the middle of elements and of pages; the last is a single byte.
    long size = LARGE.byteSize();
    long[] sizes = {1, 4096, 300_001, 65_535, size - 369_634, 1};
    assertThat(Arrays.stream(sizes).sum()).isEqualTo(size);
    PartedUpload upload = begin(LARGE);
    try (DeviceBuffer buffer = upload.buffer()) {
      assertThat(buffer.type()).isEqualTo(LARGE);
      sendTwoAtATime(upload, data, sizes);
      assertThat(buffer.isReady()).isTrue();
      buffer.awaitReady();
      assertThat(bytesOf(buffer).mismatch(data)).as("first byte that differs").isEqualTo(-1);
    }
  }

  @Test
  default void shouldTakeAWholeTensorAsOnePartAndPartsOfTheHeap() {
    if (!takesParts()) {
      return;
    }
    PartedUpload whole = begin(AFFINE);
    whole.write(floats(1, 2, 3, 4)).awaitReady();
    PartedUpload ofHeap = begin(AFFINE);
    ofHeap.write(MemorySegment.ofArray(new float[] {5, 6}));
    ofHeap.write(MemorySegment.ofArray(new float[] {7, 8})).awaitReady();
    try (DeviceBuffer first = whole.buffer();
        DeviceBuffer second = ofHeap.buffer()) {
      assertThat(readFloats(first)).containsExactly(1, 2, 3, 4);
      assertThat(readFloats(second)).containsExactly(5, 6, 7, 8);
    }
  }

  /** The run waits for them; nobody else has to. */
  @Test
  default void shouldRunOnceAllPartsAreHandedOver() {
    if (!takesParts()) {
      return;
    }
    PartedUpload upload = begin(AFFINE);
    try (DeviceProgram program = device().compile(affine());
        DeviceBuffer x = upload.buffer()) {
      MemorySegment data = floats(1, 2, 3, 4);
      upload.write(data.asSlice(0, 4));
      upload.write(data.asSlice(4));
      for (int run = 0; run < 2; run++) {
        try (Execution execution = device().execute(program, new DeviceBuffer[] {x, x, x})) {
          refused(Code.INVALID_ARGUMENT, x::close);
          assertThat(readFloats(execution.output(0))).containsExactly(2, 6, 12, 20);
        }
      }
    }
  }

  @Test
  default void shouldRunOtherProgramsWhilePartsCome() {
    if (!takesParts()) {
      return;
    }
    MemorySegment data = random(LARGE, 32);
    PartedUpload upload = begin(LARGE);
    try (DeviceBuffer large = upload.buffer();
        DeviceProgram program = device().compile(affine())) {
      long part = LARGE.byteSize() / 32;
      for (int i = 0; i < 32; i++) {
        upload.write(data.asSlice(i * part, part));
        try (DeviceBuffer x = device().upload(AFFINE, floats(i, i, i, i), HostMemory.ALIAS);
            Execution run = device().execute(program, new DeviceBuffer[] {x, x, x})) {
          letRunsEnd();
          float expected = i * i + i;
          assertThat(readFloats(run.output(0)))
              .containsExactly(expected, expected, expected, expected);
        }
      }
      large.awaitReady();
      assertThat(bytesOf(large).mismatch(data)).isEqualTo(-1);
    }
  }

  @Test
  default void shouldRefusePartsThatDoNotFit() {
    if (!takesParts()) {
      return;
    }
    PartedUpload upload = begin(AFFINE);
    try (DeviceBuffer buffer = upload.buffer()) {
      MemorySegment data = floats(1, 2, 3, 4, 5);
      refused(Code.INVALID_ARGUMENT, () -> upload.write(data));
      refused(Code.INVALID_ARGUMENT, () -> upload.write(MemorySegment.NULL));
      upload.write(data.asSlice(0, 12));
      refused(Code.INVALID_ARGUMENT, () -> upload.write(data.asSlice(12, 8)));
      refused(Code.INVALID_ARGUMENT, () -> upload.write(data.asSlice(12, 0)));
      upload.write(data.asSlice(12, 4));
      refused(Code.INVALID_ARGUMENT, () -> upload.write(data.asSlice(16, 4)));
      assertThat(readFloats(buffer)).containsExactly(1, 2, 3, 4);
    }
  }

  @Test
  default void shouldRefusePartsThatCannotBeRead() {
    if (!takesParts()) {
      return;
    }
    PartedUpload upload = begin(AFFINE);
    Arena closed = Arena.ofShared();
    MemorySegment freed = closed.allocate(8, 64);
    closed.close();
    try (DeviceBuffer buffer = upload.buffer();
        Arena confined = Arena.ofConfined()) {
      refused(Code.CLOSED, () -> upload.write(freed));
      refused(Code.INVALID_ARGUMENT, () -> upload.write(confined.allocate(8, 64)));
      refused(Code.INVALID_ARGUMENT, () -> upload.write(MemorySegment.NULL.reinterpret(8)));
      upload.write(floats(1, 2, 3, 4));
      assertThat(readFloats(buffer))
          .as("nothing of them has been taken")
          .containsExactly(1, 2, 3, 4);
    }
  }

  /** Whoever waited would wait for ever, and a run would compute with what happens to be there. */
  @Test
  default void shouldRefuseATensorWhoseLastPartIsMissing() {
    if (!takesParts()) {
      return;
    }
    PartedUpload upload = begin(AFFINE);
    try (DeviceProgram program = device().compile(affine());
        DeviceBuffer other = device().upload(AFFINE, floats(0, 0, 0, 0), HostMemory.COPY);
        DeviceBuffer buffer = upload.buffer()) {
      for (int part = 0; part < 2; part++) {
        assertThat(buffer.isReady()).isFalse();
        refused(Code.INVALID_ARGUMENT, buffer::awaitReady);
        refused(Code.INVALID_ARGUMENT, () -> buffer.read(0, arena().allocate(4)));
        refused(
            Code.INVALID_ARGUMENT,
            () -> device().execute(program, new DeviceBuffer[] {other, other, buffer}));
        upload.write(floats(part)).awaitReady();
      }
    }
  }

  @Test
  default void shouldGiveUpMissingPartsWhenTheBufferIsClosed() {
    if (!takesParts()) {
      return;
    }
    OptionalLong before = device().memory().inUse();
    long part = LARGE.byteSize() / 8;
    for (int sent = 0; sent < 8; sent++) {
      PartedUpload upload = begin(LARGE);
      Arrival last = null;
      try (Arena parts = Arena.ofShared()) {
        for (int i = 0; i < sent; i++) {
          last = upload.write(parts.allocate(part, 64).fill((byte) i));
        }
        upload.buffer().close();
        upload.buffer().close();
      } // the memory is the caller's again
      refused(Code.CLOSED, () -> upload.write(floats(1)));
      refused(Code.CLOSED, () -> upload.buffer().isReady());
      if (last != null) {
        refused(Code.CLOSED, last::isReady);
        refused(Code.CLOSED, last::awaitReady);
      }
    }
    assertThat(device().memory().inUse()).isEqualTo(before);
  }

  @Test
  default void shouldWaitForItsPartsWhenTheBufferIsClosedBeforeTheyHaveArrived() {
    if (!takesParts()) {
      return;
    }
    OptionalLong before = device().memory().inUse();
    try (Arena parts = Arena.ofShared()) {
      PartedUpload upload = begin(LARGE);
      upload.write(parts.allocate(LARGE.byteSize() / 2, 64));
      upload.write(parts.allocate(LARGE.byteSize() / 2, 64));
      upload.buffer().close();
    }
    assertThat(device().memory().inUse()).isEqualTo(before);
  }

  @Test
  default void shouldLeaveOtherUploadsAloneWhenOneIsGivenUp() {
    if (!takesParts()) {
      return;
    }
    MemorySegment data = random(LARGE, 33);
    long half = LARGE.byteSize() / 2;
    PartedUpload kept = begin(LARGE);
    PartedUpload givenUp = begin(LARGE);
    kept.write(data.asSlice(0, half));
    givenUp.write(data.asSlice(0, half));
    givenUp.buffer().close();
    try (DeviceBuffer buffer = kept.buffer()) {
      kept.write(data.asSlice(half)).awaitReady();
      assertThat(bytesOf(buffer).mismatch(data)).isEqualTo(-1);
    }
  }

  @Test
  default void shouldTellAnyThreadWhetherAPartHasArrived() throws Exception {
    if (!takesParts()) {
      return;
    }
    MemorySegment data = random(LARGE, 34);
    long part = LARGE.byteSize() / 64;
    PartedUpload upload = begin(LARGE);
    try (DeviceBuffer buffer = upload.buffer();
        ExecutorService others = Executors.newFixedThreadPool(2)) {
      ArrayDeque<Future<Boolean>> told = new ArrayDeque<>();
      for (int i = 0; i < 64; i++) {
        Arrival arrival = upload.write(data.asSlice(i * part, part));
        for (int thread = 0; thread < 2; thread++) {
          told.add(
              others.submit(
                  () -> {
                    arrival.awaitReady();
                    return arrival.isReady();
                  }));
        }
      }
      for (Future<Boolean> ready : told) {
        assertThat(ready.get()).isTrue();
      }
      assertThat(bytesOf(buffer).mismatch(data)).isEqualTo(-1);
    }
  }

  @Test
  default void shouldRefuseTypesThatHaveNoParts() {
    for (TensorType type :
        List.of(
            TensorType.of(DType.F32, 0),
            TensorType.of(DType.F32, -1),
            TensorType.of(DType.BYTES, 4),
            TensorType.of(DType.F32, 1L << 40, 1L << 40))) {
      refused(Code.INVALID_ARGUMENT, () -> device().uploadInParts(type));
    }
  }

  @Test
  default void shouldRefusePartsWhenTheDeviceIsClosed() {
    device().close();
    refused(Code.CLOSED, () -> device().uploadInParts(AFFINE));
  }

  private boolean takesParts() {
    return device()
        .uploadInParts(AFFINE)
        .map(
            upload -> {
              upload.buffer().close();
              return true;
            })
        .orElse(false);
  }

  private PartedUpload begin(TensorType type) {
    return device().uploadInParts(type).orElseThrow();
  }

  private static void sendTwoAtATime(PartedUpload upload, MemorySegment data, long[] sizes) {
    ArrayDeque<Arrival> onLink = new ArrayDeque<>();
    long offset = 0;
    for (long size : sizes) {
      if (onLink.size() == 2) {
        onLink.remove().awaitReady();
      }
      onLink.add(upload.write(data.asSlice(offset, size)));
      offset += size;
    }
    while (!onLink.isEmpty()) {
      Arrival arrival = onLink.remove();
      arrival.awaitReady();
      assertThat(arrival.isReady()).isTrue();
    }
  }

  private MemorySegment floats(float... values) {
    MemorySegment segment = arena().allocate(values.length * 4L, 64);
    return segment.copyFrom(MemorySegment.ofArray(values));
  }

  private MemorySegment random(TensorType type, long seed) {
    byte[] bytes = new byte[Math.toIntExact(type.byteSize())];
    new Random(seed).nextBytes(bytes);
    return arena().allocate(bytes.length, 64).copyFrom(MemorySegment.ofArray(bytes));
  }

  private static MemorySegment bytesOf(DeviceBuffer buffer) {
    MemorySegment bytes =
        Arena.ofAuto().allocate(buffer.type().byteSize(), ValueLayout.JAVA_LONG.byteAlignment());
    buffer.read(0, bytes);
    return bytes;
  }
}
