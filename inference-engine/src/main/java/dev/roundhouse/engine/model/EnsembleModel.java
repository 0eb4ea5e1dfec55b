package dev.roundhouse.engine.model;

import dev.roundhouse.bundle.model.EnsembleStep;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.engine.queue.RefusedException;
import dev.roundhouse.engine.request.Status;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * An ensemble: a version that answers by the calls that its manifest names. None of a bundle's code
 * runs for it, so it needs no thread: each step is called by the thread that ends the one before.
 */
final class EnsembleModel extends ComposedModel {
  private final String fingerprint;
  private final CalledModels called;

  /** By step, outputs that nobody gets but other steps. */
  private final Map<EnsembleStep, List<String>> handedOn;

  /** Versions whose steps fit each other. */
  private volatile @Nullable Map<String, Servable> fitting;

  EnsembleModel(ModelSpec spec, String version, String fingerprint, CalledModels called) {
    super(
        spec,
        version,
        spec.batchSizes().isEmpty() ? List.of(ModelContract.MOST_ROWS) : spec.batchSizes());
    this.fingerprint = fingerprint;
    this.called = called;
    Set<String> answer =
        spec.clientOutputs().stream().map(TensorSpec::name).collect(Collectors.toSet());
    handedOn = new IdentityHashMap<>();
    for (EnsembleStep step : spec.steps()) {
      List<String> between = new ArrayList<>(step.outputs().keySet());
      between.removeIf(theirs -> answer.contains(step.outputs().get(theirs)));
      handedOn.put(step, List.copyOf(between));
    }
  }

  @Override
  protected void run(ComposedRun run) {
    CalledModels.Held held;
    try {
      held = called.hold(spec());
    } catch (RefusedException e) {
      run.fail(e.status(), e.getMessage());
      return;
    }
    run.keep(held::close);
    held.versions().values().forEach(run::holdWeights);
    String misfit = misfit(held.versions());
    if (misfit.isEmpty()) {
      new EnsembleRun(spec(), held.versions(), handedOn, run).begin();
    } else {
      run.fail(
          Status.UNAVAILABLE, "model '%s' cannot answer: it %s".formatted(spec().name(), misfit));
    }
  }

  private String misfit(Map<String, Servable> versions) {
    Map<String, Servable> known = fitting;
    if (known != null && areSame(known, versions)) {
      return "";
    }
    String misfit =
        EnsembleFit.misfit(spec(), name -> Objects.requireNonNull(versions.get(name)).spec());
    if (misfit.isEmpty()) {
      fitting = versions;
    }
    return misfit;
  }

  private boolean areSame(Map<String, Servable> one, Map<String, Servable> other) {
    for (EnsembleStep step : spec().steps()) {
      if (one.get(step.model()) != other.get(step.model())) {
        return false;
      }
    }
    return true;
  }

  @Override
  public List<ProgramModel> needs() {
    return called.needs(spec());
  }

  @Override
  boolean runsWhereItIsCalled() {
    return true;
  }

  @Override
  public String fingerprint() {
    return fingerprint;
  }
}
