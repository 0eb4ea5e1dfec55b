package dev.roundhouse.worker.transport.grpc;

import dev.roundhouse.kserve.codec.EncodedMessage;
import dev.roundhouse.transport.http2.BufferWritable;
import io.grpc.Drainable;
import io.grpc.KnownLength;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A message as gRPC takes it: with a known length, and written directly to its destination. */
final class EncodedStream extends InputStream implements KnownLength, Drainable, BufferWritable {
  private final EncodedMessage message;
  private @Nullable InputStream copied;

  EncodedStream(EncodedMessage message) {
    this.message = message;
  }

  @Override
  public int byteSize() {
    return message.byteSize();
  }

  @Override
  public int lentBytes() {
    return message.lentBytes();
  }

  @Override
  public void writeTo(Sink sink) {
    message.writeTo(
        new EncodedMessage.Target<RuntimeException>() {
          @Override
          public void bytes(byte[] from, int offset, int length) {
            sink.copy(ByteBuffer.wrap(from, offset, length));
          }

          @Override
          public void payload(ByteBuffer data) {
            EncodedMessage.Lender lender = message.lender(data);
            if (lender == null) {
              sink.copy(data);
            } else {
              lender.lend();
              sink.lend(data, lender::returned);
            }
          }
        });
  }

  @Override
  public int drainTo(OutputStream target) throws IOException {
    message.writeTo(target);
    return message.byteSize();
  }

  @Override
  public int available() throws IOException {
    return copied == null ? message.byteSize() : copied.available();
  }

  @Override
  public int read() throws IOException {
    return bytes().read();
  }

  @Override
  public int read(byte[] to, int offset, int length) throws IOException {
    return bytes().read(to, offset, length);
  }

  /** For readers, such as the in-process transport. */
  private InputStream bytes() throws IOException {
    if (copied == null) {
      ByteArrayOutputStream all = new ByteArrayOutputStream(message.byteSize());
      message.writeTo(all);
      copied = new ByteArrayInputStream(all.toByteArray());
    }
    return Objects.requireNonNull(copied);
  }
}
