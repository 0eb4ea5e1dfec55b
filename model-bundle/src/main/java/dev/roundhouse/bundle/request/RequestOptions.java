package dev.roundhouse.bundle.request;

import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A caller's options for one inference. Read from the wire or made by an embedding program, and
 * passed on unchanged.
 *
 * @param timeoutNanos what is left to the caller to wait; {@link #NO_TIMEOUT} for as long as it
 *     takes
 * @param priority level among the model's priorities, 1 first; 0 for the model's default
 * @param queueTimeoutNanos how long it may wait to run; 0 for the model's default
 * @param sequence where it stands in a sequence; null when it is of none
 * @param wantsTimings whether the answer is to tell where the time went
 * @param wantsReceipt whether the answer is to tell how it came about, with what ran before it; the
 *     calls that answer it are asked too
 * @param traced whether whoever made it traces it; the calls that answer it are marked so too
 * @param parameters what it tells the model's own code, by name: each a String, Boolean, Long or
 *     Double. Nothing else reads them
 */
public record RequestOptions(
    long timeoutNanos,
    long priority,
    long queueTimeoutNanos,
    @Nullable SequenceStep sequence,
    boolean wantsTimings,
    boolean wantsReceipt,
    boolean traced,
    Map<String, Object> parameters) {
  public static final long NO_TIMEOUT = Long.MAX_VALUE;

  /** What the model and the server do with any request. */
  public static final RequestOptions DEFAULT =
      new RequestOptions(NO_TIMEOUT, 0, 0, null, false, false, false, Map.of());

  /**
   * @throws IllegalArgumentException when a parameter is of another type; names it
   */
  public RequestOptions {
    parameters = Map.copyOf(parameters); // itself when it is immutable, as Map.of() is
    if (!parameters.isEmpty()) {
      parameters.forEach(RequestOptions::requireKnownType);
    }
  }

  private static void requireKnownType(String name, Object value) {
    switch (value) {
      case String text -> {}
      case Boolean flag -> {}
      case Long number -> {}
      case Double real -> {}
      default ->
          throw new IllegalArgumentException(
              "parameter '%s' is of %s; it must be a String, Boolean, Long or Double"
                  .formatted(name, value.getClass()));
    }
  }

  /** These with some values changed, for the thread that makes it. */
  private static final class Copy {
    long timeoutNanos;
    long priority;
    long queueTimeoutNanos;
    @Nullable SequenceStep sequence;
    boolean wantsTimings;
    boolean wantsReceipt;
    boolean traced;
    Map<String, Object> parameters;

    Copy(RequestOptions of) {
      timeoutNanos = of.timeoutNanos;
      priority = of.priority;
      queueTimeoutNanos = of.queueTimeoutNanos;
      sequence = of.sequence;
      wantsTimings = of.wantsTimings;
      wantsReceipt = of.wantsReceipt;
      traced = of.traced;
      parameters = of.parameters;
    }

    RequestOptions made() {
      return new RequestOptions(
          timeoutNanos,
          priority,
          queueTimeoutNanos,
          sequence,
          wantsTimings,
          wantsReceipt,
          traced,
          parameters);
    }
  }

  public RequestOptions withTimeout(Duration timeout) {
    Copy copy = new Copy(this);
    copy.timeoutNanos = nanos(timeout);
    return copy.made();
  }

  public RequestOptions withPriority(long level) {
    Copy copy = new Copy(this);
    copy.priority = level;
    return copy.made();
  }

  public RequestOptions withQueueTimeout(Duration timeout) {
    Copy copy = new Copy(this);
    copy.queueTimeoutNanos = nanos(timeout);
    return copy.made();
  }

  public RequestOptions withSequence(@Nullable SequenceStep step) {
    Copy copy = new Copy(this);
    copy.sequence = step;
    return copy.made();
  }

  public RequestOptions withTrace() {
    Copy copy = new Copy(this);
    copy.traced = true;
    return copy.made();
  }

  public RequestOptions withParameters(Map<String, Object> values) {
    Copy copy = new Copy(this);
    copy.parameters = values;
    return copy.made();
  }

  public RequestOptions withReceipt() {
    Copy copy = new Copy(this);
    copy.wantsReceipt = true;
    return copy.made();
  }

  /**
   * Of the calls that answer a request with these: all but what says where the request itself
   * stands in a sequence, and what its own answer is to tell; its receipt has theirs.
   */
  public RequestOptions ofCalls() {
    if (sequence == null && !wantsTimings) {
      return this;
    }
    Copy copy = new Copy(this);
    copy.sequence = null;
    copy.wantsTimings = false;
    return copy.made();
  }

  private static long nanos(Duration timeout) {
    try {
      return timeout.toNanos();
    } catch (ArithmeticException e) {
      return NO_TIMEOUT; // 292 years or more
    }
  }
}
