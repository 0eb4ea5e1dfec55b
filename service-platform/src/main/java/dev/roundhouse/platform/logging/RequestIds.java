package dev.roundhouse.platform.logging;

import org.jspecify.annotations.Nullable;
import org.slf4j.MDC;

/** Has log records name the request that they are about, by the id that its client gave it. */
public final class RequestIds {
  /** What it is called in a record. */
  public static final String KEY = "request_id";

  private RequestIds() {}

  /** Logs with the id what {@code logging} logs; without when there is none. */
  public static void with(@Nullable String id, Runnable logging) {
    if (id == null || id.isEmpty()) {
      logging.run();
      return;
    }
    try (MDC.MDCCloseable ending = MDC.putCloseable(KEY, id)) {
      logging.run();
    }
  }
}
