package dev.roundhouse.worker.transport;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.SequencePolicy;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.engine.ServingRules;
import dev.roundhouse.kserve.codec.DataTypes;
import dev.roundhouse.kserve.proto.ModelSequenceBatching;
import dev.roundhouse.kserve.proto.ModelSequenceBatching.Control;
import dev.roundhouse.kserve.proto.ModelSequenceBatching.ControlInput;
import dev.roundhouse.kserve.proto.ModelSequenceBatching.InitialState;
import dev.roundhouse.kserve.proto.ModelSequenceBatching.State;
import dev.roundhouse.kserve.proto.ModelSequenceBatching.StrategyOldest;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Says what a model's sequences are fed and what is kept of them, in Triton's form. */
final class SequenceConfig {
  private SequenceConfig() {}

  /** Steps of any sequences run together, those that came first before others: "oldest". */
  static ModelSequenceBatching of(
      ModelSpec spec, SequencePolicy policy, ServingRules rules, int maxBatchSize) {
    ModelSequenceBatching.Builder batching =
        ModelSequenceBatching.newBuilder()
            .setMaxSequenceIdleMicroseconds(TimeUnit.NANOSECONDS.toMicros(policy.idle().toNanos()))
            .setOldest(
                StrategyOldest.newBuilder()
                    .setMaxCandidateSequences(rules.queueLimit())
                    .addAllPreferredBatchSize(ModelConfigs.preferredSizes(rules, maxBatchSize))
                    .setMaxQueueDelayMicroseconds(
                        TimeUnit.NANOSECONDS.toMicros(rules.maxQueueDelay().toNanos()))
                    .setPreserveOrdering(true));
    var controls = policy.controls();
    controls
        .start()
        .ifPresent(
            name ->
                batching.addControlInput(flag(spec, name, Control.Kind.CONTROL_SEQUENCE_START)));
    controls
        .end()
        .ifPresent(
            name -> batching.addControlInput(flag(spec, name, Control.Kind.CONTROL_SEQUENCE_END)));
    controls
        .ready()
        .ifPresent(
            name ->
                batching.addControlInput(flag(spec, name, Control.Kind.CONTROL_SEQUENCE_READY)));
    controls
        .correlationId()
        .ifPresent(
            name ->
                batching.addControlInput(
                    input(
                        name,
                        Control.newBuilder()
                            .setKind(Control.Kind.CONTROL_SEQUENCE_CORRID)
                            .setDataType(DataTypes.of(find(spec.inputs(), name).dtype())))));
    for (SequencePolicy.State state : policy.state()) {
      batching.addState(state(spec, state, maxBatchSize));
    }
    return batching.build();
  }

  private static ControlInput flag(ModelSpec spec, String name, Control.Kind kind) {
    Control.Builder control = Control.newBuilder().setKind(kind);
    switch (find(spec.inputs(), name).dtype()) {
      case F32 -> control.addAllFp32FalseTrue(List.of(0f, 1f));
      case I32 -> control.addAllInt32FalseTrue(List.of(0, 1));
      default -> control.addAllBoolFalseTrue(List.of(false, true));
    }
    return input(name, control);
  }

  private static ControlInput input(String name, Control.Builder control) {
    return ControlInput.newBuilder().setName(name).addControl(control).build();
  }

  private static State state(ModelSpec spec, SequencePolicy.State state, int maxBatchSize) {
    TensorSpec tensor = find(spec.inputs(), state.input());
    List<Long> dims = ModelConfigs.dims(tensor.wireShape(), maxBatchSize);
    return State.newBuilder()
        .setInputName(state.input())
        .setOutputName(state.output())
        .setDataType(DataTypes.of(tensor.dtype()))
        .addAllDims(dims)
        .addInitialState(initial(state).setDataType(DataTypes.of(tensor.dtype())).addAllDims(dims))
        .build();
  }

  private static InitialState.Builder initial(SequencePolicy.State state) {
    InitialState.Builder initial = InitialState.newBuilder().setName(state.initial().toString());
    state.initial().file().ifPresentOrElse(initial::setDataFile, () -> initial.setZeroData(true));
    return initial;
  }

  private static TensorSpec find(List<TensorSpec> tensors, String name) {
    return tensors.stream().filter(each -> each.name().equals(name)).findFirst().orElseThrow();
  }
}
