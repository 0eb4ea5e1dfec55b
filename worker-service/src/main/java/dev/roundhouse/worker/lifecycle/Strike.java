package dev.roundhouse.worker.lifecycle;

import java.time.DateTimeException;
import java.time.Instant;
import java.util.Optional;

/**
 * How often processes ended over a model.
 *
 * @param count 0 when it was one of several that were being loaded at the end, and may have had no
 *     part in it
 * @param kind of the last end
 * @param when of the last end
 * @param how it ended, for messages
 */
record Strike(JournalEntry.Key key, int count, Kind kind, Instant when, String how) {
  /** Ends until it is not loaded any more. */
  static final int LIMIT = 2;

  enum Kind {
    /** While it was loaded; forgotten when a load ends well. */
    LOAD,
    /** During its run; forgotten when a process that served it ends in order. */
    RUN
  }

  /** True when it must be loaded by itself, so that it is known whether it is the one. */
  boolean isSuspect() {
    return count < LIMIT;
  }

  boolean isQuarantined() {
    return count >= LIMIT;
  }

  String line() {
    return "%d\t%s\t%d\t%s\t%s".formatted(count, kind, when.getEpochSecond(), how, key.line());
  }

  /** Empty for an invalid line. */
  static Optional<Strike> read(String line) {
    String[] parts = line.split("\t", -1);
    if (parts.length != 7) {
      return Optional.empty();
    }
    try {
      return Optional.of(
          new Strike(
              new JournalEntry.Key(parts[4], parts[5], parts[6]),
              Integer.parseInt(parts[0]),
              Kind.valueOf(parts[1]),
              Instant.ofEpochSecond(Long.parseLong(parts[2])),
              parts[3]));
    } catch (IllegalArgumentException | DateTimeException damaged) {
      return Optional.empty();
    }
  }
}
