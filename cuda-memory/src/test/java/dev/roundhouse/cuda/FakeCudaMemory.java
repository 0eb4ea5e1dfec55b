package dev.roundhouse.cuda;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;

/**
 * A GPU whose memory is the host's, with allocations of processes that there are not. What CUDA
 * leaves undefined, or would do at a bad moment, is a mistake here: it is thrown and kept in {@link
 * #mistakes}. Thread-safe.
 */
public final class FakeCudaMemory implements CudaMemory {
  /** What is called, for rules about threads. */
  public enum Call {
    OPEN,
    READ,
    WRITE,
    CLOSE
  }

  private final int device;
  private final BiPredicate<Call, Thread> allowed;
  private final Map<ByteBuffer, MemorySegment> allocations = new HashMap<>();
  private final Set<ByteBuffer> open = new HashSet<>();
  private final List<String> mistakes = new CopyOnWriteArrayList<>();
  private final Map<Call, Integer> calls = new EnumMap<>(Call.class);
  private byte next;
  private boolean closed;
  private volatile @Nullable String copyFailure;

  /**
   * @param allowed which thread may wait for the device in which call
   */
  public FakeCudaMemory(int device, BiPredicate<Call, Thread> allowed) {
    this.device = device;
    this.allowed = allowed;
  }

  /** Another process's {@code cudaMalloc} and {@code cudaIpcGetMemHandle}. */
  public synchronized byte[] allocate(long byteSize) {
    byte[] handle = new byte[HANDLE_BYTES];
    Arrays.fill(handle, ++next);
    allocations.put(ByteBuffer.wrap(handle), Arena.ofAuto().allocate(byteSize, 8));
    return handle;
  }

  /** What the owner sees of its memory. */
  public synchronized MemorySegment memory(byte[] handle) {
    return Objects.requireNonNull(allocations.get(ByteBuffer.wrap(handle)));
  }

  /** The owner's {@code cudaFree}: undefined while it is open elsewhere. */
  public synchronized void free(byte[] handle) {
    if (open.contains(ByteBuffer.wrap(handle))) {
      throw mistake("memory was freed that is open");
    }
    allocations.remove(ByteBuffer.wrap(handle));
  }

  /** Has every copy fail; null has them work again. */
  public void failCopies(@Nullable String text) {
    copyFailure = text;
  }

  /** How many allocations are open. */
  public synchronized int openCount() {
    return open.size();
  }

  /** How often something was done that worked. */
  public synchronized int count(Call call) {
    return calls.getOrDefault(call, 0);
  }

  /** What nobody may do and somebody did. */
  public List<String> mistakes() {
    return mistakes;
  }

  public synchronized boolean isClosed() {
    return closed;
  }

  @Override
  public int device() {
    return device;
  }

  @Override
  public synchronized Mapping open(byte[] handle) {
    requireThread(Call.OPEN);
    requireUsable();
    if (handle.length != HANDLE_BYTES) {
      throw mistake("a handle of " + handle.length + " bytes");
    }
    ByteBuffer key = ByteBuffer.wrap(handle.clone());
    MemorySegment memory = allocations.get(key);
    if (memory == null) {
      throw CudaException.of(
          "cudaIpcOpenMemHandle", 400, "cudaErrorInvalidResourceHandle", "invalid resource handle");
    }
    if (!open.add(key)) {
      throw mistake("a handle was opened twice");
    }
    calls.merge(Call.OPEN, 1, Integer::sum);
    return new Opened(key, memory);
  }

  @Override
  public synchronized void close() {
    requireUsable();
    closed = true;
    if (!open.isEmpty()) {
      throw mistake(open.size() + " allocations are open at the end");
    }
  }

  private void requireUsable() {
    if (closed) {
      throw mistake("it was used after it was closed");
    }
  }

  private void requireThread(Call call) {
    Thread thread = Thread.currentThread();
    if (!allowed.test(call, thread)) {
      throw mistake("%s on thread '%s', which may not wait".formatted(call, thread.getName()));
    }
  }

  private IllegalStateException mistake(String what) {
    mistakes.add(what);
    return new IllegalStateException(what);
  }

  private final class Opened implements Mapping {
    private final ByteBuffer key;
    private final MemorySegment memory;
    private boolean gone; // under the device's lock

    Opened(ByteBuffer key, MemorySegment memory) {
      this.key = key;
      this.memory = memory;
    }

    @Override
    public long byteSize() {
      return memory.byteSize();
    }

    @Override
    public void read(long offset, MemorySegment target) {
      synchronized (FakeCudaMemory.this) {
        before(Call.READ, offset, target.byteSize());
        MemorySegment.copy(memory, offset, target, 0, target.byteSize());
      }
    }

    @Override
    public void write(long offset, MemorySegment source) {
      synchronized (FakeCudaMemory.this) {
        before(Call.WRITE, offset, source.byteSize());
        MemorySegment.copy(source, 0, memory, offset, source.byteSize());
      }
    }

    private void before(Call call, long offset, long length) {
      requireThread(call);
      requireUsable();
      if (gone) {
        throw mistake(call + " after it was closed");
      }
      if (offset < 0 || length > memory.byteSize() - offset) {
        mistake("%s of %d bytes at %d of %d".formatted(call, length, offset, memory.byteSize()));
        throw new IndexOutOfBoundsException("a copy outside the allocation");
      }
      String failure = copyFailure;
      if (failure != null) {
        throw new CudaException(failure);
      }
      calls.merge(call, 1, Integer::sum);
    }

    @Override
    public void close() {
      synchronized (FakeCudaMemory.this) {
        requireThread(Call.CLOSE);
        if (gone) {
          throw mistake("an allocation was closed twice");
        }
        gone = true;
        open.remove(key);
        calls.merge(Call.CLOSE, 1, Integer::sum);
      }
    }
  }
}
