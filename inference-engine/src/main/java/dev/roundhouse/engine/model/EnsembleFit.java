package dev.roundhouse.engine.model;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.EnsembleStep;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.TensorSpec;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Whether an ensemble's steps fit the models that they call, and each other. */
final class EnsembleFit {
  /** A tensor of the ensemble as whatever makes it describes it. */
  private record Made(TensorSpec spec, String by) {}

  private final ModelSpec ensemble;
  private final Function<String, ModelSpec> called;
  private final Map<String, Made> made = new HashMap<>();

  private EnsembleFit(ModelSpec ensemble, Function<String, ModelSpec> called) {
    this.ensemble = ensemble;
    this.called = called;
  }

  /**
   * What does not fit, as the end of a sentence that begins with the ensemble; empty when all does.
   *
   * @param called the models that it calls, by name
   */
  static String misfit(ModelSpec ensemble, Function<String, ModelSpec> called) {
    String misfit = new EnsembleFit(ensemble, called).misfit();
    return misfit == null ? "" : misfit;
  }

  private @Nullable String misfit() {
    for (TensorSpec input : ensemble.clientInputs()) {
      made.put(input.name(), new Made(input, "callers send"));
    }
    for (EnsembleStep step : ensemble.steps()) {
      String misfit = outputs(step);
      if (misfit != null) {
        return misfit;
      }
    }
    for (EnsembleStep step : ensemble.steps()) {
      String misfit = inputs(step);
      if (misfit != null) {
        return misfit;
      }
    }
    for (EnsembleStep step : ensemble.steps()) {
      String misfit = rows(step);
      if (misfit != null) {
        return misfit;
      }
    }
    for (TensorSpec output : ensemble.clientOutputs()) {
      Made from = made.get(output.name());
      if (from != null && !fits(from.spec, output)) {
        return "answers with '%s' as %s, and %s %s"
            .formatted(output.name(), described(output), from.by, described(from.spec));
      }
    }
    return null;
  }

  private @Nullable String outputs(EnsembleStep step) {
    List<TensorSpec> theirs = called.apply(step.model()).clientOutputs();
    for (Map.Entry<String, String> output : step.outputs().entrySet()) {
      TensorSpec spec = find(theirs, output.getKey());
      if (spec == null) {
        return "calls '%s', which has no output '%s' but %s"
            .formatted(step.model(), output.getKey(), names(theirs));
      }
      made.put(output.getValue(), new Made(spec, "'" + step.model() + "' makes"));
    }
    return null;
  }

  private @Nullable String inputs(EnsembleStep step) {
    List<TensorSpec> theirs = called.apply(step.model()).clientInputs();
    for (TensorSpec input : theirs) {
      String tensor = step.inputs().get(input.name());
      if (tensor == null) {
        return "calls '%s', and its step gives it no '%s'".formatted(step.model(), input.name());
      }
      Made from = made.get(tensor);
      if (from != null && !fits(from.spec, input)) {
        return "calls '%s', whose input '%s' is %s, with '%s', which %s as %s"
            .formatted(
                step.model(),
                input.name(),
                described(input),
                tensor,
                from.by,
                described(from.spec));
      }
    }
    for (String name : step.inputs().keySet()) {
      if (find(theirs, name) == null) {
        return "calls '%s', which has no input '%s' but %s"
            .formatted(step.model(), name, names(theirs));
      }
    }
    return null;
  }

  /** Models with programs take any number of rows, if need be piece by piece. */
  private @Nullable String rows(EnsembleStep step) {
    ModelSpec theirs = called.apply(step.model());
    boolean isLimited =
        theirs.kind() == ModelSpec.Kind.META
            && theirs.isClientBatched()
            && !theirs.batchSizes().isEmpty();
    if (!isLimited || ensemble.batchSizes().isEmpty()) {
      return null; // or a request shows it
    }
    int most = theirs.batchSizes().getLast();
    int own = ensemble.batchSizes().getLast();
    return own <= most
        ? null
        : "takes %d rows at once, and calls '%s', which takes %d at most; make the largest of its batch_sizes %d, or that of '%s' %d"
            .formatted(own, step.model(), most, most, step.model(), own);
  }

  /**
   * Whether what one is may be what the other takes: sizes that are not fixed show in a request.
   */
  private static boolean fits(TensorSpec from, TensorSpec to) {
    if (from.dtype() != to.dtype() || from.rank() != to.rank()) {
      return false;
    }
    for (int axis = 0; axis < from.rank(); axis++) {
      if (from.axes().get(axis) instanceof Axis.Fixed(long extent)
          && to.axes().get(axis) instanceof Axis.Fixed(long other)
          && extent != other) {
        return false;
      }
    }
    return true;
  }

  private static String described(TensorSpec tensor) {
    return tensor.dtype() + tensor.wireShape().toString();
  }

  private static @Nullable TensorSpec find(List<TensorSpec> tensors, String name) {
    for (TensorSpec tensor : tensors) {
      if (tensor.name().equals(name)) {
        return tensor;
      }
    }
    return null;
  }

  private static List<String> names(List<TensorSpec> tensors) {
    return tensors.stream().map(TensorSpec::name).toList();
  }
}
