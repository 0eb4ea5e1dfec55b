package dev.roundhouse.engine.transport;

import dev.roundhouse.engine.ServingRules;
import dev.roundhouse.engine.model.ModelStatus;
import java.util.List;
import java.util.Optional;

/**
 * What is served, as it is now. Before a client is told any of it, it is admitted for {@link
 * CallerUse#METADATA} or {@link CallerUse#HEALTH}, and for models that {@link Caller#mayUse}
 * allows.
 */
public interface ModelCatalogue {

  /** Names of the models that there are, ready or not, in order. */
  List<String> names();

  /**
   * A version of a model: its contract once that is known ({@link ModelStatus#spec}), and its
   * state.
   *
   * @param version empty for the one that answers
   * @return empty when there is none
   */
  Optional<ModelStatus> find(String name, String version);

  /**
   * How a version is served; empty unless it is ready.
   *
   * @param version empty for the one that answers
   */
  Optional<ServingRules> rules(String name, String version);

  /**
   * True when a request would be run.
   *
   * @param version empty for the one that answers
   */
  boolean answers(String name, String version);

  /**
   * How often what answers to a name was replaced, plus one, as far as callers of this have asked:
   * while it stays the same, so does the contract. 0 when there is no such model, or its contract
   * is not known yet.
   *
   * @param version empty for the one that answers
   */
  long generation(String name, String version);

  /** True while the server takes requests and says that it is ready. */
  boolean isReady();
}
