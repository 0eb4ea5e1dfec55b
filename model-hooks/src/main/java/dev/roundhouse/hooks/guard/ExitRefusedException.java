package dev.roundhouse.hooks.guard;

/** A bundle's code wanted to end the process. */
public final class ExitRefusedException extends SecurityException {
  ExitRefusedException(int status) {
    super("a model must not end the server: exit(" + status + ")");
  }
}
