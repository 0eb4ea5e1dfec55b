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
   * Writes a line for something that was asked. Records for machines have who and what in fields of
   * their own.
   *
   * @param what happened; of a long text its beginning is logged
   */
  public static void record(Caller caller, String what) {
    String route = begin(caller.route());
    log.atInfo()
        .addKeyValue("client.address", caller.address())
        .addKeyValue("user.name", caller.identity())
        .addKeyValue("event.action", route)
        .log("{}{} {}: {}", caller.address(), who(caller), route, begin(what));
  }

  /** The same, for whom this thread is at. */
  public static void record(String what) {
    record(Caller.current(), what);
  }

  private static String who(Caller caller) {
    return caller.identity().isEmpty() ? "" : " '" + caller.identity() + "'";
  }

  private static String begin(String text) {
    return text.length() <= MOST
        ? text
        : text.substring(0, MOST) + "... (" + text.length() + " characters)";
  }
}
