package dev.roundhouse.pjrt;

import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The folder in which everything that can be made again is kept. One rule here, in {@code
 * ./roundhouse} and in {@code tools/pjrt-plugin/fetch}: {@code ROUNDHOUSE_CACHE}, else {@code
 * roundhouse} in {@code XDG_CACHE_HOME}, else {@code .cache/roundhouse} in {@code HOME}. A variable
 * that is empty counts as not set.
 */
public final class CacheDirectory {
  /** Advice when there is none. */
  public static final String ADVICE = "set HOME, ROUNDHOUSE_CACHE or XDG_CACHE_HOME";

  private CacheDirectory() {}

  /**
   * Empty when none of the three is set; there is no such folder then.
   *
   * @param environment the value of a variable, or null when it is not set
   */
  public static Optional<Path> of(Function<String, @Nullable String> environment) {
    Optional<Path> own = folder(environment.apply("ROUNDHOUSE_CACHE"));
    Optional<Path> shared = folder(environment.apply("XDG_CACHE_HOME"));
    Optional<Path> home = folder(environment.apply("HOME"));
    return own.or(
        () ->
            shared
                .or(() -> home.map(each -> each.resolve(".cache")))
                .map(each -> each.resolve("roundhouse")));
  }

  private static Optional<Path> folder(@Nullable String value) {
    return value == null || value.isEmpty() ? Optional.empty() : Optional.of(Path.of(value));
  }
}
