package dev.roundhouse.engine.compile;

/** A file of the cache does not hold what it should. The message says what is wrong with it. */
final class DamagedEntryException extends Exception {
  DamagedEntryException(String message) {
    super(message);
  }
}
