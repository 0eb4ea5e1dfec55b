package dev.roundhouse.kserve.tstream;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What a client says first: which model it will send to, how, and what it takes the tensors to be.
 *
 * @param lowest version that it speaks
 * @param highest version that it speaks
 * @param options wanted
 * @param window messages that it wants to have under way at a time
 * @param rows in each message; 1 where the model has none
 * @param digest of the spec that it was built for; 0 when it does not know
 * @param version of the model; empty for the one that is served
 * @param variant sizes of the model's variable axes, such as {@code T=128}; empty where the spec
 *     tells or there are none
 * @param token that says who it is; empty for none
 * @param inputRegion of shared memory that its tensors lie in; empty without {@link
 *     StreamOption#SHARED_MEMORY}
 * @param outputRegion that results are written to; likewise
 * @param spec what it takes the tensors to be; null when the digest says it, or it asks
 */
public record ClientHello(
    int lowest,
    int highest,
    Set<StreamOption> options,
    int window,
    int rows,
    long digest,
    String model,
    String version,
    String variant,
    String token,
    String inputRegion,
    String outputRegion,
    @Nullable StreamSpec spec) {

  /** The version that this code speaks. */
  public static final int VERSION = 1;

  /** Of the fixed part. */
  public static final int HEAD_BYTES = 48;

  /** Of all of it. */
  public static final int MOST_BYTES = 1 << 16;

  static final int MAGIC = 'T' | 'S' << 8 | 'R' << 16 | 'M' << 24;
  private static final int ALIGNMENT = 8;
  private static final int LENGTH_AT = 8;

  public ClientHello {
    options = Set.copyOf(options);
  }

  /** A hello of this version for a model's served version, without options. */
  public static ClientHello of(String model, @Nullable StreamSpec spec, int window) {
    return new ClientHello(
        VERSION, VERSION, Set.of(), window, 1, 0, model, "", "", "", "", "", spec);
  }

  /** The same of a client that takes the tensors to be these. */
  public ClientHello expecting(StreamSpec tensors) {
    return new ClientHello(
        lowest,
        highest,
        options,
        window,
        rows,
        0,
        model,
        version,
        variant,
        token,
        inputRegion,
        outputRegion,
        tensors);
  }

  /** The same of a client that says otherwise who it is. */
  public ClientHello saying(String otherToken) {
    return new ClientHello(
        lowest,
        highest,
        options,
        window,
        rows,
        digest,
        model,
        version,
        variant,
        otherToken,
        inputRegion,
        outputRegion,
        spec);
  }

  /**
   * @throws IllegalArgumentException when it is longer than {@link #MOST_BYTES}
   */
  public byte[] encoded() {
    List<byte[]> texts =
        List.of(
            utf8(model),
            utf8(version),
            utf8(variant),
            utf8(token),
            utf8(inputRegion),
            utf8(outputRegion));
    byte[] block = spec == null ? new byte[0] : spec.encoded();
    int bytes = aligned(HEAD_BYTES + texts.stream().mapToInt(text -> text.length).sum());
    bytes += block.length;
    if (bytes > MOST_BYTES) {
      throw new IllegalArgumentException(
          "the hello has %d bytes, and %d are allowed".formatted(bytes, MOST_BYTES));
    }
    ByteBuffer hello = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    hello.putInt(MAGIC).put((byte) lowest).put((byte) highest);
    hello.putShort((short) StreamOption.flags(options)).putInt(bytes).putInt(window).putInt(rows);
    hello.putShort((short) (spec == null ? 0 : spec.inputs().size()));
    hello.putShort((short) (spec == null ? 0 : spec.outputs().size()));
    hello.putLong(digest);
    texts.forEach(text -> hello.putShort((short) text.length));
    hello.putInt(0);
    texts.forEach(hello::put);
    hello.position(bytes - block.length);
    return hello.put(block).array();
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static int aligned(int bytes) {
    return (bytes + ALIGNMENT - 1) & -ALIGNMENT;
  }

  /**
   * How long a hello is, of which the first {@link #HEAD_BYTES} or more are there.
   *
   * @param begun from its position on; not moved
   * @throws MalformedStreamException when it cannot be one
   */
  public static int length(ByteBuffer begun) throws MalformedStreamException {
    ByteBuffer head = little(begun);
    requireMagic(head, "hello");
    int bytes = head.getInt(LENGTH_AT);
    if (bytes < HEAD_BYTES || bytes > MOST_BYTES) {
      int swapped = Integer.reverseBytes(bytes);
      throw new MalformedStreamException(
          "the hello says that it has %d bytes; from %d to %d are allowed%s"
              .formatted(
                  Integer.toUnsignedLong(bytes),
                  HEAD_BYTES,
                  MOST_BYTES,
                  swapped >= HEAD_BYTES && swapped <= MOST_BYTES
                      ? ". It reads as " + swapped + " in big-endian; numbers are little-endian"
                      : ""));
    }
    return bytes;
  }

  /**
   * True when the bytes can still become a hello: for telling another protocol from it early.
   *
   * @param begun from its position on; not moved
   */
  public static boolean mayBegin(ByteBuffer begun) {
    for (int i = 0; i < Math.min(begun.remaining(), Integer.BYTES); i++) {
      if (begun.get(begun.position() + i) != (byte) (MAGIC >>> 8 * i)) {
        return false;
      }
    }
    return true;
  }

  static ByteBuffer little(ByteBuffer bytes) {
    return bytes.slice().order(ByteOrder.LITTLE_ENDIAN);
  }

  static void requireMagic(ByteBuffer head, String what) throws MalformedStreamException {
    if (head.getInt(0) != MAGIC) {
      throw new MalformedStreamException(
          "the %s begins with %02x %02x %02x %02x, and TSTREAM begins with 54 53 52 4d"
              .formatted(what, head.get(0), head.get(1), head.get(2), head.get(3)));
    }
  }

  /**
   * Reads a whole one.
   *
   * @param whole as many bytes as {@link #length} says, or more
   * @throws MalformedStreamException when it makes no sense
   */
  public static ClientHello read(ByteBuffer whole) throws MalformedStreamException {
    int bytes = length(whole);
    ByteBuffer hello = little(whole).limit(bytes);
    hello.position(Integer.BYTES);
    int lowest = hello.get() & 0xff;
    int highest = hello.get() & 0xff;
    int flags = hello.getShort();
    hello.getInt(); // its length
    int window = hello.getInt();
    int rows = hello.getInt();
    int inputs = hello.getShort() & 0xffff;
    int outputs = hello.getShort() & 0xffff;
    long digest = hello.getLong();
    int[] lengths = new int[6];
    int texts = 0;
    for (int i = 0; i < lengths.length; i++) {
      lengths[i] = hello.getShort() & 0xffff;
      texts += lengths[i];
    }
    if (hello.getInt() != 0) {
      throw new MalformedStreamException("bytes 44 to 47 of the hello are not 0");
    }
    if (aligned(HEAD_BYTES + texts) > bytes) {
      throw new MalformedStreamException(
          "the hello has %d bytes and says that its texts have %d".formatted(bytes, texts));
    }
    String model = Texts.read(hello, lengths[0], "the model's name");
    String version = Texts.read(hello, lengths[1], "the model's version");
    String variant = Texts.read(hello, lengths[2], "the variant");
    String token = Texts.read(hello, lengths[3], "the token");
    String inputRegion = Texts.read(hello, lengths[4], "the region of inputs");
    String outputRegion = Texts.read(hello, lengths[5], "the region of outputs");
    hello.position(aligned(HEAD_BYTES + texts));
    StreamSpec spec =
        inputs + outputs == 0 ? null : StreamSpec.read(hello, inputs, outputs, "the client's");
    if (hello.hasRemaining()) {
      throw new MalformedStreamException(
          "the hello has %d bytes after its end".formatted(hello.remaining()));
    }
    return new ClientHello(
        lowest,
        highest,
        StreamOption.of(flags),
        window,
        rows,
        digest,
        model,
        version,
        variant,
        token,
        inputRegion,
        outputRegion,
        spec);
  }

  /** Without the token, which is nobody's business. */
  @Override
  public String toString() {
    return "hello for model '%s' version '%s' variant '%s', window %s, rows %s, %s"
        .formatted(
            model,
            version,
            variant,
            Integer.toUnsignedString(window),
            Integer.toUnsignedString(rows),
            options);
  }
}
