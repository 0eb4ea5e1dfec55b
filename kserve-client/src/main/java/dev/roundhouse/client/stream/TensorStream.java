package dev.roundhouse.client.stream;

import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.MalformedStreamException;
import dev.roundhouse.kserve.tstream.RecordHeader;
import dev.roundhouse.kserve.tstream.ServerReply;
import dev.roundhouse.kserve.tstream.StreamOption;
import dev.roundhouse.kserve.tstream.StreamSpec;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ByteChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.zip.CRC32C;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * A connection to one model, over which messages of the same shapes go one after the other. Blocks;
 * belongs to one thread.
 *
 * <pre>{@code
 * try (TensorStream stream = TensorStream.open(address, ClientHello.of("scalar", null, 64))) {
 *   stream.send(x);
 *   StreamResult result = stream.receive();
 * }
 * }</pre>
 */
public final class TensorStream implements AutoCloseable {
  private static final int READ_BYTES = 1 << 16;
  private static final int NO_BUDGET = -1;
  private static final int MOST_TEXT_BYTES = 1 << 16;
  private static final int PLACE_BYTES = 2 * Long.BYTES;

  private final ByteChannel channel;
  private final ByteBuffer read = buffer(READ_BYTES).flip();
  private final ServerReply reply;
  private final StreamSpec spec;
  private final boolean hasDeadlines;
  private final boolean hasChecksums;
  private final boolean isShared;

  /** That come with a result. */
  private final int resultBytes;

  private final ByteBuffer message;
  private int window;
  private long generation;
  private long sent;
  private long received;

  /** The number of the first message that is not taken; -1 while all are. */
  private long end = -1;

  private String endText = "";

  private TensorStream(ByteChannel channel, ClientHello hello) throws IOException {
    this.channel = channel;
    write(ByteBuffer.wrap(hello.encoded()));
    reply = readReply();
    if (reply.status() != HelloStatus.OK) {
      throw new StreamRefusedException(reply);
    }
    spec = Objects.requireNonNull(reply.spec());
    if (!reply.options().containsAll(hello.options())) {
      throw new IOException(
          "the server grants %s of the options %s".formatted(reply.options(), hello.options()));
    }
    requireExpected(hello);
    hasDeadlines = reply.options().contains(StreamOption.DEADLINE);
    hasChecksums = reply.options().contains(StreamOption.CHECKSUM);
    window = reply.window();
    generation = reply.generation();
    isShared = reply.options().contains(StreamOption.SHARED_MEMORY);
    resultBytes = hello.outputRegion().isEmpty() ? spec.responseBytes() : 0;
    int around = (hasDeadlines ? Integer.BYTES : 0) + (hasChecksums ? Integer.BYTES : 0);
    message = buffer(Math.addExact(isShared ? PLACE_BYTES : spec.requestBytes(), around));
  }

  private void requireExpected(ClientHello hello) throws IOException {
    StreamSpec expected = hello.spec();
    if (expected != null && !expected.equals(spec)) {
      throw new IOException(spec.differenceTo(expected, "the client", hello.model()));
    }
  }

  private static ByteBuffer buffer(int bytes) {
    return ByteBuffer.allocateDirect(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  /**
   * Connects and agrees on shapes.
   *
   * @param address {@link InetSocketAddress}, or {@link UnixDomainSocketAddress} on the same
   *     machine
   * @param hello what is wanted; with a spec, the server's must be the same
   * @throws StreamRefusedException when the server says no, with why
   * @throws IOException when it cannot be reached, or speaks something else
   */
  public static TensorStream open(SocketAddress address, ClientHello hello) throws IOException {
    return open(address, hello, null, Duration.ZERO);
  }

  /**
   * As {@link #open(SocketAddress, ClientHello)}, by TLS.
   *
   * @param address whose host must be in the server's certificate
   * @param tls what is trusted, and the certificate that is shown, if any
   */
  public static TensorStream open(InetSocketAddress address, ClientHello hello, SSLContext tls)
      throws IOException {
    return open(address, hello, tls, Duration.ZERO);
  }

  /**
   * As the others, with a limit of time.
   *
   * @param tls null for plain text; a socket in the file system has none
   * @param silence that connecting may take, and each wait for the server: after that the stream is
   *     closed, with a {@link java.net.SocketTimeoutException}. Zero, as without it, for no limit
   */
  public static TensorStream open(
      SocketAddress address, ClientHello hello, @Nullable SSLContext tls, Duration silence)
      throws IOException {
    int mostMillis = silence.isZero() ? 0 : Math.clamp(silence.toMillis(), 1, Integer.MAX_VALUE);
    ByteChannel channel;
    if (tls == null) {
      channel = PlainChannel.connect(address, mostMillis);
    } else if (address instanceof InetSocketAddress inet) {
      channel = TlsChannel.connect(inet, tls, mostMillis);
    } else {
      throw new IllegalArgumentException(address + " has no TLS: it is no host and port");
    }
    try {
      return new TensorStream(channel, hello);
    } catch (Throwable e) {
      channel.close();
      throw e;
    }
  }

  /** What both sides agreed on. */
  public StreamSpec spec() {
    return spec;
  }

  public Set<StreamOption> options() {
    return reply.options();
  }

  /** Messages that may be under way. */
  public int window() {
    return window;
  }

  /** Of the model: greater after each replacement. */
  public long generation() {
    return generation;
  }

  /** Messages that were sent and whose results have not been received. */
  public long underWay() {
    return sent - received;
  }

  /** Sends a message without a deadline. */
  public long send(List<ByteBuffer> inputs) throws IOException {
    return send(inputs, null);
  }

  /**
   * Sends a message.
   *
   * @param inputs in the spec's order, each with the bytes of its tensor from its position on,
   *     little-endian; borrowed
   * @param left until its result is of no use; on a stream with {@link StreamOption#DEADLINE} only
   * @return its number
   * @throws IllegalStateException when as many are under way as the window has; receive first
   * @throws StreamEndedException when the server takes no more
   */
  public long send(List<ByteBuffer> inputs, @Nullable Duration left) throws IOException {
    requireRoom();
    if (isShared) {
      throw new IllegalStateException("the stream's tensors are in shared memory; say where");
    }
    begin(left);
    put(inputs);
    return sendMade();
  }

  /**
   * Sends a message whose tensors are in shared memory, on a stream with {@link
   * StreamOption#SHARED_MEMORY}. They must not change before its result has come.
   *
   * @param inputsAt where in the region they begin, laid out as the spec says
   * @param resultAt where in the other region its result goes; without effect where results are
   *     sent
   */
  public long sendPlace(long inputsAt, long resultAt, @Nullable Duration left) throws IOException {
    requireRoom();
    if (!isShared) {
      throw new IllegalStateException("the stream was opened without StreamOption.SHARED_MEMORY");
    }
    begin(left);
    message.putLong(inputsAt).putLong(resultAt);
    return sendMade();
  }

  private void requireRoom() throws StreamEndedException {
    if (end >= 0) {
      throw new StreamEndedException(endText, end);
    }
    if (underWay() >= window) {
      throw new IllegalStateException("the window of %d messages is full".formatted(window));
    }
  }

  private void begin(@Nullable Duration left) {
    message.clear();
    if (hasDeadlines) {
      message.putInt(left == null ? NO_BUDGET : micros(left));
    } else if (left != null) {
      throw new IllegalArgumentException("the stream was opened without StreamOption.DEADLINE");
    }
  }

  private long sendMade() throws IOException {
    if (hasChecksums) {
      CRC32C checksum = new CRC32C();
      checksum.update(message.duplicate().flip());
      message.putInt((int) checksum.getValue());
    }
    write(message.flip());
    return sent++;
  }

  private void put(List<ByteBuffer> inputs) {
    if (inputs.size() != spec.inputs().size()) {
      throw new IllegalArgumentException(
          "%d inputs are given, and the model has %d"
              .formatted(inputs.size(), spec.inputs().size()));
    }
    int head = message.position();
    for (int i = 0; i < inputs.size(); i++) {
      ByteBuffer input = inputs.get(i);
      if (input.remaining() != spec.inputs().get(i).byteSize()) {
        throw new IllegalArgumentException(
            "input %s has %d bytes, and %d are given"
                .formatted(
                    spec.inputs().get(i), spec.inputs().get(i).byteSize(), input.remaining()));
      }
      message.put(head + spec.inputOffset(i), input, input.position(), input.remaining());
    }
    message.position(head + spec.requestBytes());
  }

  private static int micros(Duration left) {
    long micros = Math.max(0, left.toNanos() / 1_000);
    return (int) Math.min(micros, 0xffff_fffeL);
  }

  /**
   * Waits for the next result, of whichever message.
   *
   * @throws IllegalStateException when none is under way
   * @throws StreamEndedException when what is left was not taken, or the connection is lost
   */
  public StreamResult receive() throws IOException {
    if (underWay() == 0 && end < 0) {
      throw new IllegalStateException("no message is under way");
    }
    while (end < 0 || received < end) {
      need(RecordHeader.BYTES);
      ByteBuffer head = ByteBuffer.allocate(RecordHeader.BYTES);
      head.put(0, read, read.position(), RecordHeader.BYTES);
      RecordHeader record = RecordHeader.read(read);
      switch (record.kind()) {
        case RESULT -> {
          received++;
          return result(record, head);
        }
        case ACCEPTED -> {}
        case GENERATION -> {
          need(2 * Long.BYTES);
          generation = read.getLong();
          read.getLong(); // the digest, which is as before
        }
        case WINDOW -> {
          need(Integer.BYTES);
          window = read.getInt();
        }
        case DRAINING -> ends(record, "the server takes no more messages");
        case CLOSED -> ends(record, text());
      }
    }
    throw new StreamEndedException(endText, end);
  }

  private void ends(RecordHeader record, String why) {
    end = whole(record.sequence()) + 1;
    endText = why;
  }

  /** A number of a message by its low 32 bits: of the last that were sent. */
  private long whole(int low) {
    return sent - 1 - ((int) (sent - 1) - low & 0xffff_ffffL);
  }

  private StreamResult result(RecordHeader record, ByteBuffer head) throws IOException {
    long sequence = whole(record.sequence());
    if (record.status() != 0) {
      return new StreamResult(sequence, record.status(), text(), spec, ByteBuffer.allocate(0));
    }
    ByteBuffer payload = ByteBuffer.allocate(resultBytes).order(ByteOrder.LITTLE_ENDIAN);
    fill(payload);
    payload.flip();
    if (hasChecksums) {
      CRC32C checksum = new CRC32C();
      checksum.update(head);
      checksum.update(payload.duplicate());
      need(Integer.BYTES);
      if (read.getInt() != (int) checksum.getValue()) {
        throw new IOException(
            "the result of message %d was damaged on its way".formatted(sequence));
      }
    }
    return new StreamResult(sequence, 0, "", spec, payload);
  }

  private String text() throws IOException {
    need(Integer.BYTES);
    int length = read.getInt();
    if (length < 0 || length > MOST_TEXT_BYTES) {
      throw new IOException("the server's text has %d bytes".formatted(length));
    }
    ByteBuffer text = ByteBuffer.allocate(length);
    fill(text);
    return new String(text.array(), StandardCharsets.UTF_8);
  }

  private ServerReply readReply() throws IOException {
    need(ServerReply.HEAD_BYTES);
    ByteBuffer whole = ByteBuffer.allocate(ServerReply.length(read));
    fill(whole);
    try {
      return ServerReply.read(whole.flip());
    } catch (MalformedStreamException e) {
      throw new IOException("the server's reply makes no sense: " + e.getMessage(), e);
    }
  }

  private void write(ByteBuffer bytes) throws IOException {
    while (bytes.hasRemaining()) {
      channel.write(bytes);
    }
  }

  /** Reads until so many bytes are there, which are few. */
  private void need(int bytes) throws IOException {
    while (read.remaining() < bytes) {
      read.compact();
      int more = channel.read(read);
      read.flip();
      requireMore(more);
    }
  }

  private void fill(ByteBuffer to) throws IOException {
    int there = Math.min(to.remaining(), read.remaining());
    to.put(read.slice(read.position(), there));
    read.position(read.position() + there);
    while (to.hasRemaining()) {
      requireMore(channel.read(to));
    }
  }

  private void requireMore(int bytes) throws StreamEndedException {
    if (bytes < 0) {
      throw new StreamEndedException(
          "the connection has ended with %d messages under way".formatted(underWay()), -1);
    }
  }

  /** Ends the stream; what is under way is given up. */
  @Override
  public void close() throws IOException {
    channel.close();
  }
}
