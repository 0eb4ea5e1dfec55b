package dev.roundhouse.engine.sequence;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.SequencePolicy;
import dev.roundhouse.bundle.model.SequencePolicy.Controls;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.Variant;
import dev.roundhouse.bundle.request.SequenceStep;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.queue.Admitted;
import dev.roundhouse.engine.queue.RefusedException;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.engine.state.StateTensors;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * What the server feeds a model, and keeps of its outputs, from one request of a sequence to the
 * next. Immutable; one for each version served.
 */
public final class SequenceRules {
  /**
   * Smaller state goes through the host, so that the steps of several sequences share a run; larger
   * stays on the device, and each step has a run of its own. docs/decisions/0029-device-state.md
   * has the figures.
   */
  static final long ON_DEVICE_FROM_BYTES = 256 << 10;

  private static final Set<DType> FLAGS = EnumSet.of(DType.F32, DType.I32, DType.BOOL);
  private static final Set<DType> NUMBERS = EnumSet.of(DType.U64, DType.I64, DType.U32, DType.I32);

  /** The source of one of the program's inputs. */
  private sealed interface Source {
    record Client(int index) implements Source {}

    record State(int index) implements Source {}

    record Flag(Control control) implements Source {}

    record Number() implements Source {}
  }

  private enum Control {
    START,
    END,
    READY
  }

  private final String modelName;
  private final boolean batched;
  private final Duration idle;
  private final List<TensorSpec> inputs;
  private final List<Source> sources; // by input of the program
  private final int[] visible; // outputs of the program that clients get
  private final int[] kept; // outputs that become state
  private final int[] stateBytes;
  private final long allStateBytes;
  private final StateTensors stateTensors;
  private final boolean staysOnDevice;

  private SequenceRules(ModelSpec spec, SequencePolicy policy) {
    modelName = spec.name();
    batched = spec.isBatched();
    idle = policy.idle();
    inputs = spec.inputs();
    sources = sources(spec, policy);
    visible =
        IntStream.range(0, spec.outputs().size())
            .filter(i -> !policy.keeps(spec.outputs().get(i).name()))
            .toArray();
    List<String> outputs = spec.outputs().stream().map(TensorSpec::name).toList();
    kept = policy.state().stream().mapToInt(state -> outputs.indexOf(state.output())).toArray();
    stateBytes =
        IntStream.of(kept)
            .mapToObj(spec.outputs()::get)
            .mapToInt(output -> bytesOfOneRow(spec, output))
            .toArray();
    allStateBytes = IntStream.of(stateBytes).asLongStream().sum();
    List<String> names = inputs.stream().map(TensorSpec::name).toList();
    stateTensors =
        new StateTensors(
            policy.state().stream().mapToInt(state -> names.indexOf(state.input())).toArray(),
            kept,
            stateBytes,
            policy.state().stream().map(SequencePolicy.State::initial).toList());
    staysOnDevice =
        allStateBytes >= ON_DEVICE_FROM_BYTES && (!batched || spec.batchSizes().contains(1));
    if (visible.length == 0) {
      throw refused(spec, "keeps every output, so that no request has an answer");
    }
  }

  /**
   * The rules of a model; null when it keeps nothing between requests.
   *
   * @throws BundleException when its manifest asks for what cannot be fed or kept
   */
  public static @Nullable SequenceRules of(ModelSpec spec) {
    return spec.serving().sequence().map(policy -> new SequenceRules(spec, policy)).orElse(null);
  }

  private static List<Source> sources(ModelSpec spec, SequencePolicy policy) {
    List<Source> sources = new ArrayList<>();
    int clients = 0;
    for (TensorSpec input : spec.inputs()) {
      Source fed = fed(spec, policy, input);
      sources.add(fed == null ? new Source.Client(clients++) : fed);
    }
    return sources;
  }

  private static @Nullable Source fed(ModelSpec spec, SequencePolicy policy, TensorSpec input) {
    List<SequencePolicy.State> state = policy.state();
    for (int i = 0; i < state.size(); i++) {
      if (state.get(i).input().equals(input.name())) {
        requireOneRow(spec, input);
        return new Source.State(i);
      }
    }
    Controls controls = policy.controls();
    Optional<String> name = Optional.of(input.name());
    if (name.equals(controls.correlationId())) {
      requireControl(spec, input, NUMBERS);
      return new Source.Number();
    }
    Control control =
        name.equals(controls.start())
            ? Control.START
            : name.equals(controls.end())
                ? Control.END
                : name.equals(controls.ready()) ? Control.READY : null;
    if (control == null) {
      return null;
    }
    requireControl(spec, input, FLAGS);
    return new Source.Flag(control);
  }

  private static void requireControl(ModelSpec spec, TensorSpec input, Set<DType> dtypes) {
    requireOneRow(spec, input);
    if (!dtypes.contains(input.dtype())) {
      throw refused(
          spec,
          "feeds input '%s', which is %s and may be %s"
              .formatted(
                  input.name(),
                  input.dtype().token(),
                  dtypes.stream().map(DType::token).sorted().toList()));
    }
    long elements = input.resolve(1, Variant.SINGLE).shape().elementCount();
    if (elements != 1) {
      throw refused(
          spec,
          "feeds input '%s', which has %d elements for a request and may have 1"
              .formatted(input.name(), elements));
    }
  }

  /** State must have the same size in every request, and belong to one request of a batch. */
  private static void requireOneRow(ModelSpec spec, TensorSpec tensor) {
    if (tensor.axes().stream().anyMatch(Axis.Variable.class::isInstance)) {
      throw refused(
          spec,
          "feeds or keeps '%s', which has an axis that varies; give it fixed extents"
              .formatted(tensor.name()));
    }
    if (spec.isBatched() && !tensor.isBatched()) {
      throw refused(
          spec,
          "feeds or keeps '%s', which has no batch axis, so that sequences would share it"
              .formatted(tensor.name()));
    }
  }

  private static int bytesOfOneRow(ModelSpec spec, TensorSpec output) {
    requireOneRow(spec, output);
    long bytes = output.resolve(1, Variant.SINGLE).byteSize();
    if (bytes > Integer.MAX_VALUE) {
      throw refused(
          spec,
          "keeps '%s' of %d bytes and the limit is %d"
              .formatted(output.name(), bytes, Integer.MAX_VALUE));
    }
    return (int) bytes;
  }

  private static BundleException refused(ModelSpec spec, String what) {
    return new BundleException(spec.name(), "serving.sequence " + what);
  }

  String modelName() {
    return modelName;
  }

  /** How long after its last step a sequence is forgotten. */
  Duration idle() {
    return idle;
  }

  /** Bytes of state per sequence. */
  public long stateBytes() {
    return allStateBytes;
  }

  /**
   * True when state stays on the device from step to step. The steps of several sequences do not
   * run together then: there is a program for one row.
   */
  public boolean staysOnDevice() {
    return staysOnDevice;
  }

  StateTensors stateTensors() {
    return stateTensors;
  }

  int stateCount() {
    return kept.length;
  }

  /**
   * The inputs and outputs of a step, in the program's terms.
   *
   * @param found what its caller sent and wants
   * @throws RefusedException when a sequence cannot have such a step
   */
  Admitted complete(Admitted found, SequenceStep step, Sequence sequence) throws RefusedException {
    if (batched && found.rows() != 1) {
      throw RefusedException.invalid(
          "inference request to model '%s' must specify batch-size 1 due to requirements of sequence batcher, got %d"
              .formatted(modelName, found.rows()));
    }
    List<InputTensor> all = new ArrayList<>(inputs.size());
    long fedBytes = 0;
    for (int i = 0; i < inputs.size(); i++) {
      InputTensor input =
          sources.get(i) instanceof Source.Client(int index)
              ? found.inputs().get(index)
              : fed(inputs.get(i), sources.get(i), step, sequence);
      all.add(input);
      fedBytes += sources.get(i) instanceof Source.Client ? 0 : input.data().heldBytes();
    }
    return new Admitted(
        found.rows(),
        found.variant(),
        all,
        found.inputBytes() + fedBytes,
        found.answerBytes() + allStateBytes,
        outputs(found.outputs()));
  }

  /** Outputs for the caller, in its order, then those that are kept. */
  private int[] outputs(int @Nullable [] requested) {
    int count = requested == null ? visible.length : requested.length;
    int[] all = new int[count + kept.length];
    for (int i = 0; i < count; i++) {
      all[i] = visible[requested == null ? i : requested[i]];
    }
    System.arraycopy(kept, 0, all, count, kept.length);
    return all;
  }

  private InputTensor fed(TensorSpec input, Source source, SequenceStep step, Sequence sequence)
      throws RefusedException {
    TensorType type = input.resolve(1, Variant.SINGLE);
    Shape shape = type.shape();
    TensorData data =
        switch (source) {
          case Source.Client client -> throw new IllegalArgumentException(input.name());
          case Source.State(int index) -> sequence.state(index, stateBytes[index]);
          case Source.Flag(Control control) ->
              TensorData.of(
                  number(
                      input,
                      switch (control) {
                        case START -> step.start() ? 1 : 0;
                        case END -> step.end() ? 1 : 0;
                        case READY -> 1;
                      }));
          case Source.Number() -> TensorData.of(number(input, correlation(input, step.id())));
        };
    return new InputTensor(input.name(), input.dtype(), shape, data);
  }

  private long correlation(TensorSpec input, SequenceStep.Id id) throws RefusedException {
    if (!id.text().isEmpty()) {
      throw RefusedException.invalid(
          "model '%s' takes the sequence_id as input '%s' of %s; send a number, not '%s'"
              .formatted(modelName, input.name(), input.dtype().wireName(), id.text()));
    }
    long number = id.number();
    boolean fits =
        switch (input.dtype()) {
          case U32 -> number >>> 32 == 0;
          case I32 -> number == (int) number && number > 0;
          case I64 -> number > 0;
          default -> true;
        };
    if (!fits) {
      throw RefusedException.invalid(
          "sequence_id %s does not fit in input '%s' of model '%s', which is %s"
              .formatted(id, input.name(), modelName, input.dtype().wireName()));
    }
    return number;
  }

  private static byte[] number(TensorSpec input, long value) {
    ByteBuffer bytes = ByteBuffer.allocate(input.dtype().byteSize()).order(ByteOrder.LITTLE_ENDIAN);
    switch (input.dtype()) {
      case F32 -> bytes.putFloat(value);
      case I32, U32 -> bytes.putInt((int) value);
      case I64, U64 -> bytes.putLong(value);
      case BOOL -> bytes.put((byte) value);
      default -> throw new IllegalArgumentException(input.dtype() + " is fed to no model");
    }
    return bytes.array();
  }
}
