package dev.roundhouse.kserve.codec;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A message as it goes over the wire: bytes of its own, and between them payloads that stay where
 * they are until the message is written. Read-only; payloads must not change until then.
 */
public final class EncodedMessage {
  /** For a payload: copying a smaller one costs less than tracking it. */
  private static final int LEAST_LENT_BYTES = 1 << 15;

  private static final ThreadLocal<byte[]> COPIED =
      ThreadLocal.withInitial(() -> new byte[1 << 14]);

  private final byte[] own;

  /** For each payload, how many of the own bytes come before it. */
  private final int[] places;

  private final List<ResponseTensor> payloads;
  private final int byteSize;
  private final @Nullable Lender lender;

  EncodedMessage(byte[] own, int[] places, List<ResponseTensor> payloads, int byteSize) {
    this(own, places, payloads, byteSize, null);
  }

  private EncodedMessage(
      byte[] own,
      int[] places,
      List<ResponseTensor> payloads,
      int byteSize,
      @Nullable Lender lender) {
    this.own = own;
    this.places = places;
    this.payloads = payloads;
    this.byteSize = byteSize;
    this.lender = lender;
  }

  /**
   * The same message, whose large payloads may be sent from where they are.
   *
   * @param lender whose memory those outside the heap lie in
   */
  public EncodedMessage lentBy(Lender lender) {
    return new EncodedMessage(own, places, payloads, byteSize, lender);
  }

  /** Who lends a payload; null when it is to be copied. */
  public @Nullable Lender lender(ByteBuffer payload) {
    return payload.isDirect() && payload.remaining() >= LEAST_LENT_BYTES ? lender : null;
  }

  /** Of all payloads that are lent. */
  public int lentBytes() {
    int bytes = 0;
    if (lender != null) {
      for (int i = 0; i < places.length; i++) {
        ByteBuffer payload = payloads.get(i).data();
        bytes += lender(payload) == null ? 0 : payload.remaining();
      }
    }
    return bytes;
  }

  /** Of the whole message, payloads included. */
  public int byteSize() {
    return byteSize;
  }

  /** Hands all bytes over, in order. */
  public <E extends Exception> void writeTo(Target<E> target) throws E {
    int written = 0;
    for (int i = 0; i < places.length; i++) {
      target.bytes(own, written, places[i] - written);
      written = places[i];
      ByteBuffer payload = payloads.get(i).data();
      if (payload.hasRemaining()) {
        target.payload(payload.duplicate());
      }
    }
    if (written < own.length) {
      target.bytes(own, written, own.length - written);
    }
  }

  /** Writes all bytes, and leaves the stream open. */
  public void writeTo(OutputStream out) throws IOException {
    writeTo(
        new Target<IOException>() {
          @Override
          public void bytes(byte[] from, int offset, int length) throws IOException {
            out.write(from, offset, length);
          }

          @Override
          public void payload(ByteBuffer data) throws IOException {
            copy(data, out);
          }
        });
  }

  private static void copy(ByteBuffer data, OutputStream out) throws IOException {
    if (data.hasArray()) {
      out.write(data.array(), data.arrayOffset() + data.position(), data.remaining());
      return;
    }
    byte[] copied = COPIED.get();
    while (data.hasRemaining()) {
      int length = Math.min(copied.length, data.remaining());
      data.get(copied, 0, length);
      out.write(copied, 0, length);
    }
  }

  /** Keeps payloads in place while they are referenced. */
  public interface Lender {
    /** Somebody refers to a payload from now on. */
    void lend();

    /** A reference to a payload is dropped; any thread. */
    void returned();
  }

  /** Where the bytes of a message go. */
  public interface Target<E extends Exception> {
    /** Takes some of the message's own bytes, which may be written after this returns. */
    void bytes(byte[] from, int offset, int length) throws E;

    /**
     * Takes a payload, from position to limit.
     *
     * @param data the receiver's to move through; its bytes are borrowed
     */
    void payload(ByteBuffer data) throws E;
  }
}
