package dev.roundhouse.engine.queue;

import dev.roundhouse.engine.observe.Ledger;
import dev.roundhouse.engine.observe.LogThrottle;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.observe.ModelCounters;
import dev.roundhouse.engine.queue.QueuedRequest.State;
import dev.roundhouse.engine.recording.ShedEvent;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.time.NanoClock;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The only way a request ends: claimed, counted, delivered, in that order, so a caller that sees an
 * outcome also sees it counted, and its bytes and queue place free. A sink's exception is logged
 * and goes no further. For any thread, or {@linkplain #ownedBy for one}.
 */
public final class Accounting {
  private static final Logger log = LoggerFactory.getLogger(Accounting.class);

  private final Ledger ledger;
  private final ByteBudget bytes;
  private final NanoClock clock;
  private final QueueShares shares;
  private final LogThrottle thrown;

  /**
   * For any thread.
   *
   * @param clock that requests were accepted by
   * @param shares where accepted requests count as their callers'
   */
  public Accounting(ByteBudget bytes, NanoClock clock, QueueShares shares) {
    this(Ledger.SHARED, bytes, clock, shares, new LogThrottle(log));
  }

  private Accounting(
      Ledger ledger, ByteBudget bytes, NanoClock clock, QueueShares shares, LogThrottle thrown) {
    this.ledger = ledger;
    this.bytes = bytes;
    this.clock = clock;
    this.shares = shares;
    this.thrown = thrown;
  }

  /** The same for one thread, whose counting costs less. */
  public Accounting ownedBy(Ledger owned) {
    return new Accounting(owned, bytes, clock, shares, thrown);
  }

  /** What requests take their memory from. */
  public ByteBudget bytes() {
    return bytes;
  }

  /** How many requests of each caller are open. */
  public QueueShares shares() {
    return shares;
  }

  /** On the clock that requests were accepted by. */
  public long nanoTime() {
    return clock.nanoTime();
  }

  /** Where it counts. */
  public Ledger ledger() {
    return ledger;
  }

  /** Tells a caller that its request is not accepted; nothing of it has been counted. */
  public void refuse(QueuedRequest request, Outcome.Refused outcome) {
    if (request.end(State.NEW)) {
      deliver(request, null, outcome);
    }
  }

  /**
   * Ends an accepted request, which was not answered, if it is still in {@code expected}.
   *
   * @return false without effect, when it was ended or moved on first
   */
  public boolean end(QueuedRequest request, State expected, Outcome outcome) {
    if (!request.end(expected)) {
      return false;
    }
    ModelCounters counters = request.counters();
    counters.unansweredAfter(clock.nanoTime() - request.arrivalNanos());
    // Counted before its place is freed: whoever sees the place free also sees the outcome counted.
    ledger.add(counters, metric(outcome));
    if (expected == State.QUEUED) {
      ledger.leave(counters);
    }
    if (outcome instanceof Outcome.Shed shed) {
      ShedEvent.tell(request.request().modelName(), shed.reason().name());
    }
    bytes.giveBack(request.inputBytes() + request.answerBytes(), ledger);
    deliver(request, null, outcome);
    return true;
  }

  /**
   * Ends a request with its answer, whose bytes stay counted until its receiver closes it.
   *
   * @param answer transferred; closed here when the request is over already
   */
  public boolean complete(QueuedRequest request, Answer answer, Outcome.Completed outcome) {
    if (!request.end(State.TAKEN)) {
      answer.free();
      return false;
    }
    ledger.add(request.counters(), Metric.COMPLETED);
    bytes.giveBack(request.inputBytes(), ledger);
    deliver(request, answer, outcome);
    return true;
  }

  /**
   * Ends a request whose answer went out in parts, the last of them too.
   *
   * @return false without effect, when it was over already
   */
  public boolean completeParts(QueuedRequest request, Outcome.Completed outcome) {
    if (!request.end(State.TAKEN)) {
      return false;
    }
    ledger.add(request.counters(), Metric.COMPLETED);
    bytes.giveBack(request.inputBytes() + request.answerBytes(), ledger);
    deliver(request, null, outcome);
    return true;
  }

  /**
   * Hands out a part of the answer to a request that goes on.
   *
   * @param part transferred; closed here when its receiver throws
   */
  public void part(QueuedRequest request, Answer part) {
    try {
      request.sink().onPart(part);
    } catch (Throwable e) {
      part.close();
      tellOf(request, e);
    }
  }

  private void deliver(QueuedRequest request, @Nullable Answer answer, Outcome outcome) {
    request.release(answer != null);
    shares.leave(request.share());
    AtomicInteger place = request.tenantPlace();
    if (place != null) {
      place.getAndDecrement();
    }
    var sink = request.sink();
    if (answer != null) {
      try {
        sink.onPart(answer);
      } catch (Throwable e) {
        answer.close();
        tellOf(request, e);
      }
    }
    try {
      sink.onEnd(outcome);
    } catch (Throwable e) {
      tellOf(request, e);
    }
  }

  /**
   * A caller's fault, an {@code Error} too, must not reach the other requests, nor end a thread.
   */
  private void tellOf(QueuedRequest request, Throwable thrown) {
    this.thrown.warn(
        "the receiver of an answer of model '" + request.request().modelName() + "' threw", thrown);
  }

  private static Metric metric(Outcome outcome) {
    return switch (outcome) {
      case Outcome.Completed completed -> Metric.COMPLETED;
      case Outcome.Failed failed -> Metric.FAILED;
      case Outcome.Shed shed -> Metric.of(shed.reason());
      case Outcome.Cancelled cancelled -> Metric.CANCELLED;
      case Outcome.Refused refused ->
          throw new IllegalArgumentException("an accepted request cannot be refused: " + refused);
    };
  }
}
