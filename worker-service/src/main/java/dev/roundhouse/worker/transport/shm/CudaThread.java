package dev.roundhouse.worker.transport.shm;

import dev.roundhouse.cuda.CudaException;
import dev.roundhouse.cuda.CudaMemory;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The thread that opens and closes CUDA memory and copies outputs to it. Each of these may block on
 * the device, which neither event loops nor the dispatch thread may do. Its queue is bounded by
 * {@link #MOST_OPENING}, by the number of regions, and by the memory of waiting answers.
 *
 * <p>A process can open a handle only once, so all regions of a handle share one allocation.
 */
final class CudaThread implements Executor, AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(CudaThread.class);

  /** Registrations that may wait at once. */
  static final int MOST_OPENING = 64;

  private static final long PATIENCE_SECONDS = 5;

  private final CudaMemory memory;
  private final ThreadPoolExecutor thread;
  private final AtomicInteger opening = new AtomicInteger();
  private final Map<ByteBuffer, Opened> opened = new HashMap<>(); // owned by the thread

  /**
   * @param memory taken
   */
  CudaThread(CudaMemory memory) {
    this.memory = memory;
    thread =
        new ThreadPoolExecutor(
            1,
            1,
            0,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            Thread.ofPlatform().daemon().name("cuda-memory").factory());
  }

  int device() {
    return memory.device();
  }

  /**
   * @throws RejectedExecutionException when the worker is stopping
   */
  @Override
  public void execute(Runnable task) {
    thread.execute(task);
  }

  /**
   * Opens the allocation of a handle, or shares it when it is open.
   *
   * @return fails with a {@link CudaException}; the allocation is given back by {@link #release}
   * @throws WireException when too many wait, or the worker is stopping
   */
  CompletableFuture<Opened> open(byte[] handle) {
    ByteBuffer key = ByteBuffer.wrap(handle.clone()).asReadOnlyBuffer();
    if (opening.incrementAndGet() > MOST_OPENING) {
      opening.decrementAndGet();
      throw new WireException(
          WireStatus.RESOURCE_EXHAUSTED,
          "%d registrations of CUDA memory wait, which is the limit; retry when they are answered"
              .formatted(MOST_OPENING));
    }
    try {
      return CompletableFuture.supplyAsync(() -> openNow(key), thread);
    } catch (RejectedExecutionException e) {
      opening.decrementAndGet();
      throw new WireException(WireStatus.UNAVAILABLE, "Server exiting");
    }
  }

  private Opened openNow(ByteBuffer handle) {
    opening.decrementAndGet();
    Opened allocation = opened.get(handle);
    if (allocation == null) {
      byte[] bytes = new byte[handle.remaining()];
      handle.duplicate().get(bytes);
      allocation = new Opened(handle, memory.open(bytes));
      opened.put(handle, allocation);
    }
    allocation.regions++;
    return allocation;
  }

  /**
   * Gives back one region's share; the last one closes the allocation.
   *
   * @param done run afterwards
   */
  void release(Opened allocation, Runnable done) {
    try {
      thread.execute(
          () -> {
            releaseNow(allocation);
            done.run();
          });
    } catch (RejectedExecutionException stopping) {
      log.debug("what is open is closed when the worker stops");
      done.run();
    }
  }

  private void releaseNow(Opened allocation) {
    allocation.regions--;
    if (allocation.regions == 0) {
      opened.remove(allocation.handle);
      close(allocation);
    }
  }

  private static void close(Opened allocation) {
    try {
      allocation.memory.close();
    } catch (CudaException e) {
      log.warn("CUDA memory of a client could not be closed", e);
    }
  }

  /** Closes what is open. Call when no request is open any more; harmless when repeated. */
  @Override
  public void close() {
    if (thread.isShutdown()) {
      return;
    }
    thread.shutdown();
    if (!awaitEnd()) {
      log.warn("CUDA memory of clients stays open: the device has not answered in time");
      return;
    }
    opened.values().forEach(CudaThread::close);
    opened.clear();
    memory.close();
  }

  private boolean awaitEnd() {
    try {
      return thread.awaitTermination(PATIENCE_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  /** An allocation that is open. */
  static final class Opened {
    private final ByteBuffer handle;
    private final CudaMemory.Mapping memory;
    private int regions; // owned by the thread

    Opened(ByteBuffer handle, CudaMemory.Mapping memory) {
      this.handle = handle;
      this.memory = memory;
    }

    CudaMemory.Mapping memory() {
      return memory;
    }
  }
}
