package dev.roundhouse.gateway.calls;

import dev.roundhouse.kserve.proto.RepositoryIndexResponse;
import dev.roundhouse.kserve.proto.RepositoryIndexResponse.ModelIndex;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What workers have in their repositories, as if it were one: a version is as far as the worker on
 * which it has got furthest.
 */
final class RepositoryLines {
  private static final List<String> FURTHEST_FIRST =
      List.of("READY", "LOADING", "UNLOADING", "UNAVAILABLE", "");

  private RepositoryLines() {}

  static RepositoryIndexResponse merge(List<RepositoryIndexResponse> answers) {
    Map<String, Map<String, ModelIndex>> models = new TreeMap<>();
    for (RepositoryIndexResponse answer : answers) {
      for (ModelIndex line : answer.getModelsList()) {
        models
            .computeIfAbsent(line.getName(), unknown -> new TreeMap<>())
            .merge(line.getVersion(), line, RepositoryLines::further);
      }
    }
    RepositoryIndexResponse.Builder merged = RepositoryIndexResponse.newBuilder();
    models
        .values()
        .forEach(
            versions -> {
              if (versions.size() > 1) {
                versions.remove(""); // not loaded on one worker, and loaded on another
              }
              merged.addAllModels(versions.values());
            });
    return merged.build();
  }

  private static ModelIndex further(ModelIndex one, ModelIndex other) {
    return rank(other) < rank(one) ? other : one;
  }

  private static int rank(ModelIndex line) {
    int rank = FURTHEST_FIRST.indexOf(line.getState());
    return rank < 0 ? FURTHEST_FIRST.size() : rank;
  }
}
