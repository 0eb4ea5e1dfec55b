package dev.roundhouse.transport.io;

import io.netty.handler.ssl.NotSslRecordException;
import java.net.SocketAddress;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Logs, once a minute, a client with whom TLS has failed, and why. */
public final class TlsFailures {
  private static final Logger log = LoggerFactory.getLogger(TlsFailures.class);
  private static final Seldom WARNING = new Seldom();

  private TlsFailures() {}

  /** Logs the failure of a connection if it is one of TLS. Any thread. */
  public static void tell(@Nullable SocketAddress client, Throwable failure) {
    String reason = reason(failure);
    if (reason != null && WARNING.isTime()) {
      log.warn("{} is refused: {}. Others are not logged for a minute", client, reason);
    }
  }

  /** Null when TLS is not the reason. */
  static @Nullable String reason(Throwable failure) {
    Throwable cause = failure.getCause() == null ? failure : failure.getCause();
    if (cause instanceof NotSslRecordException) { // whose message has all the bytes that came
      return "it does not speak TLS";
    }
    return cause instanceof SSLException ? "TLS: " + cause.getMessage() : null;
  }
}
