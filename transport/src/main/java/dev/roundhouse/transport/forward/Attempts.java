package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.forward.CallRouter.Route;
import io.grpc.Status;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides which servers a request is sent to, and whose answer it gets: the first server, the same
 * once more when it has certainly not seen the request, another when it could not answer, and a
 * second in parallel when it is slow. Is told of events and tells a {@link Sender} what to do; owns
 * no thread, timer or connection. Not thread-safe.
 *
 * @param <A> the transport's state of one attempt
 */
public final class Attempts<A extends Attempts.Attempt> {
  private static final Logger log = LoggerFactory.getLogger(Attempts.class);
  private static final Status ANSWERED =
      Status.CANCELLED.withDescription("another server has answered first");
  private static final Status UNSENT =
      Status.CANCELLED.withDescription("the request could not be sent");
  private static final Status OVER = Status.CANCELLED.withDescription("the request is over");

  private final Sender<A> sender;
  private final LongSupplier nanoClock;

  /** The current server; once there is an answer, the answering one. */
  private @Nullable A asked;

  /** A second server, asked in parallel. */
  private @Nullable A hedge;

  /** A server was sent the request. */
  private boolean isSent;

  private boolean isWhole;

  /** When the whole request had arrived. */
  private long wholeNanos;

  private boolean isAnswered;
  private boolean isOver;

  /**
   * @param nanoClock as {@link System#nanoTime}
   */
  public Attempts(Sender<A> sender, LongSupplier nanoClock) {
    this.sender = sender;
    this.nanoClock = nanoClock;
  }

  /** One server that a request was sent to. */
  public interface Attempt {
    Route route();

    /** True when its server was sent the request before and has not seen it. */
    boolean isAgain();

    /** Its answer is no longer wanted; no effect when it has ended. */
    void leave();
  }

  /** The request, and the way to servers. */
  public interface Sender<A extends Attempt> {

    /** A new attempt, not sent yet; see {@link Attempt#isAgain}. */
    A attempt(Route route, boolean isAgain);

    /** Sends what has arrived of the request; may end the request, or report a loss, at once. */
    void send(A attempt);

    /** False when the request cannot be resent: part of it has been discarded. */
    boolean canBeSentAgain();

    /**
     * Chooses a second server, by {@link Route#hedge}.
     *
     * @return null when there is none, or the request must not run twice
     */
    @Nullable Route second(A first);

    /** Calls {@link Attempts#hedgeIsDue} after this time. */
    void hedgeAfter(long nanos);

    /** Cancels that call. */
    void hedgeNoMore();
  }

  /** The server that is asked or answers; null before {@link #begin}. */
  public @Nullable A asked() {
    return asked;
  }

  /** True once a server's answer is the request's. */
  public boolean isAnswered() {
    return isAnswered;
  }

  /**
   * Time of the request's budget already spent, as servers are told: since the whole request
   * arrived, and 0 for the first server.
   */
  public long spentNanos() {
    return isSent && isWhole ? nanoClock.getAsLong() - wholeNanos : 0;
  }

  /** Sends the request to its first server. */
  public void begin(Route first) {
    sendTo(first);
    hedgeLater();
  }

  private void sendTo(Route route) {
    A attempt = sender.attempt(route, false);
    asked = attempt;
    send(attempt);
  }

  private void send(A attempt) {
    sender.send(attempt);
    isSent = true;
  }

  /** The whole request has arrived. */
  public void whole() {
    if (!isWhole) {
      isWhole = true;
      wholeNanos = nanoClock.getAsLong();
      hedgeLater();
    }
  }

  /** Once the first server was sent the whole request. */
  private void hedgeLater() {
    A first = asked;
    if (!isWhole || first == null || isOver || isAnswered) {
      return;
    }
    long after = first.route().hedgeAfterNanos();
    if (after != Route.NEVER) {
      sender.hedgeAfter(after);
    }
  }

  /** It is time to ask a second server. */
  public void hedgeIsDue() {
    A first = asked;
    if (isOver || isAnswered || first == null || hedge != null || !sender.canBeSentAgain()) {
      return;
    }
    try {
      Route second = sender.second(first);
      if (second != null) {
        A also = sender.attempt(second, false);
        hedge = also;
        send(also);
      }
    } catch (Throwable e) {
      first.route().log(() -> log.error("a request cannot be sent to a second server", e));
      A unsent = hedge;
      hedge = null; // the first may still answer
      if (unsent != null) {
        superseded(unsent, UNSENT);
      }
    }
  }

  /**
   * A server has begun to answer: its answer is used, whichever others were asked.
   *
   * @return false when it is no longer wanted
   */
  public boolean answered(A by) {
    if (isOver || !isAsked(by)) {
      return false;
    }
    win(by);
    return true;
  }

  /** The answer of {@link #asked} is passed on. */
  public void answering() {
    A by = asked;
    if (by != null && isWhole) {
      by.route().answering(nanoClock.getAsLong() - wholeNanos);
    }
  }

  /**
   * A server has ended the request.
   *
   * @param keeps whether it forbids asking another
   * @return true when that is the request's end; false when another was asked, or is asked now
   */
  public boolean said(A by, Status status, boolean keeps) {
    if (isOver || !isAsked(by)) {
      return false;
    }
    boolean isFinal = keeps || status.getCause() == Refusal.OF_REGION;
    if (!isFinal && goesOnWithout(by, status, isOfTheServer(status))) {
      return false;
    }
    win(by);
    return true;
  }

  /**
   * A server, or the connection to it, was lost before it ended the request.
   *
   * @param status with the reason, as {@link Route#other} is told
   * @return true when that is the request's end; false when another was asked, or is asked now
   */
  public boolean lost(A by, Status status) {
    if (isOver || !isAsked(by)) {
      return false;
    }
    return !isSentAgain(by, status) && !goesOnWithout(by, status, true);
  }

  /** False when this attempt's answer is not wanted, or no longer wanted. */
  public boolean isAsked(A attempt) {
    return attempt == asked || attempt == hedge;
  }

  /** Resends to a server that has certainly not begun the request. */
  private boolean isSentAgain(A lost, Status status) {
    if (!(status.getCause() instanceof LostCall why)
        || !why.isUnseen()
        || status.getCode() != Status.Code.UNAVAILABLE
        || isAnswered
        || lost.isAgain()
        || !sender.canBeSentAgain()) {
      return false;
    }
    A again = sender.attempt(lost.route(), true);
    if (lost == hedge) {
      hedge = again;
    } else {
      asked = again;
    }
    send(again);
    return true;
  }

  private void win(A winner) {
    sender.hedgeNoMore();
    isAnswered = true;
    A loser = winner == asked ? hedge : asked;
    asked = winner;
    hedge = null;
    if (loser != null) {
      superseded(loser, ANSWERED);
      loser.leave();
    }
  }

  /**
   * @param yields whether the other's answer is better, if there are two
   */
  private boolean goesOnWithout(A failed, Status status, boolean yields) {
    A second = hedge;
    if (second == null) {
      return isSentToAnother(failed, status);
    }
    if (!yields) {
      return false;
    }
    asked = failed == second ? asked : second;
    hedge = null;
    superseded(failed, status);
    return true;
  }

  private boolean isSentToAnother(A failed, Status status) {
    if (status.isOk() || isAnswered || !sender.canBeSentAgain()) {
      return false;
    }
    Route other = failed.route().other(status);
    if (other == null) {
      return false;
    }
    sender.hedgeNoMore();
    sendTo(other);
    return true;
  }

  /** Errors that another server may not have. */
  private static boolean isOfTheServer(Status status) {
    return switch (status.getCode()) {
      case UNAVAILABLE, NOT_FOUND, RESOURCE_EXHAUSTED -> true;
      default -> status.getCause() == Refusal.OF_MODEL;
    };
  }

  private void superseded(A attempt, Status status) {
    try {
      attempt.route().superseded(status);
    } catch (Throwable e) {
      attempt
          .route()
          .log(() -> log.error("the end of a request at one of two servers could not be noted", e));
    }
  }

  /** The request is over. Tells the routes; attempts still answering are to be left. */
  public void ended(Status status) {
    if (isOver) {
      return;
    }
    isOver = true;
    sender.hedgeNoMore();
    A also = hedge;
    if (also != null) {
      superseded(also, OVER);
    }
    A last = asked;
    if (last != null) {
      try {
        last.route().ended(status);
      } catch (Throwable e) {
        last.route().log(() -> log.error("the end of a request could not be noted", e));
      }
    }
  }

  /** Leaves all attempts that still answer. */
  public void leave() {
    A last = asked;
    if (last != null) {
      last.leave();
    }
    A also = hedge;
    if (also != null) {
      also.leave();
    }
  }
}
