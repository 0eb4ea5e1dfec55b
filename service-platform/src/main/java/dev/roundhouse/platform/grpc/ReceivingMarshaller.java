package dev.roundhouse.platform.grpc;

import dev.roundhouse.kserve.status.WireException;
import io.grpc.KnownLength;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.io.InputStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads a method's requests and never throws: grpc-java ends a call whose marshaller throws with
 * UNKNOWN and logs a stack trace, whatever was thrown. Thread-safe.
 */
public final class ReceivingMarshaller<T> implements MethodDescriptor.Marshaller<Received<T>> {
  private static final Logger log = LoggerFactory.getLogger(ReceivingMarshaller.class);

  private final String method;
  private final MessageReader<T> reader;

  ReceivingMarshaller(String method, MessageReader<T> reader) {
    this.method = method;
    this.reader = reader;
  }

  @Override
  public Received<T> parse(InputStream stream) {
    try {
      return new Received.Message<>(
          reader.read(stream, stream instanceof KnownLength ? stream.available() : -1));
    } catch (WireException refusal) {
      return new Received.Refusal<>(
          Status.fromCodeValue(refusal.status().grpcCode()).withDescription(refusal.text()));
    } catch (IOException e) {
      return new Received.Refusal<>(
          Status.INVALID_ARGUMENT.withDescription(
              "the bytes are not a request of " + method + ": " + e.getMessage()));
    } catch (StatusRuntimeException e) {
      // while it was uncompressed: it is larger than a message may be
      return new Received.Refusal<>(e.getStatus());
    } catch (RuntimeException e) {
      log.error("a request of {} could not be read", method, e);
      return new Received.Refusal<>(
          Status.INTERNAL.withDescription("Internal server error; see the server's log"));
    }
  }

  @Override
  public InputStream stream(Received<T> value) {
    throw new UnsupportedOperationException("a server reads requests and writes none");
  }

  /** Makes a message of bytes. */
  @FunctionalInterface
  public interface MessageReader<T> {
    /**
     * @param length of the message in bytes, negative when it is not known
     * @throws WireException when the message holds more than it may
     * @throws IOException when the bytes are no message
     */
    T read(InputStream stream, int length) throws IOException;
  }
}
