package dev.roundhouse.transport.forward;

import io.grpc.Status;
import java.io.IOException;

/**
 * The cause of a call's status when it has ended without a status from the server. A call whose
 * server could not be reached has a {@link java.net.ConnectException} instead.
 */
public final class LostCall extends IOException {
  private static final long serialVersionUID = 1;

  /** Whether the server has begun the call. */
  public enum Seen {
    /** It certainly has not: the call can be resent. */
    NO,
    /** It may have. */
    MAYBE
  }

  /** Who is at fault. */
  public enum Fault {
    /** The server or its connection: its process, its machine, the network. */
    SERVERS,
    /** We ended it, or the server is shutting down normally. */
    NOBODYS
  }

  private final Seen seen;
  private final Fault fault;

  public LostCall(String text, Seen seen, Fault fault) {
    super(text);
    this.seen = seen;
    this.fault = fault;
  }

  /** Status of a call that has ended so. */
  static Status status(String text, Seen seen, Fault fault) {
    return Status.UNAVAILABLE.withDescription(text).withCause(new LostCall(text, seen, fault));
  }

  /** True when the server has certainly not begun the call. */
  public boolean isUnseen() {
    return seen == Seen.NO;
  }

  /** True when something is wrong with the server. */
  public boolean isServersFault() {
    return fault == Fault.SERVERS;
  }
}
