package dev.roundhouse.platform.logging;

import java.io.PrintStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.core.env.Environment;

/**
 * Tells what scripts wait for: in lines of their own, or in log records where those are structured,
 * so that nothing else stands between them. Thread-safe.
 */
public final class Announcer {
  private static final Logger log = LoggerFactory.getLogger(Announcer.class);

  private final boolean structured;
  private final PrintStream out;

  public Announcer(Environment environment, PrintStream out) {
    structured = !StructuredLogs.format(environment).isEmpty();
    this.out = out;
  }

  /** Prints all lines at once, so that none is read without those before it. */
  public void tell(String... lines) {
    if (structured) {
      for (String line : lines) {
        log.info("{}", line);
      }
    } else {
      out.print(String.join("\n", lines) + "\n");
      out.flush();
    }
  }
}
