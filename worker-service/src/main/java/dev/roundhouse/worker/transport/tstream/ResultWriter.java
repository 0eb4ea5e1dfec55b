package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.kserve.tstream.RecordHeader;
import dev.roundhouse.kserve.tstream.RecordKind;
import dev.roundhouse.kserve.tstream.StreamSpec;
import dev.roundhouse.worker.transport.shm.Lease;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelPromise;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/** Writes what a server says after its reply. On the connection's event loop. */
final class ResultWriter {
  private static final int CHECKSUM_BYTES = Integer.BYTES;

  private final StreamSpec spec;
  private final boolean hasChecksum;
  private final @Nullable Lease results;

  /** Of a result as it is sent. */
  private final int payloadBytes;

  /** Bytes, ever. */
  private long written;

  /** Messages that were taken and of which the client does not know it. */
  private long untold;

  /**
   * @param results where they are written to; null when they are sent
   */
  ResultWriter(StreamSpec spec, boolean hasChecksum, @Nullable Lease results) {
    this.spec = spec;
    this.hasChecksum = hasChecksum;
    this.results = results;
    payloadBytes = results == null ? spec.responseBytes() : 0;
  }

  long written() {
    return written;
  }

  void taken(int messages) {
    untold += messages;
  }

  private int accepted() {
    int told = (int) Math.min(untold, RecordHeader.MOST_ACCEPTED);
    untold -= told;
    return told;
  }

  /**
   * Writes the results of a group.
   *
   * @param answer taken: closed when all is sent
   * @throws WireException when the answer is not what the spec says; it is closed
   */
  ChannelFuture results(Channel channel, MessageGroup group, Answer answer) {
    try {
      List<OutputTensor> outputs = answer.outputs();
      for (int i = 0; i < spec.outputs().size(); i++) {
        requireSize(i, outputs, group.count());
      }
      if (results != null) {
        SharedPlaces.write(results, group.resultAt(), spec, outputs);
      }
      int each = RecordHeader.BYTES + payloadBytes + (hasChecksum ? CHECKSUM_BYTES : 0);
      ByteBuf records = buffer(channel.alloc(), Math.multiplyExact(each, group.count()));
      ByteBuffer to = records.nioBuffer(0, records.capacity()).order(ByteOrder.LITTLE_ENDIAN);
      for (int message = 0; message < group.count(); message++) {
        result(to, group.first() + message, outputs, message);
      }
      records.writerIndex(records.capacity());
      answer.free();
      ChannelPromise sent = channel.newPromise();
      sent.addListener(over -> answer.close());
      return channel.write(records, sent);
    } catch (RuntimeException | Error e) {
      answer.close();
      throw e;
    }
  }

  private void requireSize(int output, List<OutputTensor> outputs, int count) {
    long expected = spec.outputs().get(output).byteSize() * count;
    long has = output < outputs.size() ? outputs.get(output).data().byteSize() : 0;
    if (has != expected) {
      throw new WireException(
          WireStatus.INTERNAL,
          "output '%s' of %d messages has %d bytes, and %d were expected"
              .formatted(spec.outputs().get(output).name(), count, has, expected));
    }
  }

  private void result(ByteBuffer to, long sequence, List<OutputTensor> outputs, int message) {
    int start = to.position();
    RecordHeader.write(to, (int) sequence, 0, RecordKind.RESULT, accepted());
    if (payloadBytes > 0) {
      payload(to, outputs, message);
    }
    if (hasChecksum) {
      CRC32C checksum = new CRC32C();
      checksum.update(to.slice(start, to.position() - start));
      to.putInt((int) checksum.getValue());
    }
  }

  private void payload(ByteBuffer to, List<OutputTensor> outputs, int message) {
    int payload = to.position();
    MemorySegment target = MemorySegment.ofBuffer(to.slice(payload, payloadBytes));
    long written = 0;
    for (int i = 0; i < spec.outputs().size(); i++) {
      long offset = spec.outputOffset(i);
      long bytes = spec.outputs().get(i).byteSize();
      target.asSlice(written, offset - written).fill((byte) 0);
      MemorySegment.copy(outputs.get(i).data(), message * bytes, target, offset, bytes);
      written = offset + bytes;
    }
    to.position(payload + payloadBytes);
  }

  /** Writes why the messages of a group have no results. */
  ChannelFuture failures(Channel channel, MessageGroup group, int status, String text) {
    byte[] why = RecordHeader.text(text);
    int each = RecordHeader.BYTES + why.length;
    ByteBuf records = buffer(channel.alloc(), Math.multiplyExact(each, group.count()));
    ByteBuffer to = records.nioBuffer(0, records.capacity()).order(ByteOrder.LITTLE_ENDIAN);
    for (int message = 0; message < group.count(); message++) {
      int sequence = (int) (group.first() + message);
      RecordHeader.write(to, sequence, status, RecordKind.RESULT, accepted());
      to.put(why);
    }
    return channel.write(records.writerIndex(records.capacity()));
  }

  /** Tells of what was taken, if the client does not know it. */
  void notice(Channel channel, long last) {
    while (untold > 0) {
      channel.write(header(channel, last, 0, RecordKind.ACCEPTED, 0));
    }
  }

  /** No message after {@code last} is taken. */
  void draining(Channel channel, long last) {
    channel.write(header(channel, last, 0, RecordKind.DRAINING, 0));
  }

  /** The model was replaced. */
  void generation(Channel channel, long last, long generation, long digest) {
    channel.write(
        header(channel, last, 0, RecordKind.GENERATION, 2 * Long.BYTES)
            .writeLongLE(generation)
            .writeLongLE(digest));
  }

  /** The connection ends. */
  ChannelFuture closed(Channel channel, long last, int status, String text) {
    byte[] why = RecordHeader.text(text);
    return channel.write(
        header(channel, last, status, RecordKind.CLOSED, why.length).writeBytes(why));
  }

  private ByteBuf header(Channel channel, long sequence, int status, RecordKind kind, int more) {
    ByteBuf record = buffer(channel.alloc(), RecordHeader.BYTES + more);
    RecordHeader.write(
        record.nioBuffer(0, RecordHeader.BYTES).order(ByteOrder.LITTLE_ENDIAN),
        (int) sequence,
        status,
        kind,
        accepted());
    return record.writerIndex(RecordHeader.BYTES);
  }

  private ByteBuf buffer(ByteBufAllocator allocator, int bytes) {
    written += bytes;
    return allocator.directBuffer(bytes, bytes);
  }
}
