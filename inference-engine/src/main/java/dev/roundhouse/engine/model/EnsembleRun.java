package dev.roundhouse.engine.model;

import dev.roundhouse.bundle.model.EnsembleStep;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.TensorData;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One request to an ensemble: a step is called as soon as there is all that it takes, several at
 * once where they can. Tensors go from step to step in the memory that they were made in.
 * Thread-safe.
 */
final class EnsembleRun {
  private final ModelSpec ensemble;
  private final Map<String, Servable> versions;
  private final ComposedRun run;
  private final Map<EnsembleStep, List<String>> handedOn;

  // Guarded by this.
  private final Map<String, InputTensor> tensors = new HashMap<>();
  private final Map<String, OutputTensor> answer = new HashMap<>();
  private final List<EnsembleStep> waiting;
  private int left;

  /**
   * @param versions of the models that it calls, held as long as the run
   * @param handedOn by step, outputs that nobody gets but other steps
   */
  EnsembleRun(
      ModelSpec ensemble,
      Map<String, Servable> versions,
      Map<EnsembleStep, List<String>> handedOn,
      ComposedRun run) {
    this.handedOn = handedOn;
    this.ensemble = ensemble;
    this.versions = versions;
    this.run = run;
    waiting = new ArrayList<>(ensemble.steps());
    left = waiting.size();
  }

  void begin() {
    List<EnsembleStep> ready;
    synchronized (this) {
      for (InputTensor input : run.inputs()) {
        tensors.put(input.name(), input);
      }
      ready = takeReady();
    }
    ready.forEach(this::call);
  }

  private List<EnsembleStep> takeReady() {
    List<EnsembleStep> ready = new ArrayList<>(waiting.size());
    for (EnsembleStep step : waiting) {
      if (tensors.keySet().containsAll(step.inputs().values())) {
        ready.add(step);
      }
    }
    waiting.removeAll(ready);
    return ready;
  }

  private void call(EnsembleStep step) {
    List<InputTensor> inputs = new ArrayList<>(step.inputs().size());
    synchronized (this) {
      step.inputs()
          .forEach(
              (theirs, ours) -> {
                InputTensor made = Objects.requireNonNull(tensors.get(ours));
                inputs.add(new InputTensor(theirs, made.dtype(), made.shape(), made.data()));
              });
    }
    run.callStep(
        Objects.requireNonNull(versions.get(step.model())),
        inputs,
        List.copyOf(step.outputs().keySet()),
        Objects.requireNonNull(handedOn.get(step)),
        made -> answered(step, made));
  }

  private void answered(EnsembleStep step, Answer made) {
    List<EnsembleStep> ready;
    @Nullable List<OutputTensor> whole;
    synchronized (this) {
      for (InputTensor handed : made.handed()) {
        String ours = Objects.requireNonNull(step.outputs().get(handed.name()));
        tensors.put(ours, handed);
      }
      for (OutputTensor output : made.outputs()) {
        String ours = Objects.requireNonNull(step.outputs().get(output.name()));
        tensors.put(
            ours,
            new InputTensor(ours, output.dtype(), output.shape(), TensorData.of(output.data())));
        answer.put(ours, new OutputTensor(ours, output.dtype(), output.shape(), output.data()));
      }
      left--;
      ready = takeReady();
      whole = left > 0 ? null : outputs();
    }
    ready.forEach(this::call);
    if (whole != null) {
      var unused = run.complete(whole);
    }
  }

  /** The answer, once every step has ended. */
  private List<OutputTensor> outputs() {
    List<String> requested = run.request().requestedOutputs();
    List<OutputTensor> outputs = new ArrayList<>();
    for (TensorSpec output : ensemble.clientOutputs()) {
      if (requested.isEmpty() || requested.contains(output.name())) {
        outputs.add(Objects.requireNonNull(answer.get(output.name())));
      }
    }
    return outputs;
  }
}
