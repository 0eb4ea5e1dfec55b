package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.access.CallerRights;
import io.grpc.Status;
import io.grpc.StatusException;
import java.io.InputStream;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * Chooses which calls are forwarded to other servers, and to which. Messages are passed on as they
 * arrive; only the beginning of the first is read. Called on event loops: must not block.
 */
public interface CallRouter {

  /** True when calls of a method are forwarded. Others are answered here. */
  boolean forwards(String method);

  /** True when a forwarded method's request is one message. */
  boolean unaryRequest(String method);

  /**
   * Chooses a server.
   *
   * @param caller what the call's caller may do; null when nothing is checked
   * @param begin of the first message so far, decompressed; borrowed
   * @param more false when no more of it will be shown
   * @return null when more of the message is needed, if there is more
   * @throws StatusException what the call ends with instead
   */
  @Nullable Route route(
      String method, @Nullable CallerRights caller, ByteBuffer begin, boolean more)
      throws StatusException;

  /**
   * The trailer by which a server that could not answer a call says that no other may be asked;
   * empty for none.
   */
  default String keepsCall() {
    return "";
  }

  /**
   * The trailer by which a server says what its refusal is about; empty for none. Its meaning
   * becomes the status's cause, a {@link Refusal}.
   */
  default String refusalTrailer() {
    return "";
  }

  /**
   * The header that tells servers the caller's number; empty for none. A client's header of that
   * name is not passed on.
   */
  default String callerHeader() {
    return "";
  }

  /**
   * The header that tells servers {@link CallerRights#sealed}; empty for none. A client's header of
   * that name is not passed on, and with it neither is what the client has shown of itself.
   */
  default String sealedHeader() {
    return "";
  }

  /**
   * The header that tells every server but the first how many nanoseconds ago the whole
   * single-message request had arrived; empty for none. A client's header of that name is not
   * passed on.
   */
  default String spentHeader() {
    return "";
  }

  /**
   * What copies a call, which has just been given its first route.
   *
   * @return null when nothing does
   */
  default @Nullable PassingCopy copy(String method, Route route) {
    return null;
  }

  /** Whether routes are told of the spans that callers have for their calls. */
  default boolean tracesCalls() {
    return false;
  }

  /** A call's route to a server. On the call's event loop. */
  interface Route {
    /** For a call without a second server. */
    long NEVER = Long.MAX_VALUE;

    SocketAddress address();

    /**
     * What the caller says of its trace, in the headers of W3C's trace context. Told to the first
     * route of a call, before its server is asked, by those who {@link CallRouter#tracesCalls}.
     */
    default void calledIn(@Nullable String traceparent, @Nullable String tracestate) {}

    /** The {@code traceparent} for this server; null for the caller's own, if it has one. */
    default @Nullable String traceparent() {
      return null;
    }

    /**
     * The server could not answer, and nothing of an answer has been passed on.
     *
     * @param status has a {@link java.net.ConnectException} as its cause when the server could not
     *     be reached, and has certainly not seen the call; a {@link LostCall} when the call has
     *     ended otherwise without the server's word; a {@link Refusal} when the server says what
     *     its refusal is about; no cause for any other answer of the server
     * @return another to ask; null to tell the client. When there is another, this one has ended
     */
    @Nullable Route other(Status status);

    /**
     * Time from the arrival of the whole request, with no answer begun, until a second server is
     * asked as well.
     */
    default long hedgeAfterNanos() {
      return NEVER;
    }

    /**
     * That time has passed.
     *
     * @param message the first of the call; borrowed
     * @return the second server; null for none
     */
    default @Nullable Route hedge(InputStream message) {
      return null;
    }

    /** An answer has begun, this long after the whole request had arrived. */
    default void answering(long nanos) {}

    /**
     * Two were asked: this one has ended, and the other continues or has answered.
     *
     * @param status CANCELLED when the server did not end it itself
     */
    default void superseded(Status status) {
      ended(status);
    }

    /** Logs something about the call; a route that knows more of it has the records say so. */
    default void log(Runnable logging) {
      logging.run();
    }

    /** The call is over; called once, on the last route. */
    void ended(Status status);
  }
}
