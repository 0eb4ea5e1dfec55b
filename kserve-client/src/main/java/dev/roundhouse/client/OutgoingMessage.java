package dev.roundhouse.client;

import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.WireFormat;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import io.grpc.Drainable;
import io.grpc.KnownLength;
import io.grpc.Status;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A ModelInferRequest on its way out: its head as protobuf encodes it, then the raw contents, which
 * stay where they are until the transport takes them.
 */
final class OutgoingMessage {
  private static final int MOST_PREFIX_BYTES = 1 + 10;

  private final List<MemorySegment> parts;
  private final long byteSize;

  /** Why a part could no longer be read when sent; null when all could. */
  private volatile @Nullable RuntimeException lost;

  /**
   * @param head without raw contents
   * @param raw borrowed until the call has ended
   */
  OutgoingMessage(ModelInferRequest head, List<MemorySegment> raw) {
    parts = new ArrayList<>(1 + 2 * raw.size());
    parts.add(MemorySegment.ofArray(head.toByteArray()));
    for (MemorySegment each : raw) {
      parts.add(prefix(each.byteSize()));
      parts.add(each);
    }
    long size = 0;
    for (MemorySegment part : parts) {
      size += part.byteSize();
    }
    byteSize = size;
  }

  private static MemorySegment prefix(long length) {
    ByteBuffer prefix = ByteBuffer.allocate(MOST_PREFIX_BYTES);
    try {
      CodedOutputStream out = CodedOutputStream.newInstance(prefix);
      out.writeTag(
          ModelInferRequest.RAW_INPUT_CONTENTS_FIELD_NUMBER, WireFormat.WIRETYPE_LENGTH_DELIMITED);
      out.writeUInt64NoTag(length);
      out.flush();
    } catch (IOException e) {
      throw new UncheckedIOException("a prefix of %d bytes".formatted(MOST_PREFIX_BYTES), e);
    }
    return MemorySegment.ofBuffer(prefix.flip());
  }

  long byteSize() {
    return byteSize;
  }

  /**
   * Throws when it is larger than it may be.
   *
   * @param model that it is for
   */
  void requireAtMost(int most, String model) {
    if (byteSize > most) {
      throw new KServeException(
          Status.Code.RESOURCE_EXHAUSTED,
          "a request to '%s' of %d bytes, and the limit is %d; send fewer rows, or raise maxRequestBytes as far as the server takes it"
              .formatted(model, byteSize, most),
          null,
          null);
    }
  }

  /**
   * Throws when the caller's memory was gone before it was sent: zeros were sent in its place, as
   * the transport knows no other end than that of all calls of the connection. The answer, if there
   * is one, is to be dropped.
   */
  void requireSent() {
    RuntimeException cause = lost;
    if (cause != null) {
      throw new KServeException(
          Status.Code.INVALID_ARGUMENT,
          "the memory of an input could not be read when it was to be sent; keep its arena open until the call has ended",
          cause,
          null);
    }
  }

  InputStream stream() {
    return new Stream();
  }

  /** The message from its beginning, to be read once. */
  private final class Stream extends InputStream implements Drainable, KnownLength {
    private static final int PIECE_BYTES = 16 << 10;

    private int part;
    private long at;

    @Override
    public int available() {
      long left = -at;
      for (int i = part; i < parts.size(); i++) {
        left += parts.get(i).byteSize();
      }
      return Math.toIntExact(left);
    }

    @Override
    public int read() {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : Byte.toUnsignedInt(one[0]);
    }

    @Override
    public int read(byte[] to, int offset, int count) {
      while (part < parts.size()) {
        MemorySegment from = parts.get(part);
        int length = (int) Math.min(count, from.byteSize() - at);
        if (length > 0 || count == 0) {
          try {
            MemorySegment.copy(from, ValueLayout.JAVA_BYTE, at, to, offset, length);
          } catch (RuntimeException e) {
            lost = e;
            Arrays.fill(to, offset, offset + length, (byte) 0);
          }
          at += length;
          return length;
        }
        part++;
        at = 0;
      }
      return -1;
    }

    @Override
    public int drainTo(OutputStream target) throws IOException {
      int size = available();
      byte[] piece = new byte[Math.min(PIECE_BYTES, size)];
      for (int count = read(piece, 0, piece.length);
          count > 0;
          count = read(piece, 0, piece.length)) {
        target.write(piece, 0, count);
      }
      return size;
    }
  }
}
