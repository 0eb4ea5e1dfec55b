package dev.roundhouse.engine.hook;

import java.time.Duration;
import java.util.Set;

/**
 * Whose hooks are run, and what they may take.
 *
 * @param signers sha256 of certificates, in lower-case hex; for {@link Mode#JARS_SIGNED_BY}
 * @param timeLimit of one hook of one request, of opening hooks and of closing them
 * @param threads hooks that run at once; a model has a quarter of them at most
 * @param metaConcurrency runs of metas that are between their first call and their end at once
 * @param settings where an operator sets these, as messages name it
 */
public record HookOptions(
    Mode mode,
    Set<String> signers,
    Duration timeLimit,
    int threads,
    int metaConcurrency,
    String settings) {

  /** Of {@link #DEFAULT}. */
  public static final int THREADS = 256;

  /** Bundles whose hooks are run. */
  public enum Mode {
    /** All. */
    ALLOW,
    /** None: bundles with hooks are refused. */
    DENY,
    /** Those with a jar that one of the signers has signed. */
    JARS_SIGNED_BY
  }

  public static final HookOptions DEFAULT =
      new HookOptions(Mode.ALLOW, Set.of(), Duration.ofSeconds(30), THREADS, 1, "hooks");

  /**
   * @throws IllegalArgumentException when a value is out of bounds; names it
   */
  public HookOptions {
    signers = Set.copyOf(signers);
    if (timeLimit.compareTo(Duration.ofMillis(1)) < 0 || threads < 1 || metaConcurrency < 1) {
      throw new IllegalArgumentException(
          "%1$s.time-limit is %2$s, %1$s.threads %3$d and %1$s.meta-concurrency %4$d; each must be above 0"
              .formatted(settings, timeLimit, threads, metaConcurrency));
    }
  }

  /** With one meta that calls at a time. */
  public HookOptions(
      Mode mode, Set<String> signers, Duration timeLimit, int threads, String settings) {
    this(mode, signers, timeLimit, threads, 1, settings);
  }

  /**
   * Metas that run at once. They have threads of their own: those that wait for calls must leave
   * some for the hooks of the models that they call.
   */
  int metaThreads() {
    return Math.max(1, threads / 2);
  }

  /** Hooks of one model that run at once. */
  int perModel() {
    return Math.max(1, threads / 4);
  }
}
