package dev.roundhouse.platform.audit;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes who changed what. Its logger is none of those that clients switch off by LogSettings; only
 * the operator's {@code logging.level.roundhouse.audit} does. Records for machines, and {@link
 * AuditFile}, have each part in a field of its own. Thread-safe.
 */
public final class Audit {
  public static final String LOGGER = "roundhouse.audit";

  // Names of fields; others are as ECS has them.
  static final String ADDRESS = "client.address";
  static final String IDENTITY = "user.name";
  static final String ROUTE = "event.action";
  static final String WHAT = "audit.what";
  static final String BEFORE = "audit.before";
  static final String AFTER = "audit.after";
  static final String OUTCOME = "event.outcome";

  private static final Logger log = LoggerFactory.getLogger(LOGGER);

  /** Characters of a line's part that came from outside. */
  private static final int MOST = 512;

  private Audit() {}

  /** Something that a caller asked for has begun or happened. */
  public static void record(Caller caller, String what) {
    write(caller, what, null, null, null, begin(what));
  }

  /** The same, for whom this thread is at. */
  public static void record(String what) {
    record(Caller.current(), what);
  }

  /**
   * A caller has changed something.
   *
   * @param what as in {@code weight of model 'm'}
   */
  public static void changed(Caller caller, String what, Object before, Object after) {
    String was = begin(before.toString());
    String is = begin(after.toString());
    write(caller, what, was, is, null, "%s changed from %s to %s".formatted(begin(what), was, is));
  }

  /** The same, for whom this thread is at. */
  public static void changed(String what, Object before, Object after) {
    changed(Caller.current(), what, before, after);
  }

  /**
   * A request that could change something has ended.
   *
   * @param asked in short; empty where the route says it
   * @param outcome what it was answered
   */
  public static void ended(Caller caller, String asked, String outcome) {
    String text = asked.isEmpty() ? begin(outcome) : begin(asked) + " " + begin(outcome);
    write(caller, asked, null, null, outcome, text);
  }

  private static void write(
      Caller caller,
      String what,
      @Nullable String before,
      @Nullable String after,
      @Nullable String outcome,
      String text) {
    String route = begin(caller.route());
    var line =
        log.atInfo()
            .addKeyValue(ADDRESS, caller.address())
            .addKeyValue(IDENTITY, caller.identity())
            .addKeyValue(ROUTE, route);
    line = what.isEmpty() ? line : line.addKeyValue(WHAT, begin(what));
    line = before == null ? line : line.addKeyValue(BEFORE, before);
    line = after == null ? line : line.addKeyValue(AFTER, after);
    line = outcome == null ? line : line.addKeyValue(OUTCOME, begin(outcome));
    line.log("{}{} {}: {}", caller.address(), who(caller), route, text);
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
