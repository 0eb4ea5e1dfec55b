package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.PlacedData;
import dev.roundhouse.kserve.tstream.StreamSpec;
import dev.roundhouse.kserve.tstream.StreamTensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Memory of messages, in which each input's rows lie one after the other as in a batch. It lives as
 * long as somebody uses it. {@link #release} may be called by any thread; the rest belongs to who
 * fills it.
 */
final class RowBlock {
  private final StreamSpec spec;
  private final ByteBuf buffer;
  private final MemorySegment memory;

  /** Messages that it has room for. */
  private final int capacity;

  /** Where each input begins. */
  private final long[] starts;

  private final boolean isCounted;
  private final Runnable freed;

  /** Who has not released it; never again more than 0 once it is 0. */
  private final AtomicInteger users = new AtomicInteger(1);

  private int used;

  private RowBlock(
      StreamSpec spec, ByteBuf buffer, int capacity, boolean isCounted, Runnable freed) {
    this.spec = spec;
    this.buffer = buffer;
    this.capacity = capacity;
    this.isCounted = isCounted;
    this.freed = freed;
    memory = MemorySegment.ofBuffer(buffer.nioBuffer(0, buffer.capacity()));
    starts = new long[spec.inputs().size()];
    long address = align(memory.address());
    for (int i = 0; i < starts.length; i++) {
      starts[i] = address - memory.address();
      address = align(address + capacity * spec.inputs().get(i).byteSize());
    }
  }

  /**
   * With room for so many messages, and its first user.
   *
   * @param isCounted its memory was taken from that of requests
   * @param freed called when nobody uses it any more
   */
  static RowBlock allocate(
      StreamSpec spec,
      int capacity,
      ByteBufAllocator allocator,
      boolean isCounted,
      Runnable freed) {
    int bytes = Math.toIntExact(bytes(spec, capacity));
    ByteBuf buffer = allocator.directBuffer(bytes, bytes);
    try {
      return new RowBlock(spec, buffer, capacity, isCounted, freed);
    } catch (Throwable e) {
      buffer.release();
      throw e;
    }
  }

  /** Of memory for so many messages. */
  static long bytes(StreamSpec spec, int capacity) {
    long bytes = PlacedData.ALIGNMENT;
    for (StreamTensor input : spec.inputs()) {
      bytes = align(bytes + Math.multiplyExact(capacity, input.byteSize()));
    }
    return bytes;
  }

  private static long align(long address) {
    return Math.ceilDiv(address, PlacedData.ALIGNMENT) * PlacedData.ALIGNMENT;
  }

  int left() {
    return capacity - used;
  }

  /** Messages that are there. */
  int used() {
    return used;
  }

  int capacity() {
    return capacity;
  }

  /** Becomes a further user; false when nobody is one any more. */
  boolean use() {
    return users.getAndUpdate(many -> many == 0 ? 0 : many + 1) > 0;
  }

  void release() {
    if (users.decrementAndGet() == 0) {
      buffer.release();
      freed.run();
    }
  }

  /** Copies messages behind those that are there, to be {@link #add added}. */
  void copy(Messages messages, int from, int count) {
    for (int i = 0; i < starts.length; i++) {
      long each = spec.inputs().get(i).byteSize();
      messages.copy(from, count, i, each, memory, starts[i] + used * each);
    }
  }

  /**
   * Where the system may read messages to that are nothing but a row: behind those that are there.
   *
   * @param head bytes of the first that have come already
   * @param most messages
   * @return the taker's to release
   */
  ByteBuf lend(int head, int most) {
    int each = spec.requestBytes();
    int bytes = Math.min(left(), most) * each;
    return buffer.retainedSlice((int) starts[0] + used * each + head, bytes - head).writerIndex(0);
  }

  /** Puts the bytes that had come before to where {@link #lend} left room for them. */
  void head(ByteBuf begun) {
    int at = (int) starts[0] + used * spec.requestBytes();
    begun.getBytes(begun.readerIndex(), memory.asSlice(at, begun.readableBytes()).asByteBuffer());
  }

  /** What lies behind those that are there, as inputs of one request. */
  List<InputTensor> add(int count) {
    List<InputTensor> inputs = new ArrayList<>(starts.length);
    for (int i = 0; i < starts.length; i++) {
      StreamTensor tensor = spec.inputs().get(i);
      long each = tensor.byteSize();
      long start = starts[i] + used * each;
      inputs.add(
          new InputTensor(
              tensor.name(),
              tensor.dtype(),
              StreamTarget.shape(tensor, count),
              new PlacedData(memory, start, count * each, isCounted ? 0 : count * each)));
    }
    used += count;
    return inputs;
  }
}
