package dev.roundhouse.platform.logging;

import org.jspecify.annotations.Nullable;
import org.slf4j.MDC;

/** Has log records name the request that they are about, by the id that its client gave it. */
public final class RequestIds {
  /** What it is called in a record. */
  public static final String KEY = "request_id";

  /** Characters of an id that are logged. */
  private static final int MOST = 128;

  private RequestIds() {}

  /**
   * Logs with the id what {@code logging} logs; without when there is none.
   *
   * @param id as the client wrote it: of what could end a line nothing is logged, and its beginning
   *     of one that is long
   */
  public static void with(@Nullable String id, Runnable logging) {
    if (id == null || id.isEmpty()) {
      logging.run();
      return;
    }
    try (MDC.MDCCloseable ending = MDC.putCloseable(KEY, harmless(id))) {
      logging.run();
    }
  }

  private static String harmless(String id) {
    String begin = id.length() > MOST ? id.substring(0, MOST) : id;
    return begin.replaceAll("[\\p{Cntrl}\\u0085\\u2028\\u2029]", "?");
  }
}
