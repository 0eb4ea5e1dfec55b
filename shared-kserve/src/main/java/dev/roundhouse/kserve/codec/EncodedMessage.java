package dev.roundhouse.kserve.codec;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * A message as it goes over the wire: bytes of its own, and between them payloads that stay where
 * they are until the message is written. Read-only; payloads must not change until then.
 */
public final class EncodedMessage {
  private static final ThreadLocal<byte[]> COPIED =
      ThreadLocal.withInitial(() -> new byte[1 << 14]);

  private final byte[] own;

  /** For each payload, how many of the own bytes come before it. */
  private final int[] places;

  private final List<ResponseTensor> payloads;
  private final int byteSize;

  EncodedMessage(byte[] own, int[] places, List<ResponseTensor> payloads, int byteSize) {
    this.own = own;
    this.places = places;
    this.payloads = payloads;
    this.byteSize = byteSize;
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

  /** Writes all bytes from the buffer's position on. */
  public void writeTo(ByteBuffer to) {
    writeTo(
        new Target<RuntimeException>() {
          @Override
          public void bytes(byte[] from, int offset, int length) {
            to.put(from, offset, length);
          }

          @Override
          public void payload(ByteBuffer data) {
            to.put(data);
          }
        });
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
