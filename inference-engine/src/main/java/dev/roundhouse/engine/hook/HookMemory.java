package dev.roundhouse.engine.hook;

import dev.roundhouse.engine.queue.ByteBudget;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.hooks.HookException;
import dev.roundhouse.hooks.Tensor;
import dev.roundhouse.hooks.Tensors;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The memory that one request's hooks see. What they make lies on the heap, so that code which
 * keeps it can reach nobody else's, and is counted until {@link #close}. What others lend them is
 * read-only, and can be {@linkplain #revoke taken back} from code that does not stop. Thread-safe.
 */
final class HookMemory {
  private static final long LARGEST = Integer.MAX_VALUE - 8;

  private final String model;
  private final ByteBudget requests;
  private final ByteBudget heap;

  // Guarded by this.
  private final List<MemorySegment.Scope> ours = new ArrayList<>(); // until the answer is gone
  private final List<MemorySegment.Scope> callers = new ArrayList<>(); // until the request is over
  private @Nullable Arena lentInputs;
  private @Nullable Arena lentAnswers;
  private final Map<MemorySegment.Scope, Long> scratch = new HashMap<>(0);
  private long bytes;
  private boolean closed;

  /**
   * @param requests what all requests need
   * @param heap what hooks of all requests have made
   */
  HookMemory(String model, ByteBudget requests, ByteBudget heap) {
    this.model = model;
    this.requests = requests;
    this.heap = heap;
  }

  /**
   * Zeros that may be written.
   *
   * @throws HookException when there is no room
   */
  MemorySegment make(String tensor, long size) {
    refuseTooLarge(tensor, size);
    reserve(tensor, size);
    return made(size);
  }

  /**
   * As {@link #make}; but waits for room, when the request holds none yet, and is counted only
   * until {@link #releaseScratch}, unless the answer has it.
   *
   * @return null when the deadline has passed
   */
  @Nullable MemorySegment scratch(String tensor, long size, ScratchLine line, long deadlineNanos)
      throws InterruptedException {
    refuseTooLarge(tensor, size);
    if (!holdsNone() || size > heap.limit()) {
      reserve(tensor, size);
    } else if (!line.await(() -> heap.take(size), deadlineNanos)) {
      return null;
    } else if (!requests.take(size)) { // of which it may hold some, in answers to its calls
      heap.giveBack(size);
      throw isFull(tensor, size, requests);
    }
    MemorySegment segment = made(size);
    synchronized (this) {
      scratch.put(segment.scope(), size);
    }
    return segment;
  }

  /** The run has ended. What of its scratch the answer does not have is counted no more. */
  void releaseScratch() {
    long released = 0;
    synchronized (this) {
      for (Map.Entry<MemorySegment.Scope, Long> each : scratch.entrySet()) {
        ours.remove(each.getKey());
        released += each.getValue();
      }
      scratch.clear();
    }
    giveBack(released);
  }

  private synchronized boolean holdsNone() {
    return bytes == 0;
  }

  private void refuseTooLarge(String tensor, long size) {
    if (size > LARGEST) {
      throw new IllegalArgumentException(
          "tensor '%s' of model '%s' would have %d bytes; hooks make tensors of %d at most"
              .formatted(tensor, model, size, LARGEST));
    }
  }

  /** Of bytes that are reserved, which it takes. */
  private MemorySegment made(long size) {
    take(size);
    MemorySegment segment;
    boolean allocated = false;
    try {
      segment = MemorySegment.ofArray(new byte[(int) size]);
      allocated = true;
    } finally {
      if (!allocated) {
        giveBack(size);
      }
    }
    synchronized (this) {
      ours.add(segment.scope());
    }
    return segment;
  }

  private void take(long size) {
    synchronized (this) {
      if (!closed) {
        bytes += size;
        return;
      }
    }
    heap.giveBack(size);
    requests.giveBack(size);
    throw new IllegalStateException("the request is over; its hooks make no tensors any more");
  }

  private void reserve(String tensor, long size) {
    ByteBudget full = null;
    if (!heap.take(size)) {
      full = heap;
    } else if (!requests.take(size)) {
      heap.giveBack(size);
      full = requests;
    }
    if (full != null) {
      throw isFull(tensor, size, full);
    }
  }

  private HookException isFull(String tensor, long size, ByteBudget full) {
    return new HookException(
        HookException.Code.RESOURCE_EXHAUSTED,
        "tensor '%s' that hooks of model '%s' make needs %d bytes, %d are held and the limit is %d; retry later or raise %s"
            .formatted(tensor, model, size, full.held(), full.limit(), full.limitName()));
  }

  private void giveBack(long size) {
    synchronized (this) {
      if (closed) {
        return;
      }
      bytes -= size;
    }
    heap.giveBack(size);
    requests.giveBack(size);
  }

  /** A caller's input, to be read: in place when it lies in one piece. */
  MemorySegment lendInput(String tensor, TensorData data) {
    if (!(data instanceof TensorData.Contiguous(MemorySegment segment))) {
      MemorySegment copy = make(tensor, data.byteSize());
      data.copyTo(0, copy, 0, data.byteSize());
      return copy.asReadOnly();
    }
    synchronized (this) {
      if (!segment.isNative()) {
        callers.add(segment.scope());
        return segment.asReadOnly(); // whoever keeps it keeps it alive
      }
      Arena arena = lentInputs;
      if (arena == null) {
        arena = Arena.ofShared(); // closed by revoke() alone, as it frees nothing and is not cheap
        lentInputs = arena;
        callers.add(arena.scope());
      }
      return segment.reinterpret(arena, null).asReadOnly();
    }
  }

  /** An output of an answer that is kept as long as the request's own, to be read in place. */
  synchronized MemorySegment lendAnswer(MemorySegment segment) {
    if (!segment.isNative()) {
      ours.add(segment.scope());
      return segment.asReadOnly();
    }
    Arena arena = lentAnswers;
    if (arena == null) {
      arena = Arena.ofShared();
      lentAnswers = arena;
      ours.add(arena.scope());
    }
    return segment.reinterpret(arena, null).asReadOnly();
  }

  /** Memory that stays until the request is over: this, or a copy of what is not of the request. */
  MemorySegment forCall(String tensor, MemorySegment segment) {
    return isOneOf(ours, segment) || isOneOf(callers, segment) ? segment : copy(tensor, segment);
  }

  /** Memory that stays as long as the answer: this, or a copy. */
  MemorySegment forAnswer(String tensor, MemorySegment segment) {
    synchronized (this) {
      scratch.remove(segment.scope()); // counted as long as the answer
    }
    return isOneOf(ours, segment) ? segment : copy(tensor, segment);
  }

  private MemorySegment copy(String tensor, MemorySegment segment) {
    MemorySegment copy = make(tensor, segment.byteSize());
    copy.copyFrom(segment);
    return copy;
  }

  /**
   * A copy that goes out with a part of the answer. What hooks made for it is counted no more: the
   * copy is, until it is {@linkplain Part#close closed}, the request over or not.
   */
  Part forPart(Tensors tensors) {
    Part part = new Part();
    boolean made = false;
    try {
      for (Tensor tensor : tensors) {
        part.add(tensor);
      }
      made = true;
    } finally {
      if (!made) {
        part.close();
      }
    }
    for (Tensor tensor : tensors) {
      forget(tensor.segment());
    }
    return part;
  }

  private void forget(MemorySegment segment) {
    if (segment.heapBase().orElse(null) instanceof byte[] array) {
      boolean counted;
      synchronized (this) {
        counted = ours.remove(segment.scope());
        scratch.remove(segment.scope());
      }
      if (counted) {
        giveBack(array.length);
      }
    }
  }

  /** Tensors of one part of an answer. For one thread until it has gone out. */
  final class Part {
    private final List<OutputTensor> outputs = new ArrayList<>();
    private long counted;

    private void add(Tensor tensor) {
      long size = tensor.segment().byteSize();
      if (size > LARGEST) {
        throw new IllegalArgumentException(
            "tensor '%s' of model '%s' has %d bytes; a part holds tensors of %d at most"
                .formatted(tensor.name(), model, size, LARGEST));
      }
      reserve(tensor.name(), size);
      counted += size;
      MemorySegment copy = MemorySegment.ofArray(new byte[(int) size]);
      outputs.add(
          new OutputTensor(
              tensor.name(), tensor.dtype(), tensor.shape(), copy.copyFrom(tensor.segment())));
    }

    List<OutputTensor> outputs() {
      return outputs;
    }

    /** Once. */
    void close() {
      heap.giveBack(counted);
      requests.giveBack(counted);
    }
  }

  private synchronized boolean isOneOf(List<MemorySegment.Scope> scopes, MemorySegment segment) {
    MemorySegment.Scope scope = segment.scope();
    for (MemorySegment.Scope each : scopes) {
      if (each.equals(scope)) {
        return true;
      }
    }
    return false;
  }

  /**
   * Takes back what was lent: from now on code that reads it gets an exception.
   *
   * @return false when it is being read by the system at this moment; to be tried again
   */
  synchronized boolean revoke() {
    return close(lentInputs) && close(lentAnswers);
  }

  private static boolean close(@Nullable Arena arena) {
    if (arena == null || !arena.scope().isAlive()) {
      return true;
    }
    try {
      arena.close();
      return true;
    } catch (IllegalStateException inUse) {
      return false;
    }
  }

  /** Counts it no more; what still is in use stays until nobody refers to it. Once, or again. */
  void close() {
    long held;
    synchronized (this) {
      if (closed) {
        return;
      }
      closed = true;
      held = bytes;
    }
    heap.giveBack(held);
    requests.giveBack(held);
  }
}
