package dev.roundhouse.bundle.error;

import java.io.UncheckedIOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

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

  /**
   * Says why a file or folder could not be used.
   *
   * @param what could not be done, such as {@code cannot be read}
   */
  public static BundleException inaccessible(Path file, String what, Throwable cause) {
    return new BundleException(file.toString(), what + ": " + reason(cause), cause);
  }

  /** What Java says of these is the path alone. */
  private static @Nullable String reason(Throwable cause) {
    return switch (cause) {
      case UncheckedIOException wrapped when wrapped.getCause() != null ->
          reason(wrapped.getCause());
      case AccessDeniedException denied -> "permission denied";
      case NoSuchFileException gone -> "it is not there";
      case NotDirectoryException other -> "it is not a directory";
      case Throwable other -> other.getMessage();
    };
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
