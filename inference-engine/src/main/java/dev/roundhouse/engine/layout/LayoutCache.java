package dev.roundhouse.engine.layout;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.model.CompiledProgram;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * One layout for all similar programs: most models are copies of a few architectures, and shared
 * layouts stay in the processor's caches. A layout is dropped with its last program. Owned by the
 * dispatch thread.
 */
public final class LayoutCache {
  private final Map<Key, Shared> byKey = new HashMap<>();
  private final Map<ProgramLayout, Shared> byLayout = new IdentityHashMap<>();

  /** Where rows lie in what a program takes and returns, weights left out. */
  public ProgramLayout take(ModelSpec spec, CompiledProgram compiled) {
    Key key = Key.of(spec, compiled);
    Shared shared = byKey.get(key);
    if (shared == null) {
      shared =
          new Shared(
              key, new ProgramLayout(key.inputs, key.inputTypes, key.outputs, key.outputTypes));
      byKey.put(key, shared);
      byLayout.put(shared.layout, shared);
    }
    shared.users++;
    return shared.layout;
  }

  /** Gives back what {@link #take} returned, once for each time. */
  public void giveBack(ProgramLayout layout) {
    Shared shared = Objects.requireNonNull(byLayout.get(layout));
    if (--shared.users == 0) {
      byKey.remove(shared.key);
      byLayout.remove(layout);
    }
  }

  /** Different layouts in use. */
  public int size() {
    return byKey.size();
  }

  private static final class Shared {
    final Key key;
    final ProgramLayout layout;
    int users;

    Shared(Key key, ProgramLayout layout) {
      this.key = key;
      this.layout = layout;
    }
  }

  private record Key(
      List<TensorSpec> inputs,
      List<TensorType> inputTypes,
      List<TensorSpec> outputs,
      List<TensorType> outputTypes) {

    static Key of(ModelSpec spec, CompiledProgram compiled) {
      List<TensorType> inputs = compiled.program().parameters().subList(0, spec.inputs().size());
      List<TensorSpec> outputs = spec.outputs().stream().map(TensorSpec::withoutLabels).toList();
      return new Key(spec.inputs(), List.copyOf(inputs), outputs, compiled.program().results());
    }
  }
}
