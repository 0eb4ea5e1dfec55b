package dev.roundhouse.pjrt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.Arrival;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.device.PartedUpload;
import dev.roundhouse.engine.device.ProgramSource;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class HandleLifetimeTest {
  private static final long LEAK_BYTES = 2L << 20;
  private static final TensorType TYPE = TensorType.of(DType.F32, 4);
  private static final TensorType LARGE = TensorType.of(DType.F32, 512, 512);

  private final Arena arena = Arena.ofShared();
  private final PjrtDevice device = PjrtDevice.open(PjrtDeviceOptions.DEFAULTS);

  @AfterEach
  void closeDevice() {
    device.close();
    arena.close();
  }

  @Test
  void shouldRefuseToCloseArgumentsAndProgramWhileARunBorrowsThem() {
    try (DeviceProgram slow = device.compile(repeatedProduct());
        DeviceBuffer x =
            device.upload(LARGE, arena.allocate(LARGE.byteSize(), 64), HostMemory.ALIAS)) {
      try (Execution run = device.execute(slow, new DeviceBuffer[] {x})) {
        // Until somebody notices the end the run holds both, however quick it was.
        assertThatThrownBy(x::close)
            .isInstanceOf(DeviceException.class)
            .hasMessageContaining("in use");
        assertThatThrownBy(slow::close)
            .isInstanceOf(DeviceException.class)
            .hasMessageContaining("in use");
        run.await();
        x.close();
        slow.close();
      }
    }
  }

  @Test
  void shouldGiveBackItsArgumentsWhenARunIsOnlyPolledOrOnlyClosed() {
    try (DeviceProgram slow = device.compile(repeatedProduct())) {
      DeviceBuffer polled =
          device.upload(LARGE, arena.allocate(LARGE.byteSize(), 64), HostMemory.COPY);
      try (Execution run = device.execute(slow, new DeviceBuffer[] {polled})) {
        while (!run.isDone()) {
          Thread.onSpinWait();
        }
        polled.close();
      }
      DeviceBuffer closed =
          device.upload(LARGE, arena.allocate(LARGE.byteSize(), 64), HostMemory.COPY);
      device.execute(slow, new DeviceBuffer[] {closed}).close();
      closed.close();
    }
  }

  @Test
  void shouldHoldNothingWhenTheArgumentsAreNull() {
    try (DeviceProgram twice = device.compile(twice())) {
      assertThatThrownBy(() -> device.execute(twice, nothing()))
          .isInstanceOf(DeviceException.class)
          .hasMessageContaining("null");
    }
  }

  @SuppressWarnings({"NullAway", "TypeParameterUnusedInFormals"}) // what callers must not do
  private static <T> T nothing() {
    return null;
  }

  /**
   * A program takes some 100 KB, so 100 that were not destroyed are more than 5 MB, each time. What
   * threads of devices that other tests have closed still take or free shows once or twice.
   */
  @Test
  void shouldDestroyAnExecutableWhenReadingItThrowsAnything() throws Throwable {
    try (PjrtClient client =
        PjrtClient.create(PjrtPlugin.load(PluginOptions.DEFAULTS), ClientOptions.NONE, 0)) {
      failToRead(client, 20);
      long least = Long.MAX_VALUE;
      for (int round = 0; round < 3 && least >= LEAK_BYTES; round++) {
        long before = nativeBytes();
        failToRead(client, 100);
        least = Math.min(least, nativeBytes() - before);
      }
      assertThat(least).as("bytes of native memory lost").isLessThan(LEAK_BYTES);
      assertThat(client.openHandles()).isZero();
    }
  }

  private static void failToRead(PjrtClient client, int times) {
    byte[] options = CompileOptions.DEFAULTS.encode(0);
    for (int i = 0; i < times; i++) {
      RuntimeException odd = new IllegalStateException("neither refused nor read");
      long address = PjrtClient.compile(client.api(), client.hold(), twice().code(), options);
      client.release();
      assertThatThrownBy(
              () ->
                  PjrtExecutable.of(
                      client,
                      address,
                      "twice",
                      (api, executable) -> {
                        throw odd;
                      }))
          .isSameAs(odd);
    }
  }

  /** The run takes milliseconds, so that it is under way when the callback is given. */
  @Test
  void shouldCallBackOnAThreadOfThePluginsWhenTheRunTakesLong() throws Exception {
    try (DeviceProgram slow = device.compile(repeatedProduct());
        DeviceBuffer x =
            device.upload(LARGE, arena.allocate(LARGE.byteSize(), 64), HostMemory.ALIAS)) {
      List<String> callers = new ArrayList<>();
      for (int attempt = 0; attempt < 50 && callers.isEmpty(); attempt++) {
        CompletableFuture<Thread> told = new CompletableFuture<>();
        try (Execution run = device.execute(slow, new DeviceBuffer[] {x})) {
          run.onDone(() -> told.complete(Thread.currentThread()));
          Thread thread = told.get(20, TimeUnit.SECONDS);
          assertThat(run.isDone()).isTrue();
          if (thread != Thread.currentThread()) {
            assertThat(thread.isDaemon()).isTrue();
            callers.add(thread.getName());
          }
        }
      }
      assertThat(callers).containsExactly("pjrt-callback");
    }
  }

  @Test
  void shouldLeaveNoThreadInTheJvmWhenThePluginsThreadsEnd() throws Exception {
    try (PjrtDevice other = PjrtDevice.open(PjrtDeviceOptions.DEFAULTS);
        DeviceProgram slow = other.compile(repeatedProduct());
        DeviceBuffer x =
            other.upload(LARGE, arena.allocate(LARGE.byteSize(), 64), HostMemory.ALIAS)) {
      CountDownLatch told = new CountDownLatch(1);
      try (Execution run = other.execute(slow, new DeviceBuffer[] {x})) {
        run.onDone(told::countDown);
        told.await();
      }
    }
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (callbackThreads() > 0 && System.nanoTime() < deadline) {
      Thread.onSpinWait();
    }
    assertThat(callbackThreads()).isZero();
  }

  private static long callbackThreads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().equals("pjrt-callback"))
        .count();
  }

  @Test
  void shouldSurviveACallbackThatThrows() throws Exception {
    try (DeviceProgram slow = device.compile(repeatedProduct());
        DeviceBuffer x =
            device.upload(LARGE, arena.allocate(LARGE.byteSize(), 64), HostMemory.ALIAS)) {
      CountDownLatch told = new CountDownLatch(1);
      try (Execution run = device.execute(slow, new DeviceBuffer[] {x})) {
        run.onDone(
            () -> {
              told.countDown();
              throw new IllegalStateException("a callback must not throw");
            });
        assertThat(told.await(20, TimeUnit.SECONDS)).isTrue();
        run.await();
      }
    }
  }

  @Test
  void shouldRunOneProgramFromSeveralThreads() throws Exception {
    int threads = 4;
    int runsEach = 500;
    CountDownLatch start = new CountDownLatch(1);
    try (DeviceProgram twice = device.compile(twice());
        ExecutorService pool = Executors.newFixedThreadPool(threads)) {
      Future<?>[] workers = new Future<?>[threads];
      for (int thread = 0; thread < threads; thread++) {
        float value = thread;
        workers[thread] =
            pool.submit(
                () -> {
                  start.await();
                  MemorySegment in =
                      MemorySegment.ofArray(new float[] {value, value, value, value});
                  try (DeviceBuffer x = device.upload(TYPE, in, HostMemory.COPY)) {
                    for (int run = 0; run < runsEach; run++) {
                      runOnce(twice, x, 2 * value);
                    }
                  }
                  return null;
                });
      }
      start.countDown();
      for (Future<?> worker : workers) {
        worker.get();
      }
    }
    assertThat(device.openHandles()).isZero();
  }

  /** Either side may win each race; neither may see freed memory. */
  @Test
  void shouldReadWholeOrNotAtAllWhenCloseRacesRead() throws Exception {
    byte[] ones = new byte[1 << 12];
    Arrays.fill(ones, (byte) 1);
    TensorType type = TensorType.of(DType.U8, ones.length);
    try (ExecutorService pool = Executors.newFixedThreadPool(2)) {
      for (int race = 0; race < 200; race++) {
        DeviceBuffer buffer = device.upload(type, MemorySegment.ofArray(ones), HostMemory.COPY);
        Future<byte[]> reader = pool.submit(() -> readUntilClosed(buffer));
        Future<?> closer = pool.submit(() -> closeOrRetry(buffer));
        closer.get();
        byte[] last = reader.get();
        assertThat(last[0]).isEqualTo(last[last.length - 1]);
      }
    }
    assertThat(device.openHandles()).isZero();
  }

  private static byte[] readUntilClosed(DeviceBuffer buffer) {
    byte[] target = new byte[Math.toIntExact(buffer.type().byteSize())];
    while (true) {
      try {
        buffer.read(0, MemorySegment.ofArray(target));
        Thread.yield();
      } catch (DeviceException closed) {
        assertThat(closed.code()).isEqualTo(DeviceException.Code.CLOSED);
        return target;
      }
    }
  }

  private static void closeOrRetry(DeviceBuffer buffer) {
    while (true) {
      try {
        buffer.close();
        return;
      } catch (DeviceException inUse) {
        assertThat(inUse).hasMessageContaining("in use");
        Thread.yield();
      }
    }
  }

  /** The smallest block that a run could leak is 32 bytes, 3 MB in all. */
  @Test
  void shouldNotGrowOverManyRuns() throws Throwable {
    try (DeviceProgram twice = device.compile(twice());
        DeviceBuffer x =
            device.upload(TYPE, MemorySegment.ofArray(new float[4]), HostMemory.COPY)) {
      for (int run = 0; run < 50_000; run++) {
        runOnce(twice, x, 0);
      }
      int handles = device.openHandles();
      long before = nativeBytes();
      for (int run = 0; run < 100_000; run++) {
        runOnce(twice, x, 0);
      }
      long grown = nativeBytes() - before;
      assertThat(device.openHandles()).isEqualTo(handles);
      assertThat(grown).as("bytes of native memory lost").isLessThan(2L << 20);
    }
    assertThat(device.openHandles()).isZero();
  }

  /** One event that each upload left behind would be 4 MB in all. */
  @Test
  void shouldNotGrowOverUploadsInPartsWhetherTheyEndOrAreGivenUp() throws Throwable {
    TensorType type = TensorType.of(DType.U8, 4 << 10);
    MemorySegment part = arena.allocate(1 << 10, 64);
    try (PjrtDevice copying = PjrtDevice.open(PjrtDeviceOptions.DEFAULTS, false)) {
      long least = Long.MAX_VALUE;
      uploadInParts(copying, type, part, 2_000);
      for (int round = 0; round < 3 && least >= LEAK_BYTES / 2; round++) {
        long before = nativeBytes();
        uploadInParts(copying, type, part, 30_000);
        least = Math.min(least, nativeBytes() - before);
      }
      assertThat(least).as("bytes of native memory lost").isLessThan(LEAK_BYTES / 2);
      assertThat(copying.openHandles()).isZero();
    }
  }

  /** Between none and all of four parts; the arrival of every second is asked for. */
  private static void uploadInParts(
      PjrtDevice device, TensorType type, MemorySegment part, int uploads) {
    for (int i = 0; i < uploads; i++) {
      PartedUpload upload = device.uploadInParts(type).orElseThrow();
      for (int sent = 0; sent < i % 5; sent++) {
        Arrival arrival = upload.write(part);
        if (sent % 2 == 1) {
          arrival.awaitReady();
        }
      }
      upload.buffer().close();
    }
  }

  private void runOnce(DeviceProgram program, DeviceBuffer argument, float expected) {
    try (Execution run = device.execute(program, new DeviceBuffer[] {argument})) {
      float[] result = new float[4];
      run.output(0).read(0, MemorySegment.ofArray(result));
      if (result[3] != expected) {
        throw new AssertionError("expected " + expected + ", got " + result[3]);
      }
    }
  }

  /** Bytes that the C library has handed out and not got back, on all threads. */
  private static long nativeBytes() throws Throwable {
    Linker linker = Linker.nativeLinker();
    StructLayout statistics =
        MemoryLayout.structLayout(MemoryLayout.sequenceLayout(10, ValueLayout.JAVA_LONG));
    MethodHandle mallinfo2 =
        linker.downcallHandle(
            linker.defaultLookup().findOrThrow("mallinfo2"), FunctionDescriptor.of(statistics));
    try (Arena scratch = Arena.ofConfined()) {
      MemorySegment info = (MemorySegment) mallinfo2.invokeExact((SegmentAllocator) scratch);
      long mapped = info.getAtIndex(ValueLayout.JAVA_LONG, 4);
      long allocated = info.getAtIndex(ValueLayout.JAVA_LONG, 7);
      return mapped + allocated;
    }
  }

  private static ProgramSource twice() {
    return source(
        "twice",
        """
        func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {
          %0 = stablehlo.add %a, %a : tensor<4xf32>
          return %0 : tensor<4xf32>
        }
        """);
  }

  private static ProgramSource repeatedProduct() {
    return source(
        "repeated-product",
        """
        func.func public @main(%a: tensor<512x512xf32>) -> tensor<512x512xf32> {
          %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
          %1 = stablehlo.dot_general %0, %a, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
          return %1 : tensor<512x512xf32>
        }
        """);
  }

  private static ProgramSource source(String name, String text) {
    return new ProgramSource(name, text.getBytes(StandardCharsets.UTF_8));
  }
}
