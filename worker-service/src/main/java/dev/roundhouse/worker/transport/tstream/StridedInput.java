package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.engine.request.TensorData;
import java.lang.foreign.MemorySegment;

/**
 * One input of several messages that lie one after the other, as if it were in one piece.
 *
 * @param messages their bytes
 * @param offset of the input in the first of them
 * @param stride from one message to the next
 * @param each bytes of the input in one message
 * @param count messages
 */
record StridedInput(MemorySegment messages, long offset, long stride, long each, int count)
    implements TensorData {

  static TensorData of(MemorySegment messages, long offset, long stride, long each, int count) {
    return count == 1 || stride == each
        ? TensorData.of(messages.asSlice(offset, each * count))
        : new StridedInput(messages, offset, stride, each, count);
  }

  @Override
  public long byteSize() {
    return each * count;
  }

  @Override
  public void copyTo(long from, MemorySegment target, long targetOffset, long length) {
    long done = 0;
    while (done < length) {
      long message = (from + done) / each;
      long within = (from + done) % each;
      long piece = Math.min(each - within, length - done);
      MemorySegment.copy(
          messages, offset + message * stride + within, target, targetOffset + done, piece);
      done += piece;
    }
  }
}
