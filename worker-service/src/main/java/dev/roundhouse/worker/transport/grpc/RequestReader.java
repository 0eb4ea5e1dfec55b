package dev.roundhouse.worker.transport.grpc;

import dev.roundhouse.platform.grpc.ReceivingMarshaller.MessageReader;
import io.grpc.MethodDescriptor.Marshaller;
import java.io.InputStream;

/** How a {@code GuardedService} reads requests of a kind; no other can. */
public abstract class RequestReader<T> implements Marshaller<T>, MessageReader<T> {
  @Override
  public final T parse(InputStream stream) {
    throw new UnsupportedOperationException("a guarded service reads by its MessageReader");
  }

  @Override
  public final InputStream stream(T value) {
    throw new UnsupportedOperationException("a server reads requests and writes none");
  }
}
