package dev.roundhouse.transport.http1;

import io.netty.handler.codec.http.HttpHeaders;
import java.net.SocketAddress;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Decides by a request's head alone whether it may be answered. Thread-safe. */
@FunctionalInterface
public interface RequestGuard {
  /** Allows every request. */
  RequestGuard NONE = head -> null;

  /** Null for an allowed request. Called on event loops; must not block. */
  @Nullable Refusal refusal(Head head);

  /**
   * What is known before the body.
   *
   * @param target as the client wrote it, with its query
   * @param client gives its address and port
   * @param local address of the client's connection
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
   * How a request is refused. Its body is read and discarded.
   *
   * @param code HTTP status
   * @param text for the client
   */
  record Refusal(int code, String text) {}
}
