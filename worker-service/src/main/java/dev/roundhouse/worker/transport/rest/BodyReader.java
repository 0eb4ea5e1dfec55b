package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.kserve.status.WireException;
import jakarta.servlet.http.HttpServletRequest;
import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.zip.ZipException;
import org.apache.catalina.connector.ClientAbortException;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;

/**
 * Reads bodies, uncompressing them on the way. Memory grows with what has come, so that who says
 * much and sends little holds little, and each growth is counted first. Blocks its thread, which is
 * virtual: who sends slowly keeps nobody else from being read.
 */
final class BodyReader {
  /** Large enough for most requests in one piece; the memory of each that sends nothing. */
  private static final int FIRST_BYTES = 64 << 10;

  /** Few copies for large bodies, and no more than so many times what has come. */
  private static final int GROWTH = 4;

  /** Read at once; then others have a turn of the processor. */
  private static final int PIECE_BYTES = 256 << 10;

  private final MemoryHold memory;
  private final int limit;
  private final String limitedBy;

  /**
   * @param limit bytes that a body may have, uncompressed
   * @param limitedBy what a caller is told to do about it
   */
  BodyReader(MemoryHold memory, int limit, String limitedBy) {
    this.memory = memory;
    this.limit = limit;
    this.limitedBy = limitedBy;
  }

  /**
   * The whole body, whose memory is taken from the hold.
   *
   * @throws WireException INVALID_ARGUMENT when it is too large or is not what its encoding says,
   *     RESOURCE_EXHAUSTED when there is no room
   * @throws ContentCoding.UnknownCodingException when it has an encoding that there is not
   * @throws IOException when the client is gone or too slow
   */
  Body read(HttpServletRequest request) throws IOException {
    long announced = request.getContentLengthLong();
    if (announced > limit) {
      throw tooLarge("has " + announced + " bytes");
    }
    return read(
        request.getHeader(HttpHeaders.CONTENT_ENCODING), request.getInputStream(), (int) announced);
  }

  /**
   * The body of a request that is here, uncompressed.
   *
   * @param encoding its Content-Encoding
   * @param body of which so many bytes are its own
   */
  Body uncompressed(@Nullable String encoding, byte[] body, int length) throws IOException {
    return read(encoding, new ByteArrayInputStream(body, 0, length), length);
  }

  private Body read(@Nullable String encoding, InputStream body, int announced) throws IOException {
    ContentCoding coding = ContentCoding.ofRequest(encoding);
    try (InputStream in = coding.uncompressed(body)) {
      return read(in, coding == ContentCoding.IDENTITY ? announced : -1);
    } catch (ClientAbortException e) {
      throw e;
    } catch (ZipException | EOFException e) {
      throw notEncoded(encoding, e);
    }
  }

  private Body read(InputStream in, int expected) throws IOException {
    byte[] bytes = allocate(expected < 0 ? FIRST_BYTES : Math.min(expected, FIRST_BYTES));
    int length = 0;
    while (true) {
      if (length == bytes.length) {
        int next = in.read();
        if (next < 0) {
          return new Body(bytes, length);
        }
        bytes = grown(bytes, expected);
        bytes[length++] = (byte) next;
      }
      int room = Math.min(bytes.length - length, PIECE_BYTES);
      int count = room == 0 ? 0 : in.read(bytes, length, room);
      if (count < 0) {
        return new Body(bytes, length);
      }
      length += count;
      if (count == PIECE_BYTES) {
        Thread.yield();
      }
    }
  }

  private byte[] grown(byte[] bytes, int expected) {
    int most = expected > bytes.length ? expected : limit;
    if (bytes.length == most) {
      throw tooLarge("has more than " + most + " bytes");
    }
    int size = (int) Math.min(most, (long) GROWTH * Math.max(bytes.length, 1));
    memory.take(size);
    byte[] larger = Arrays.copyOf(bytes, size);
    memory.giveBack(bytes.length);
    return larger;
  }

  private byte[] allocate(int size) {
    int bytes = Math.min(size, limit);
    memory.take(bytes);
    return new byte[bytes];
  }

  private WireException tooLarge(String size) {
    return WireException.invalidArgument(
        "the request's body %s, the limit is %d; %s".formatted(size, limit, limitedBy));
  }

  private static WireException notEncoded(@Nullable String encoding, IOException failure) {
    return WireException.invalidArgument(
        "the request's body is not in its Content-Encoding '%s': %s"
            .formatted(encoding, failure.getMessage()));
  }
}
