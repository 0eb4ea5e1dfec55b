package dev.roundhouse.platform.grpc;

import io.grpc.Attributes;
import io.grpc.Grpc;
import io.grpc.ServerTransportFilter;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * What one connection holds of answers that have been made and not yet sent: a client that calls
 * and does not read must not take the memory that others need. Thread-safe.
 */
public final class ConnectionShare {
  static final Attributes.Key<ConnectionShare> KEY =
      Attributes.Key.create("dev.roundhouse.connection-share");

  private final long limit;
  private final String key;
  private final AtomicLong unread = new AtomicLong();

  private ConnectionShare(long limit, String key) {
    this.limit = limit;
    this.key = key;
  }

  /**
   * Gives every connection a share.
   *
   * @param limit bytes of answers that a connection may hold before its next call is refused
   * @param key that sets the limit
   */
  public static ServerTransportFilter perConnection(long limit, String key) {
    return new ServerTransportFilter() {
      @Override
      public Attributes transportReady(Attributes transport) {
        return transport.toBuilder().set(KEY, new ConnectionShare(limit, key)).build();
      }
    };
  }

  /** Why no further call is taken on this connection; null while one is. */
  @Nullable String refusal(Attributes call) {
    long held = unread.get();
    return held <= limit
        ? null
        : "the connection of %s holds %d bytes of answers that its client has not read and the limit is %d; read them before the next call, or raise %s"
            .formatted(call.get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR), held, limit, key);
  }

  void add(long bytes) {
    unread.addAndGet(bytes);
  }

  void giveBack(long bytes) {
    unread.addAndGet(-bytes);
  }

  /** Bytes that have been answered and not been sent. */
  long unread() {
    return unread.get();
  }
}
