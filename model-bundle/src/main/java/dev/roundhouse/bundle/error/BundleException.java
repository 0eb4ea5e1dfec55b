package dev.roundhouse.bundle.error;

import java.util.List;

/**
 * A bundle is refused. The message names the file and all reasons found, each with the value, the
 * rule and, where it is not plain, the fix.
 */
public final class BundleException extends RuntimeException {
  private final String file;
  private final List<String> reasons;

  /**
   * @param file the file at fault, as the operator would look for it
   * @param reasons at least one
   */
  public BundleException(String file, List<String> reasons) {
    super(message(file, reasons));
    this.file = file;
    this.reasons = List.copyOf(reasons);
  }

  public BundleException(String file, String reason) {
    this(file, List.of(reason));
  }

  public BundleException(String file, String reason, Throwable cause) {
    this(file, List.of(reason));
    initCause(cause);
  }

  public String file() {
    return file;
  }

  public List<String> reasons() {
    return reasons;
  }

  private static String message(String file, List<String> reasons) {
    return reasons.size() == 1
        ? file + ": " + reasons.getFirst()
        : file + ": " + reasons.size() + " problems\n  - " + String.join("\n  - ", reasons);
  }
}
