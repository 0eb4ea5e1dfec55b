package dev.roundhouse.worker.transport;

import dev.roundhouse.bundle.model.ModelSpec;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Counts how often what serves was replaced, as far as anybody asked. Thread-safe. */
public final class Generations {
  /** By model and version; names of models that there were. */
  private final Map<String, Generation> known = new ConcurrentHashMap<>();

  private record Generation(ModelSpec made, long number) {}

  /**
   * The same number while the same files serve.
   *
   * @param version empty for the one that is served
   * @param made from the files that serve now
   */
  public long of(String model, String version, ModelSpec made) {
    return known
        .compute(
            model + "\n" + version,
            (key, before) ->
                before == null
                    ? new Generation(made, 1)
                    : before.made() == made ? before : new Generation(made, before.number() + 1))
        .number();
  }
}
