package dev.roundhouse.transport.forward;

import java.io.IOException;

/**
 * Why a call at a server has ended without the server's word, as the cause of its status. One whose
 * server could not be reached at all has a {@link java.net.ConnectException} instead.
 */
public final class LostCall extends IOException {
  private static final long serialVersionUID = 1;

  /** Whether the server has begun with the call. */
  public enum Seen {
    /** It certainly has not, so that the call can be sent again. */
    NO,
    /** It may have. */
    MAYBE
  }

  /** Who ended it. */
  public enum Fault {
    /** The server or the way to it: its process, its machine, the network. */
    SERVERS,
    /** We did, or the server stops as it should: nothing is wrong with it. */
    NOBODYS
  }

  private final Seen seen;
  private final Fault fault;

  public LostCall(String text, Seen seen, Fault fault) {
    super(text);
    this.seen = seen;
    this.fault = fault;
  }

  /** True when the server has certainly not begun with the call. */
  public boolean isUnseen() {
    return seen == Seen.NO;
  }

  /** True when it says that something is wrong with the server. */
  public boolean isServersFault() {
    return fault == Fault.SERVERS;
  }
}
