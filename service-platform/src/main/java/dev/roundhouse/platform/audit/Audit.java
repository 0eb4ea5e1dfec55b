package dev.roundhouse.platform.audit;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes who changed what. Its logger is none of those that clients switch off by LogSettings; only
 * the operator's {@code logging.level.roundhouse.audit} does. Thread-safe.
 */
public final class Audit {
  public static final String LOGGER = "roundhouse.audit";

  private static final Logger log = LoggerFactory.getLogger(LOGGER);

  /** Characters of a line's part that came from outside. */
  private static final int MOST = 512;

  private Audit() {}

  /**
   * Writes a line for something that was asked.
   *
   * @param what happened; of what could end a line nothing is logged, and of a long text its
   *     beginning
   */
  public static void record(Caller caller, String what) {
    log.info("{} {}: {}", caller.address(), harmless(caller.route()), harmless(what));
  }

  /** The same, for whom this thread is at. */
  public static void record(String what) {
    record(Caller.current(), what);
  }

  static String harmless(String text) {
    String begin = text.length() > MOST ? text.substring(0, MOST) + "..." : text;
    return begin.replaceAll("[\\p{Cntrl}\\u0085\\u2028\\u2029]", "?");
  }
}
