package dev.roundhouse.bundle;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.InitialState;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.SequencePolicy;
import dev.roundhouse.bundle.model.SequencePolicy.State;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.Variant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Reads the files that the state of sequences begins with, each once. */
final class StateFiles {
  /** They stay in memory as long as the model does. */
  static final int MOST_BYTES = 64 << 20;

  private final AssetFiles assets;
  private final Map<String, byte[]> read = new HashMap<>();

  StateFiles(AssetFiles assets) {
    this.assets = assets;
  }

  /**
   * The model with what those files hold.
   *
   * @throws BundleException when one is missing, changed, too large or not of its state's size
   */
  ModelSpec readInto(ModelSpec spec) {
    SequencePolicy policy = spec.serving().sequence().orElse(null);
    if (policy == null) {
      return spec;
    }
    List<State> states =
        policy.state().stream()
            .map(state -> state.initial().file().map(file -> read(spec, state, file)).orElse(state))
            .toList();
    return spec.withSequence(new SequencePolicy(policy.idle(), policy.controls(), states));
  }

  private State read(ModelSpec spec, State state, String file) {
    byte[] bytes =
        read.computeIfAbsent(file, name -> assets.read(name, "initial state", MOST_BYTES));
    TensorSpec tensor =
        spec.inputs().stream()
            .filter(input -> input.name().equals(state.input()))
            .findFirst()
            .orElseThrow();
    if (tensor.axes().stream().noneMatch(Axis.Variable.class::isInstance)) { // or it is refused
      long needed = tensor.resolve(1, Variant.SINGLE).byteSize();
      if (bytes.length != needed) {
        throw new BundleException(
            assets.path(file).toString(),
            "has %d bytes and the state '%s' begins with it and has %d; write one row of it, row-major and little-endian"
                .formatted(bytes.length, state.input(), needed));
      }
    }
    return new State(state.input(), state.output(), InitialState.of(file).withBytes(bytes));
  }
}
