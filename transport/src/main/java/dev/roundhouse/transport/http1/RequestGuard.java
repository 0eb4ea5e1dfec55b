package dev.roundhouse.transport.http1;

import dev.roundhouse.transport.access.CallerRights;
import io.netty.handler.codec.http.HttpHeaders;
import java.net.SocketAddress;
import java.util.function.Supplier;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/** Decides by a request's head alone whether it may be answered. Thread-safe. */
@FunctionalInterface
public interface RequestGuard {
  /** Allows every request. */
  RequestGuard NONE = head -> Verdict.ALLOWED;

  /** Called on event loops; must not block. */
  Verdict judge(Head head);

  /**
   * Whether a request may be answered.
   *
   * @param refusal null for an allowed request
   * @param caller what its caller may do; null when nothing is checked
   */
  record Verdict(@Nullable Refusal refusal, @Nullable CallerRights caller) {
    static final Verdict ALLOWED = new Verdict(null, null);

    public static Verdict allowed(@Nullable CallerRights caller) {
      return caller == null ? ALLOWED : new Verdict(null, caller);
    }

    public static Verdict refused(int code, String text) {
      return new Verdict(new Refusal(code, text), null);
    }
  }

  /**
   * What is known before the body.
   *
   * @param target as the client wrote it, with its query
   * @param client gives its address and port
   * @param local address of the client's connection
   * @param remote address of the client
   * @param session of TLS; null for plain text
   */
  record Head(
      String method,
      String target,
      HttpHeaders headers,
      Supplier<String> client,
      SocketAddress local,
      @Nullable SocketAddress remote,
      @Nullable SSLSession session) {}

  /**
   * How a request is refused. Its body is read and discarded.
   *
   * @param code HTTP status
   * @param text for the client
   */
  record Refusal(int code, String text) {}
}
