package dev.roundhouse.hooks.guard;

/** What calls of {@code exit} and {@code halt} in a bundle's classes lead to. */
public final class Exits {
  private Exits() {}

  /** In place of {@link System#exit}. */
  public static void exit(int status) {
    throw new ExitRefusedException(status);
  }

  /** In place of {@link Runtime#exit} and {@link Runtime#halt}. */
  public static void exit(Runtime runtime, int status) {
    throw new ExitRefusedException(status);
  }
}
