package dev.roundhouse.bundle.error;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class BundleExceptionTest {
  private static final Path FILE = Path.of("models/m");

  @Test
  void shouldSayWhyAFileCannotBeUsedWhereJavaRepeatsItsPath() {
    assertThat(message(new AccessDeniedException("models/m")))
        .isEqualTo("models/m: cannot be listed: permission denied");
    assertThat(message(new UncheckedIOException(new AccessDeniedException("models/m/a"))))
        .isEqualTo("models/m: cannot be listed: permission denied");
    assertThat(message(new NoSuchFileException("models/m"))).endsWith(": it is not there");
    assertThat(message(new NotDirectoryException("models/m"))).endsWith(": it is not a directory");
    assertThat(message(new IOException("Input/output error"))).endsWith(": Input/output error");
  }

  private static String message(Throwable cause) {
    BundleException refusal = BundleException.inaccessible(FILE, "cannot be listed", cause);
    assertThat(refusal).hasCause(cause);
    assertThat(refusal.file()).isEqualTo(FILE.toString());
    return String.valueOf(refusal.getMessage());
  }
}
