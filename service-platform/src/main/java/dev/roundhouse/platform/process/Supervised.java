package dev.roundhouse.platform.process;

import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends an application whose supervisor is gone. The supervisor holds the other end of standard
 * input and never writes there, so the kernel closes it with the supervisor, however that ends.
 * Then the application stops as by SIGTERM, and what has not stopped in the time that the
 * supervisor would have given it is ended. Why not {@code PR_SET_PDEATHSIG}: decision 0016.
 */
public final class Supervised {
  /** Set by the supervisor: seconds from its end until what still runs is ended. */
  public static final String VARIABLE = "ROUNDHOUSE_SUPERVISED_GRACE_SECONDS";

  /** As of a process that SIGTERM ended. */
  static final int CODE = 143;

  private static final Logger log = LoggerFactory.getLogger(Supervised.class);

  private Supervised() {}

  /** Does nothing in a process that no supervisor started. First thing in {@code main}. */
  public static void follow() {
    follow(System.getenv(), System.in, System::exit, Runtime.getRuntime()::halt);
  }

  /**
   * @param exit ends the process as SIGTERM does
   * @param halt ends it at once
   */
  static void follow(
      Map<String, String> environment, InputStream input, IntConsumer exit, IntConsumer halt) {
    String seconds = environment.get(VARIABLE);
    if (seconds == null) {
      return;
    }
    Duration grace = grace(seconds);
    Thread.ofPlatform()
        .daemon()
        .name("supervisor-watch")
        .start(() -> awaitEndAndStop(input, grace, exit, halt));
  }

  private static Duration grace(String seconds) {
    try {
      return Duration.ofSeconds(Math.clamp(Long.parseLong(seconds), 0, 3600));
    } catch (NumberFormatException e) {
      throw new IllegalStateException(
          VARIABLE + " is '" + seconds + "'; a supervisor sets it to whole seconds", e);
    }
  }

  private static void awaitEndAndStop(
      InputStream input, Duration grace, IntConsumer exit, IntConsumer halt) {
    try {
      while (input.read() >= 0) {
        // nobody writes; were it so, it would mean nothing
      }
    } catch (IOException gone) {
      // the same
    }
    log.error("the supervisor is gone; stopping as by SIGTERM");
    // exit waits for the shutdown hooks, which may hang
    Thread.ofPlatform().daemon().name("supervisor-gone").start(() -> exit.accept(CODE));
    long end = System.nanoTime() + grace.toNanos();
    for (long left = grace.toNanos(); left > 0; left = end - System.nanoTime()) {
      LockSupport.parkNanos(left);
    }
    halt.accept(CODE);
  }
}
