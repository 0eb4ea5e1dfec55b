package dev.roundhouse.transport.http1;

import io.netty.handler.codec.http.HttpHeaders;
import java.net.SocketAddress;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Says of a request's head alone whether anybody may answer it. Thread-safe. */
@FunctionalInterface
public interface RequestGuard {
  /** Every request may be answered. */
  RequestGuard NONE = head -> null;

  /** Null for a request that may be answered. Called on event loops, and must not block. */
  @Nullable Refusal refusal(Head head);

  /**
   * What is known before a body has come.
   *
   * @param target as the client wrote it, with its query
   * @param client makes its address and port
   * @param local that the client's connection arrived at
   * @param secure whether by TLS
   */
  record Head(
      String method,
      String target,
      HttpHeaders headers,
      Supplier<String> client,
      SocketAddress local,
      boolean secure) {}

  /**
   * How a request is refused. Its body is read and forgotten.
   *
   * @param code of HTTP
   * @param text for the client
   */
  record Refusal(int code, String text) {}
}
