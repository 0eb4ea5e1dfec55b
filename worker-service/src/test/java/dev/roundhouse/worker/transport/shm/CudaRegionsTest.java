package dev.roundhouse.worker.transport.shm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.cuda.CudaMemory;
import dev.roundhouse.cuda.FakeCudaMemory;
import dev.roundhouse.cuda.FakeCudaMemory.Call;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.kserve.codec.RegionRange;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.pjrt.MappedCopy;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class CudaRegionsTest {
  private static final int DEVICE = 3;

  private final FakeCudaMemory gpu =
      new FakeCudaMemory(
          DEVICE,
          (call, thread) ->
              call == Call.READ || call == Call.WRITE || thread.getName().equals("cuda-memory"));
  private final ClientRegions regions =
      new ClientRegions(
          new ClientRegions.Settings(true, List.of(), 3),
          MappedCopy::copy,
          new CudaAccess.Through(gpu));
  private final byte[] handle = gpu.allocate(64);

  @AfterEach
  void close() {
    regions.close();
    assertThat(gpu.openCount()).as("allocations that stay open").isZero();
    assertThat(gpu.isClosed()).isTrue();
    assertThat(gpu.mistakes()).isEmpty();
  }

  @Test
  void shouldReadAndWriteWhereTheRegionIs() throws Exception {
    register("r", handle, 48);
    gpu.memory(handle).set(ValueLayout.JAVA_INT, 12, 7);
    try (Lease lease = regions.lease(new RegionRange("r", 8, 8))) {
      TensorData data = lease.data();
      assertThat(data.byteSize()).isEqualTo(8);
      assertThat(data.heldBytes()).as("the client's memory").isZero();
      assertThat(data.waitsForDevice()).isTrue();
      assertThat(lease.waitsForDevice()).isTrue();
      MemorySegment target = MemorySegment.ofArray(new int[3]);
      data.copyTo(4, target, 8, 4);
      assertThat(target.get(ValueLayout.JAVA_INT, 8)).isEqualTo(7);
      assertThatThrownBy(() -> data.copyTo(4, target, 0, 5))
          .isInstanceOf(IndexOutOfBoundsException.class);

      lease.write(MemorySegment.ofArray(new int[] {9}));
      assertThat(gpu.memory(handle).get(ValueLayout.JAVA_INT, 8)).isEqualTo(9);
    }
    assertRefused(
        () -> regions.lease(new RegionRange("r", 44, 5)),
        WireStatus.INVALID_ARGUMENT,
        "Invalid offset + byte size for shared memory region: 'r'");
  }

  @Test
  void shouldTellWhatIsRegisteredByItsKind() throws Exception {
    try (SharedObject object = new SharedObject(8)) {
      register("c", handle, 64);
      regions.register("s", object.key(), 0, 8);
      assertThat(regions.cuda().status(""))
          .containsExactly(new CudaRegions.Registered("c", DEVICE, 64));
      assertThat(regions.cuda().status("c")).hasSize(1);
      assertThat(regions.status("")).hasSize(1);
      assertRefused(
          () -> regions.cuda().status("s"),
          WireStatus.NOT_FOUND,
          "it is a region of system shared memory");
      assertRefused(
          () -> regions.status("c"),
          WireStatus.NOT_FOUND,
          "registered as CUDA shared memory, not system shared memory");
      assertRefused(
          () -> regions.cuda().status("x"),
          WireStatus.NOT_FOUND,
          "Unable to find cuda shared memory region: 'x'");

      regions.unregister("");
      unregister("s");
      assertThat(regions.cuda().status("")).as("of the other kind").hasSize(1);
      unregister("");
      assertThat(regions.cuda().status("")).isEmpty();
    }
  }

  @Test
  void shouldKeepNamesOfBothKindsApart() throws Exception {
    try (SharedObject object = new SharedObject(8)) {
      register("c", handle, 64);
      assertRefused(
          () -> regions.register("c", object.key(), 0, 8),
          WireStatus.ALREADY_EXISTS,
          "shared memory region 'c' already in manager");
      regions.register("s", object.key(), 0, 8);
      for (String name : List.of("c", "s")) {
        assertRefused(
            () -> register(name, gpu.allocate(8), 8),
            WireStatus.ALREADY_EXISTS,
            "shared memory region '" + name + "' already in manager");
      }
      register("d", handle, 8);
      assertRefused(
          () -> register("e", handle, 8),
          WireStatus.RESOURCE_EXHAUSTED,
          "3 shared memory regions are registered and that is the limit");
    }
  }

  @Test
  void shouldOpenAHandleOnceForAllRegionsOfIt() throws Exception {
    register("a", handle, 64);
    register("b", handle, 32);
    assertThat(gpu.count(Call.OPEN)).isEqualTo(1);
    unregister("a");
    try (Lease lease = regions.lease(new RegionRange("b", 0, 4))) {
      lease.write(MemorySegment.ofArray(new int[] {5}));
    }
    assertThat(gpu.memory(handle).get(ValueLayout.JAVA_INT, 0)).isEqualTo(5);
    unregister("b");
    assertThat(gpu.openCount()).isZero();
    gpu.free(handle); // which would be a mistake while it is open
  }

  @Test
  void shouldKeepARegionForThoseWhoUseItWhenItIsUnregistered() throws Exception {
    register("r", handle, 64);
    try (Lease lease = regions.lease(new RegionRange("r", 0, 4))) {
      unregister("r");
      assertRefused(
          () -> regions.lease(new RegionRange("r", 0, 4)),
          WireStatus.NOT_FOUND,
          "Unable to find shared memory region: 'r'");
      register("r", gpu.allocate(8), 8);
      lease.write(MemorySegment.ofArray(new int[] {5}));
      assertThat(gpu.openCount()).isEqualTo(2);
    }
    assertThat(gpu.memory(handle).get(ValueLayout.JAVA_INT, 0)).isEqualTo(5);
    unregister("");
    awaitClosed();
    assertThat(gpu.mistakes()).isEmpty();
  }

  @Test
  void shouldRefuseWhatIsNoRegion() throws Exception {
    assertRefused(
        () -> register("r", new byte[63], 8),
        WireStatus.INVALID_ARGUMENT,
        "raw_handle has 63 bytes; a cudaIpcMemHandle_t has 64");
    assertRefused(
        () -> register("r", handle, 0),
        WireStatus.INVALID_ARGUMENT,
        "byte_size is 0; it must be 1");
    assertRefused(
        () -> register("r", handle, -1),
        WireStatus.INVALID_ARGUMENT,
        "byte_size is 18446744073709551615");
    assertRefused(
        () -> register("", handle, 8), WireStatus.INVALID_ARGUMENT, "name cannot be empty");
    for (long device : new long[] {0, -1, DEVICE + (1L << 32)}) {
      assertRefused(
          () -> join(regions.cuda().register("r", handle, device, 8)),
          WireStatus.INVALID_ARGUMENT,
          "device_id is " + device + " and this worker's GPU is 3");
    }
    assertRefused(
        () -> register("r", new byte[CudaMemory.HANDLE_BYTES], 8),
        WireStatus.INVALID_ARGUMENT,
        "failed to register CUDA shared memory region 'r': invalid args: its handle cannot be"
            + " opened: cudaIpcOpenMemHandle: cudaErrorInvalidResourceHandle (400)");
    assertRefused(
        () -> register("r", handle, 65),
        WireStatus.INVALID_ARGUMENT,
        "byte_size is 65 and the allocation of that handle has 64 bytes");
    awaitClosed();
    register("r", handle, 64); // the name is free
  }

  @Test
  void shouldSayWhatCudaSaidOfACopy() throws Exception {
    register("r", handle, 64);
    try (Lease lease = regions.lease(new RegionRange("r", 0, 8))) {
      gpu.failCopies("cudaMemcpyAsync: cudaErrorUnknown (999): unknown error");
      assertThatThrownBy(() -> lease.data().copyTo(0, MemorySegment.ofArray(new byte[8]), 0, 8))
          .isInstanceOf(DeviceException.class)
          .hasMessageContaining("region 'r' cannot be read: cudaMemcpyAsync: cudaErrorUnknown");
      assertRefused(
          () -> lease.write(MemorySegment.ofArray(new byte[8])),
          WireStatus.INTERNAL,
          "region 'r' cannot be written: cudaMemcpyAsync: cudaErrorUnknown");
      gpu.failCopies(null);
      lease.write(MemorySegment.ofArray(new byte[8]));
    }
  }

  @Test
  void shouldBoundTheRegistrationsThatWait() throws Exception {
    CountDownLatch hangs = new CountDownLatch(1);
    ClientRegions many =
        new ClientRegions(
            new ClientRegions.Settings(true, List.of(), 1000),
            MappedCopy::copy,
            new CudaAccess.Through(new FakeCudaMemory(DEVICE, (call, thread) -> true)));
    try (many) {
      many.cuda().thread().execute(() -> awaitQuietly(hangs));
      List<CompletableFuture<Void>> waiting = new ArrayList<>();
      for (int i = 0; i < CudaThread.MOST_OPENING; i++) {
        waiting.add(many.cuda().register("r" + i, handle, DEVICE, 1));
      }
      assertRefused(
          () -> many.cuda().register("more", handle, DEVICE, 1),
          WireStatus.RESOURCE_EXHAUSTED,
          "64 registrations of CUDA memory wait");
      assertRefused(
          () -> many.lease(new RegionRange("r0", 0, 1)),
          WireStatus.NOT_FOUND,
          "Unable to find shared memory region: 'r0'");
      hangs.countDown();
      for (CompletableFuture<Void> each : waiting) {
        assertThatThrownBy(() -> each.get(60, TimeUnit.SECONDS))
            .as("there is no such memory")
            .hasMessageContaining("cudaErrorInvalidResourceHandle");
      }
    } finally {
      hangs.countDown();
    }
  }

  @Test
  void shouldRefuseRegistrationsOnceItIsClosed() throws Exception {
    register("r", handle, 64);
    regions.close();
    assertThat(gpu.openCount()).isZero();
    assertRefused(() -> register("s", handle, 64), WireStatus.UNAVAILABLE, "Server exiting");
  }

  @Test
  void shouldAnswerStatusAndUnregisterWhereThereIsNoGpu() {
    try (ClientRegions none =
            new ClientRegions(
                new ClientRegions.Settings(true, List.of(), 1),
                MappedCopy::copy,
                CudaAccess.NO_GPU);
        ClientRegions off =
            new ClientRegions(
                new ClientRegions.Settings(false, List.of(), 1),
                MappedCopy::copy,
                new CudaAccess.Off())) {
      assertRefused(
          () -> none.cuda().register("r", handle, 0, 8),
          WireStatus.INVALID_ARGUMENT,
          "failed to register CUDA shared memory region 'r': this server takes no CUDA memory: its"
              + " device is no GPU of NVIDIA's; register system shared memory");
      assertRefused(
          () -> off.cuda().register("r", handle, 0, 8),
          WireStatus.UNIMPLEMENTED,
          "Client shared memory is disabled");
      for (ClientRegions each : List.of(none, off)) {
        assertThat(each.cuda().status("")).isEmpty();
        assertThat(each.cuda().work()).isFalse();
        assertThat(each.cuda().unregister("")).isDone();
      }
    }
  }

  private void register(String name, byte[] of, long byteSize) throws Exception {
    join(regions.cuda().register(name, of, DEVICE, byteSize));
  }

  private void unregister(String name) throws TimeoutException {
    join(regions.cuda().unregister(name));
  }

  private static void join(CompletableFuture<Void> done) throws TimeoutException {
    try {
      done.orTimeout(60, TimeUnit.SECONDS).join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof WireException refusal) {
        throw refusal;
      }
      throw e;
    }
  }

  private void awaitClosed() {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (gpu.openCount() > 0 && System.nanoTime() < end) {
      Thread.onSpinWait();
    }
    assertThat(gpu.openCount()).isZero();
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      assertThat(latch.await(60, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static void assertRefused(ThrowingCallable call, WireStatus status, String text) {
    WireException refusal = catchThrowableOfType(WireException.class, call);
    assertThat(refusal).hasMessageContaining(text);
    assertThat(refusal.status()).isEqualTo(status);
  }
}
