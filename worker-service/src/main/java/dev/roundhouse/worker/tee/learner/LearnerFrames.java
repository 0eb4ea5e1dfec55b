package dev.roundhouse.worker.tee.learner;

import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.StreamSpec;
import dev.roundhouse.worker.tee.Batch;
import dev.roundhouse.worker.tee.TeeSpec;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** The bytes that learners are sent. Little-endian. */
final class LearnerFrames {
  static final int REPLY_HEAD_BYTES = 48;
  static final int HEAD_BYTES = 32;

  private static final int BATCH = 0;
  private static final int REPLACED = 1;
  private static final int END = 2;

  private static final int MOST_TEXT_BYTES = 4096;
  private static final byte[] ZEROS = new byte[StreamSpec.ALIGNMENT];

  private LearnerFrames() {}

  /**
   * @param window batches that may be unacknowledged; where it is refused for want of room, after
   *     how many milliseconds to try again
   * @param spec null when it is refused
   */
  static ByteBuf reply(HelloStatus status, int window, @Nullable TeeSpec spec, String text) {
    byte[] block = spec == null ? new byte[0] : spec.batch().encoded();
    byte[] version = spec == null ? new byte[0] : utf8(spec.version());
    byte[] why = utf8(text);
    int length = REPLY_HEAD_BYTES + block.length + version.length + why.length;
    ByteBuf reply = Unpooled.buffer(length);
    reply.writeIntLE(LearnerHello.MAGIC).writeByte(status.ordinal()).writeByte(0);
    reply.writeShortLE(version.length).writeIntLE(length).writeIntLE(window);
    reply.writeLongLE(spec == null ? 0 : batchBytes(spec.batch()));
    reply.writeLongLE(spec == null ? 0 : spec.generation());
    reply.writeLongLE(spec == null ? 0 : spec.batch().digest());
    reply.writeShortLE(spec == null ? 0 : spec.batch().inputs().size());
    reply.writeShortLE(spec == null ? 0 : spec.batch().outputs().size());
    reply.writeIntLE(why.length);
    return reply.writeBytes(block).writeBytes(version).writeBytes(why);
  }

  private static byte[] utf8(String text) {
    byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
    return utf8.length <= MOST_TEXT_BYTES ? utf8 : Arrays.copyOf(utf8, MOST_TEXT_BYTES);
  }

  /** Inputs, then outputs from where 64 bytes begin. */
  static long batchBytes(StreamSpec batch) {
    return aligned(batch.requestBytes()) + batch.responseBytes();
  }

  private static long aligned(long bytes) {
    return bytes + StreamSpec.ALIGNMENT - 1 & -StreamSpec.ALIGNMENT;
  }

  /**
   * A batch, in place.
   *
   * @param number of the connection's batches, from 0
   */
  static ByteBuf batch(Batch batch, long number) {
    int tensors = batch.spec().batch().inputs().size() + batch.spec().batch().outputs().size();
    CompositeByteBuf frame = Unpooled.compositeBuffer(2 * tensors + 1);
    frame.addComponent(true, head(BATCH, 0, number, batch.firstRow(), batch.dropped()));
    long at = 0;
    for (int i = 0; i < tensors; i++) {
      int padding = (int) (aligned(at) - at);
      if (padding > 0) {
        frame.addComponent(true, Unpooled.wrappedBuffer(ZEROS, 0, padding));
      }
      ByteBuf bytes = Unpooled.wrappedBuffer(batch.tensor(i).asByteBuffer());
      at = aligned(at) + bytes.readableBytes();
      frame.addComponent(true, bytes);
    }
    return frame;
  }

  /** The model was replaced by one with the same tensors. */
  static ByteBuf replaced(TeeSpec by) {
    byte[] version = utf8(by.version());
    return head(REPLACED, version.length, by.generation(), 0, 0).writeBytes(version);
  }

  /** Nothing follows. */
  static ByteBuf end(String text) {
    byte[] why = utf8(text);
    return head(END, why.length, 0, 0, 0).writeBytes(why);
  }

  private static ByteBuf head(int kind, int textBytes, long number, long row, long dropped) {
    return Unpooled.buffer(HEAD_BYTES + textBytes)
        .writeIntLE(kind)
        .writeIntLE(textBytes)
        .writeLongLE(number)
        .writeLongLE(row)
        .writeLongLE(dropped);
  }
}
