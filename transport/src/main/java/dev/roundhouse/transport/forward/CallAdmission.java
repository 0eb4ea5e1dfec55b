package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.access.CallerRights;
import io.grpc.Attributes;
import io.netty.handler.codec.http2.Http2Headers;
import org.jspecify.annotations.Nullable;

/** Admits calls to be forwarded by their heads. Called on event loops: must not block. */
@FunctionalInterface
public interface CallAdmission {
  /** Admits every call. */
  CallAdmission EVERYONE = (method, request, connection) -> null;

  /**
   * @param connection has the address and the TLS session of the client
   * @return what the caller may do; null when nothing is checked
   * @throws io.grpc.StatusRuntimeException what the call ends with instead
   */
  @Nullable CallerRights admit(String method, Http2Headers request, Attributes connection);
}
