package dev.roundhouse.worker.tee;

import dev.roundhouse.engine.observe.LogThrottle;
import org.slf4j.LoggerFactory;

/**
 * Says what went wrong with copies, once a second at most. It throws nothing, not even for want of
 * memory: what is copied must not suffer from its copies. Thread-safe.
 */
final class FailureLog {
  private final LogThrottle log = new LogThrottle(LoggerFactory.getLogger(Tee.class));

  void say(String what, Throwable why) {
    try {
      log.warn(what, why);
    } catch (RuntimeException | Error unsaid) {
      // it is counted where it happened
    }
  }
}
