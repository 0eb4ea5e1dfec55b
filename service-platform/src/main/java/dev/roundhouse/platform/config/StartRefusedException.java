package dev.roundhouse.platform.config;

/** The application cannot start as it is configured; says why and what to change. */
public final class StartRefusedException extends RuntimeException {
  private final String action;

  public StartRefusedException(String description, String action) {
    super(description);
    this.action = action;
  }

  public StartRefusedException(String description, String action, Throwable cause) {
    super(description, cause);
    this.action = action;
  }

  public String action() {
    return action;
  }
}
