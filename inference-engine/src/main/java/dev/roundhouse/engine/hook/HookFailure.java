package dev.roundhouse.engine.hook;

import dev.roundhouse.engine.request.Status;
import dev.roundhouse.hooks.CallException;
import dev.roundhouse.hooks.HookException;
import dev.roundhouse.hooks.HookException.Code;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/** What callers are told of what a hook threw. */
final class HookFailure {
  /** How the names of bundles' class loaders begin. */
  static final String LOADER = "bundle ";

  private static final int MOST_CHARACTERS = 1_000;

  private HookFailure() {}

  static Status status(Code code) {
    return switch (code) {
      case INVALID_ARGUMENT -> Status.INVALID_ARGUMENT;
      case NOT_FOUND -> Status.NOT_FOUND;
      case FAILED_PRECONDITION -> Status.FAILED_PRECONDITION;
      case RESOURCE_EXHAUSTED -> Status.RESOURCE_EXHAUSTED;
      case UNAVAILABLE -> Status.UNAVAILABLE;
      case UNIMPLEMENTED -> Status.UNIMPLEMENTED;
      case INTERNAL -> Status.INTERNAL;
    };
  }

  /**
   * The message of a refusal; of anything else class, message and the bundle's first line in its
   * trace. Runs the bundle's code where the exception is a class of its own.
   */
  static String text(Throwable thrown) {
    String text;
    try {
      text =
          thrown instanceof HookException || thrown instanceof CallException
              ? String.valueOf(thrown.getMessage())
              : thrown + where(thrown);
    } catch (Throwable e) {
      text = thrown.getClass().getName();
    }
    return text.length() <= MOST_CHARACTERS ? text : text.substring(0, MOST_CHARACTERS) + "...";
  }

  private static String where(Throwable thrown) {
    return Arrays.stream(thrown.getStackTrace())
        .filter(
            frame ->
                frame.getClassLoaderName() != null && frame.getClassLoaderName().startsWith(LOADER))
        .findFirst()
        .map(frame -> " (%s:%d)".formatted(frame.getFileName(), frame.getLineNumber()))
        .orElse("");
  }

  /** A time as people read it. */
  static String millis(long nanos) {
    long millis = TimeUnit.NANOSECONDS.toMillis(nanos);
    return millis > 0 && millis % 1000 == 0 ? millis / 1000 + " s" : millis + " ms";
  }
}
