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
 * The thread that opens and closes memory of CUDA's, and copies outputs to it. Each of these may
 * wait for the device, which neither event loops nor the dispatch thread have time for. What it has
 * to do is bounded: by {@link #MOST_OPENING}, by the regions there are, and by the memory of the
 * answers that wait.
 *
 * <p>A process opens a handle once, however many regions are of it: they share the allocation.
 */
final class CudaThread implements Executor, AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(CudaThread.class);

  /** Registrations that wait at once. */
  static final int MOST_OPENING = 64;

  private static final long PATIENCE_SECONDS = 5;

  private final CudaMemory memory;
  private final ThreadPoolExecutor thread;
  private final AtomicInteger opening = new AtomicInteger();
  private final Map<ByteBuffer, Opened> opened = new HashMap<>(); // of the thread

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
   * Opens what a handle stands for, unless it is open.
   *
   * @return fails with a {@link CudaException}; what it brings goes back by {@link #release}
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
   * A region of it is gone; the last one closes it.
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

  /** Closes what is open; call when no request is open any more. Harmless when repeated. */
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
    private int regions; // of the thread

    Opened(ByteBuffer handle, CudaMemory.Mapping memory) {
      this.handle = handle;
      this.memory = memory;
    }

    CudaMemory.Mapping memory() {
      return memory;
    }
  }
}
