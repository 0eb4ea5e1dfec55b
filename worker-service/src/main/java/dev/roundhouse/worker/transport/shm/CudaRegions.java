package dev.roundhouse.worker.transport.shm;

import dev.roundhouse.cuda.CudaException;
import dev.roundhouse.cuda.CudaMemory;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The regions of memory on the worker's GPU that clients have registered. Without access to such
 * memory, registering is refused. Thread-safe.
 */
public final class CudaRegions {
  private static final long MOST_SECONDS_TO_CLOSE = 1;

  private final CudaAccess access;
  private final RegionTable regions;
  private final @Nullable CudaThread thread;

  /**
   * @param access taken
   */
  CudaRegions(CudaAccess access, RegionTable regions) {
    this.access = access;
    this.regions = regions;
    thread = access instanceof CudaAccess.Through through ? new CudaThread(through.memory()) : null;
  }

  /**
   * A region as it was registered.
   *
   * @param device the GPU, as CUDA counts in this worker
   */
  public record Registered(String name, int device, long byteSize) {}

  /** False where every registration is refused. */
  public boolean work() {
    return thread != null;
  }

  /**
   * Registers the beginning of an allocation of another process.
   *
   * @param handle the bytes of its {@code cudaIpcMemHandle_t}
   * @param device that it is on; must be the worker's own
   * @return completes when requests may name it; fails with a {@link WireException}
   * @throws WireException for what is found wrong without opening it
   */
  public CompletableFuture<Void> register(String name, byte[] handle, long device, long byteSize) {
    ClientRegions.requireName(name);
    CudaThread on = requireThread(name);
    if (handle.length != CudaMemory.HANDLE_BYTES) {
      throw refused(
          name,
          "raw_handle has %d bytes; a cudaIpcMemHandle_t has %d",
          handle.length,
          CudaMemory.HANDLE_BYTES);
    }
    if (byteSize <= 0) {
      throw refused(name, "byte_size is %s; it must be 1 or more", Long.toUnsignedString(byteSize));
    }
    if (device != on.device()) {
      throw refused(
          name,
          "device_id is %d and this worker's GPU is %d; allocate there, or register with the worker of that GPU",
          device,
          on.device());
    }
    regions.take(name);
    try {
      return on.open(handle)
          .handle(
              (allocation, failure) -> {
                if (failure != null) {
                  throw notOpened(name, failure, on.device());
                }
                put(name, byteSize, on, allocation);
                return null;
              });
    } catch (RuntimeException | Error e) {
      regions.giveUp(name);
      throw e;
    }
  }

  private void put(String name, long byteSize, CudaThread on, CudaThread.Opened allocation) {
    long there = allocation.memory().byteSize();
    if (byteSize > there) {
      on.release(allocation, () -> {});
      regions.giveUp(name);
      throw refused(
          name,
          "invalid args: byte_size is %d and the allocation of that handle has %d bytes",
          byteSize,
          there);
    }
    regions.put(new CudaRegion(name, byteSize, on, allocation));
  }

  private RuntimeException notOpened(String name, Throwable failure, int device) {
    regions.giveUp(name);
    Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
    return cause instanceof CudaException said
        ? refused(
            name,
            "invalid args: its handle cannot be opened: %s; its owner must be another process of this machine, have allocated it by cudaMalloc on GPU %d, and still have it",
            String.valueOf(said.getMessage()),
            device)
        : new CompletionException(cause);
  }

  /**
   * Unregisters a region; harmless when there is none. Its memory is closed once no request uses
   * it.
   *
   * @param name empty for all
   * @return completes when it is closed, so that its owner may free it, and after a second at the
   *     latest: the client knows which of its requests still use it
   */
  public CompletableFuture<Void> unregister(String name) {
    return CompletableFuture.allOf(
            regions.remove(CudaRegion.class, name).stream()
                .map(CudaRegion::closed)
                .toArray(CompletableFuture<?>[]::new))
        .completeOnTimeout(null, MOST_SECONDS_TO_CLOSE, TimeUnit.SECONDS);
  }

  /**
   * The registered regions, by name.
   *
   * @param name empty for all
   * @throws WireException NOT_FOUND when there is no region of that name
   */
  public List<Registered> status(String name) {
    if (name.isEmpty()) {
      return regions.all(CudaRegion.class).stream().map(CudaRegions::registered).toList();
    }
    return switch (regions.find(name)) {
      case CudaRegion region -> List.of(registered(region));
      case SystemRegion other ->
          throw new WireException(
              WireStatus.NOT_FOUND,
              "Unable to find cuda shared memory region: '"
                  + name
                  + "'; it is a region of system shared memory");
      case null ->
          throw new WireException(
              WireStatus.NOT_FOUND, "Unable to find cuda shared memory region: '" + name + "'");
    };
  }

  private static Registered registered(CudaRegion region) {
    return new Registered(region.name(), region.device(), region.byteSize());
  }

  /**
   * The thread that may copy to these regions.
   *
   * @throws IllegalStateException where there can be none
   */
  public Executor thread() {
    if (thread == null) {
      throw new IllegalStateException("no region is of CUDA's memory here");
    }
    return thread;
  }

  private CudaThread requireThread(String name) {
    if (thread != null) {
      return thread;
    }
    throw switch (access) {
      case CudaAccess.None(String why) ->
          WireException.invalidArgument(
              "failed to register CUDA shared memory region '"
                  + name
                  + "': this server takes no CUDA memory: "
                  + why
                  + "; register system shared memory, or send tensors in the request");
      case CudaAccess.Off off -> ClientRegions.disabled();
      case CudaAccess.Through through -> new IllegalStateException("a thread was made for it");
    };
  }

  private static WireException refused(String name, String format, Object... values) {
    return WireException.invalidArgument(
        "failed to register CUDA shared memory region '" + name + "': " + format.formatted(values));
  }

  /** Closes what is open; call when no request is open. */
  void close() {
    if (thread != null) {
      thread.close();
    }
  }
}
