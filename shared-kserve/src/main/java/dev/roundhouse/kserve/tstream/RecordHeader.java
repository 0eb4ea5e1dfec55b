package dev.roundhouse.kserve.tstream;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Begins everything that a server sends after its reply.
 *
 * @param sequence the low 32 bits of the number of the message that it is about, from 0
 * @param status the number that gRPC has for it; 0 is OK
 * @param accepted messages that the server has taken since the last record, at most 65535
 */
public record RecordHeader(int sequence, int status, RecordKind kind, int accepted) {
  public static final int BYTES = 8;

  /** Of the text after a record that tells of a failure. */
  public static final int MOST_TEXT_BYTES = 1024;

  /** The most that one record says; more are said by the next. */
  public static final int MOST_ACCEPTED = 0xffff;

  /** Writes one without making an object. */
  public static void write(ByteBuffer to, int sequence, int status, RecordKind kind, int accepted) {
    to.putInt(sequence).put((byte) status).put((byte) kind.ordinal()).putShort((short) accepted);
  }

  /** A failure's text as it follows the header: its length, and UTF-8. */
  public static byte[] text(String text) {
    byte[] utf8 = ServerReply.cut(text, MOST_TEXT_BYTES);
    return ByteBuffer.allocate(Integer.BYTES + utf8.length)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(utf8.length)
        .put(utf8)
        .array();
  }

  /**
   * @param from little-endian, with {@link #BYTES} or more; its position is moved
   */
  public static RecordHeader read(ByteBuffer from) throws MalformedStreamException {
    return new RecordHeader(
        from.getInt(),
        from.get() & 0xff,
        RecordKind.of(from.get() & 0xff),
        from.getShort() & 0xffff);
  }
}
