package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.PlacedData;
import dev.roundhouse.kserve.tstream.StreamTensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * One message in memory of its own, into which the system reads it: where its tensors lie is where
 * a device can read them. Belongs to its event loop until it is whole.
 */
final class LargeMessage {
  private final MessageLayout layout;
  private final ByteBuf buffer;
  private final MemorySegment memory;
  private final int start;
  private int filled;

  private LargeMessage(MessageLayout layout, ByteBuf buffer) {
    this.layout = layout;
    this.buffer = buffer;
    memory = MemorySegment.ofBuffer(buffer.nioBuffer(0, buffer.capacity()));
    start = (int) (-(memory.address() + layout.head()) & (PlacedData.ALIGNMENT - 1));
  }

  static LargeMessage allocate(MessageLayout layout, ByteBufAllocator allocator) {
    int bytes = Math.addExact(layout.bytes(), PlacedData.ALIGNMENT);
    ByteBuf buffer = allocator.directBuffer(bytes, bytes);
    try {
      return new LargeMessage(layout, buffer);
    } catch (Throwable e) {
      buffer.release();
      throw e;
    }
  }

  int missing() {
    return layout.bytes() - filled;
  }

  boolean isEmpty() {
    return filled == 0;
  }

  /** Where what comes next is to be; the taker releases it. */
  ByteBuf rest() {
    return buffer.retainedSlice(start + filled, missing()).writerIndex(0);
  }

  /** So many bytes have come to where {@link #rest} said. */
  void filled(int bytes) {
    filled += bytes;
  }

  /** Copies as much as there is, and as it lacks. */
  void fill(ByteBuf read) {
    int some = Math.min(missing(), read.readableBytes());
    read.readBytes(memory.asSlice(start + filled, some).asByteBuffer());
    filled += some;
  }

  /** Its bytes. */
  ByteBuffer bytes() {
    return buffer.nioBuffer(start, layout.bytes());
  }

  /** What it is as inputs of a request. */
  List<InputTensor> inputs() {
    List<StreamTensor> tensors = layout.spec().inputs();
    List<InputTensor> inputs = new ArrayList<>(tensors.size());
    for (int i = 0; i < tensors.size(); i++) {
      StreamTensor tensor = tensors.get(i);
      int at = start + layout.inputOffset(i);
      long bytes = tensor.byteSize();
      inputs.add(
          new InputTensor(
              tensor.name(),
              tensor.dtype(),
              tensor.shape(),
              new PlacedData(memory, at, bytes, bytes)));
    }
    return inputs;
  }

  /** Any thread. */
  void release() {
    buffer.release();
  }
}
