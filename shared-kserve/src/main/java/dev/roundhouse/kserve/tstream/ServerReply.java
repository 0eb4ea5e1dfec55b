package dev.roundhouse.kserve.tstream;

import static dev.roundhouse.kserve.tstream.ClientHello.MAGIC;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What a server says to a hello.
 *
 * @param version that is spoken from here on
 * @param options granted: those wanted that are possible
 * @param window granted, in messages, at most what was wanted; where the status is {@link
 *     HelloStatus#OVERLOADED}, after how many milliseconds to try again
 * @param generation of the model; another after it was replaced
 * @param spec of the model; null when there is none to tell
 * @param text why, when the status is not {@link HelloStatus#OK}
 */
public record ServerReply(
    int version,
    HelloStatus status,
    Set<StreamOption> options,
    int window,
    long generation,
    @Nullable StreamSpec spec,
    String text) {

  /** Of the fixed part. */
  public static final int HEAD_BYTES = 48;

  /** Of all of it: a spec as long as that of a hello, and a text. */
  public static final int MOST_BYTES = 2 * ClientHello.MOST_BYTES;

  private static final int MOST_TEXT_BYTES = 4096;

  public ServerReply {
    options = Set.copyOf(options);
  }

  /** A refusal. */
  public static ServerReply refused(HelloStatus status, String text) {
    return new ServerReply(ClientHello.VERSION, status, Set.of(), 0, 0, null, text);
  }

  public byte[] encoded() {
    byte[] why = cut(text, MOST_TEXT_BYTES);
    byte[] block = spec == null ? new byte[0] : spec.encoded();
    int bytes = HEAD_BYTES + block.length + why.length;
    ByteBuffer reply = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    reply.putInt(MAGIC).put((byte) version).put((byte) status.ordinal());
    reply.putShort((short) StreamOption.flags(options)).putInt(bytes).putInt(window);
    reply.putInt(spec == null ? 0 : spec.requestBytes());
    reply.putInt(spec == null ? 0 : spec.responseBytes());
    reply.putLong(generation).putLong(spec == null ? 0 : spec.digest());
    reply.putShort((short) (spec == null ? 0 : spec.inputs().size()));
    reply.putShort((short) (spec == null ? 0 : spec.outputs().size()));
    return reply.putInt(why.length).put(block).put(why).array();
  }

  /** UTF-8 of at most so many bytes, cut between characters. */
  static byte[] cut(String text, int most) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    if (bytes.length <= most) {
      return bytes;
    }
    int end = most;
    while ((bytes[end] & 0xc0) == 0x80) {
      end--;
    }
    return Arrays.copyOf(bytes, end);
  }

  /**
   * How long a reply is, of which the first {@link #HEAD_BYTES} or more are there.
   *
   * @param begun from its position on; not moved
   * @throws MalformedStreamException when it cannot be one
   */
  public static int length(ByteBuffer begun) throws MalformedStreamException {
    ByteBuffer head = ClientHello.little(begun);
    ClientHello.requireMagic(head, "server's reply");
    int bytes = head.getInt(8);
    if (bytes < HEAD_BYTES || bytes > MOST_BYTES) {
      throw new MalformedStreamException(
          "the server's reply says that it has %d bytes; from %d to %d are allowed"
              .formatted(Integer.toUnsignedLong(bytes), HEAD_BYTES, MOST_BYTES));
    }
    return bytes;
  }

  /**
   * Reads a whole one.
   *
   * @param whole as many bytes as {@link #length} says, or more
   * @throws MalformedStreamException when it makes no sense
   */
  public static ServerReply read(ByteBuffer whole) throws MalformedStreamException {
    int bytes = length(whole);
    ByteBuffer reply = ClientHello.little(whole).limit(bytes);
    reply.position(Integer.BYTES);
    int version = reply.get() & 0xff;
    HelloStatus status = HelloStatus.of(reply.get() & 0xff);
    int flags = reply.getShort();
    reply.getInt(); // its length
    int window = reply.getInt();
    long requestBytes = reply.getInt() & 0xffff_ffffL;
    long responseBytes = reply.getInt() & 0xffff_ffffL;
    long generation = reply.getLong();
    long digest = reply.getLong();
    int inputs = reply.getShort() & 0xffff;
    int outputs = reply.getShort() & 0xffff;
    int textBytes = reply.getInt();
    if (textBytes < 0 || textBytes > reply.remaining()) {
      throw new MalformedStreamException(
          "the server's reply has %d bytes and says that its text has %d"
              .formatted(bytes, Integer.toUnsignedLong(textBytes)));
    }
    ByteBuffer block = reply.slice(reply.position(), reply.remaining() - textBytes);
    block.order(ByteOrder.LITTLE_ENDIAN);
    StreamSpec spec =
        inputs + outputs == 0 ? null : StreamSpec.read(block, inputs, outputs, "the server's");
    if (block.hasRemaining()) {
      throw new MalformedStreamException(
          "the server's reply has %d bytes between its spec and its text"
              .formatted(block.remaining()));
    }
    reply.position(bytes - textBytes);
    String text = Texts.read(reply, textBytes, "the text of the server's reply");
    if (spec != null) {
      requireSame("bytes of a message", requestBytes, spec.requestBytes());
      requireSame("bytes of a result", responseBytes, spec.responseBytes());
      requireSame("digest", digest, spec.digest());
    }
    return new ServerReply(version, status, StreamOption.of(flags), window, generation, spec, text);
  }

  private static void requireSame(String what, long said, long computed)
      throws MalformedStreamException {
    if (said != computed) {
      throw new MalformedStreamException(
          "the server says %s %d, and its spec gives %d".formatted(what, said, computed));
    }
  }
}
