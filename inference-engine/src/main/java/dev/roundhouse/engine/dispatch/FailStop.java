package dev.roundhouse.engine.dispatch;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends an engine that can no longer be trusted to answer. Requested once: by the dispatch thread on
 * an exception that belongs to no batch, or by the watchdog on a call that hangs. Thread-safe.
 */
public final class FailStop {
  private static final Logger log = LoggerFactory.getLogger(FailStop.class);

  private final AtomicReference<@Nullable Throwable> cause = new AtomicReference<>();
  private final CompletableFuture<Throwable> requested = new CompletableFuture<>();
  private final CompletableFuture<Throwable> ended = new CompletableFuture<>();

  /** Requests the end; the first cause counts. It is logged here only. */
  public void request(Throwable why) {
    if (cause.compareAndSet(null, why)) {
      try {
        requested.complete(why);
      } finally {
        log.error("the engine fails and stops: every open request is ended", why);
      }
    }
  }

  /** Why the engine has failed; null while it has not. */
  public @Nullable Throwable cause() {
    return cause.get();
  }

  /** Completes with the cause as soon as it is known. Dependents must be brief. */
  public CompletableFuture<Throwable> requested() {
    return requested;
  }

  /** Completes with the cause when every open request has been notified. */
  public CompletableFuture<Throwable> ended() {
    return ended;
  }

  /** What callers are told. */
  public static String text(Throwable cause) {
    return cause instanceof WatchdogException
        ? "the server has failed and is stopping: "
            + cause.getMessage()
            + "; send the request elsewhere"
        : "the server has failed and is stopping; send the request elsewhere";
  }

  /** True when a run of a model did not end, which the model may be to blame for. */
  public static boolean isRunThatHangs(Throwable cause) {
    return cause instanceof WatchdogException stuck && stuck.run;
  }

  void onEnded(Throwable why) {
    ended.complete(why);
  }

  /** The device, or the dispatch thread, is stuck. */
  static final class WatchdogException extends RuntimeException {
    private final boolean run;

    WatchdogException(String message) {
      this(message, false);
    }

    /**
     * @param run it is a run that does not end
     */
    WatchdogException(String message, boolean run) {
      super(message);
      this.run = run;
    }
  }
}
