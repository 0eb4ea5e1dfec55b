package dev.roundhouse.worker.transport.added;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.ServingRules;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.transport.ModelCatalogue;
import dev.roundhouse.worker.transport.Generations;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/** What the engine serves, for transports. Thread-safe. */
final class EngineModels implements ModelCatalogue {
  private final Engine engine;
  private final BooleanSupplier ready;
  private final Generations generations = new Generations();

  EngineModels(Engine engine, BooleanSupplier ready) {
    this.engine = engine;
    this.ready = ready;
  }

  @Override
  public List<String> names() {
    return engine.reports().models().stream().map(ModelStatus::name).sorted().distinct().toList();
  }

  @Override
  public Optional<ModelStatus> find(String name, String version) {
    return engine.model(name, version);
  }

  @Override
  public Optional<ServingRules> rules(String name, String version) {
    return engine.rules(name, version);
  }

  @Override
  public boolean answers(String name, String version) {
    return engine.isServing() && engine.answers(name, version);
  }

  @Override
  public long generation(String name, String version) {
    return find(name, version)
        .flatMap(ModelStatus::spec)
        .map(made -> generations.of(name, version, made))
        .orElse(0L);
  }

  @Override
  public boolean isReady() {
    return ready.getAsBoolean();
  }
}
