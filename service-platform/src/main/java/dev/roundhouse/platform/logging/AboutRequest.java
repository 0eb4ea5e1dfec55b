package dev.roundhouse.platform.logging;

import io.opentelemetry.api.trace.SpanContext;
import org.jspecify.annotations.Nullable;
import org.slf4j.MDC;

/**
 * The request that log records are about, made when there is something to log.
 *
 * @param id that its client gave it; null or empty for none
 * @param span its own where it has spans, else its caller's; null or invalid for none
 */
public record AboutRequest(@Nullable String id, @Nullable SpanContext span) {
  /** For records about a request of which nothing is known. */
  public static final AboutRequest UNKNOWN = new AboutRequest(null, null);

  /** What the id is called in a record. */
  static final String ID = "request_id";

  /** As the Elastic Common Schema has them. */
  static final String TRACE = "trace.id";

  static final String SPAN = "span.id";

  /** Characters of an id that are logged. */
  private static final int MOST = 128;

  /** Runs {@code logging}; its records name the request. */
  public void log(Runnable logging) {
    try {
      if (id != null && !id.isEmpty()) {
        MDC.put(ID, id.length() > MOST ? id.substring(0, MOST) : id);
      }
      if (span != null && span.isValid()) {
        MDC.put(TRACE, span.getTraceId());
        MDC.put(SPAN, span.getSpanId());
      }
      logging.run();
    } finally {
      MDC.remove(ID);
      MDC.remove(TRACE);
      MDC.remove(SPAN);
    }
  }
}
