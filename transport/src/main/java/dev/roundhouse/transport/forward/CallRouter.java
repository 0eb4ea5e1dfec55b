package dev.roundhouse.transport.forward;

import io.grpc.Status;
import io.grpc.StatusException;
import java.io.InputStream;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * Says which calls are sent on to other servers, and to which. Messages are passed on as they
 * arrive, and are not read but for the beginning of the first. Called on event loops: it must not
 * block.
 */
public interface CallRouter {

  /** True when calls of a method are sent on. Others are this server's own. */
  boolean forwards(String method);

  /** True when a request of a method that is sent on is one message. */
  boolean unaryRequest(String method);

  /**
   * Chooses a server.
   *
   * @param begin of the first message as it has arrived, uncompressed; borrowed
   * @param more false when no more of it will be shown
   * @return null when more of the message is needed to tell, if there is more
   * @throws StatusException what the call ends with instead
   */
  @Nullable Route route(String method, ByteBuffer begin, boolean more) throws StatusException;

  /**
   * The trailer by which a server says that a call that it could not answer must go to no other;
   * empty when there is none.
   */
  default String keepsCall() {
    return "";
  }

  /**
   * The trailer by which a server says that its refusal is about the model or the request; empty
   * when there is none. What it says is the cause of the status, a {@link Refusal}.
   */
  default String refusalTrailer() {
    return "";
  }

  /**
   * The header by which servers are told whose call it is, as a number; empty for none. What a
   * client sends under that name is not passed on.
   */
  default String callerHeader() {
    return "";
  }

  /**
   * The header by which servers are told for how many nanoseconds all of a request has been here,
   * of one message, when they are not the first that are asked; empty for none. What a client sends
   * under that name is not passed on.
   */
  default String spentHeader() {
    return "";
  }

  /** A call's way to a server. On the event loop of the call. */
  interface Route {
    /** Of a call that one server alone is asked. */
    long NEVER = Long.MAX_VALUE;

    SocketAddress address();

    /**
     * The server could not answer, and nothing of an answer has been passed on.
     *
     * @param status has a {@link java.net.ConnectException} as its cause when the server could not
     *     be reached, and has certainly not seen the call; a {@link LostCall} when the call has
     *     ended otherwise without the server's word; a {@link Refusal} when the server says whom
     *     its word is about; no cause when it just says so
     * @return another to ask; null to tell the client. When there is another, this one has ended
     */
    @Nullable Route other(Status status);

    /**
     * How long after all of a request is here, and nothing of an answer is, a second server is
     * asked as well.
     */
    default long hedgeAfterNanos() {
      return NEVER;
    }

    /**
     * So long has passed.
     *
     * @param message the first of the call; borrowed
     * @return the second server; null for none
     */
    default @Nullable Route hedge(InputStream message) {
      return null;
    }

    /** An answer has begun to come, so long after all of the request was here. */
    default void answering(long nanos) {}

    /**
     * Of the two that were asked this one has ended and the other goes on, or has answered.
     *
     * @param status CANCELLED when it was not this server that ended it
     */
    default void superseded(Status status) {
      ended(status);
    }

    /** The call is over; called once, of the last route. */
    void ended(Status status);
  }
}
