package dev.roundhouse.worker.transport.v1;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.kserve.codec.MessageLimits;
import dev.roundhouse.kserve.codec.OutputHeader;
import dev.roundhouse.kserve.codec.ParameterValue;
import dev.roundhouse.kserve.codec.ReadMessage;
import dev.roundhouse.kserve.codec.TensorHeader;
import dev.roundhouse.kserve.codec.TensorSource;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.v1.proto.InferRequestHeader;
import dev.roundhouse.kserve.v1.proto.InferRequestHeader.Input;
import dev.roundhouse.kserve.v1.proto.InferRequestHeader.Output;
import dev.roundhouse.worker.transport.ModelConfigs;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Makes the v2 request of a v1 request. Pure; what v2 checks is left to it. */
final class RequestMapper {
  private final AskedModel asked;
  private final InferRequestHeader header;
  private final boolean isBatched;
  private final Map<String, TensorSpec> known = new HashMap<>();

  private RequestMapper(AskedModel asked, ModelSpec model) {
    this.asked = asked;
    header = asked.header();
    isBatched = ModelConfigs.sharesAxis0(model);
    model.clientInputs().forEach(input -> known.put(input.name(), input));
  }

  /**
   * @param model whose contract says what the request leaves out
   * @throws WireException INVALID_ARGUMENT for what no v2 request can say
   */
  static ReadMessage map(AskedModel asked, ModelSpec model, RawInputs raw) {
    return new RequestMapper(asked, model).map(raw);
  }

  private ReadMessage map(RawInputs raw) {
    requireCounts();
    requireBatchSize();
    List<TensorHeader> inputs = new ArrayList<>(header.getInputCount());
    for (Input input : header.getInputList()) {
      inputs.add(input(input, raw));
    }
    raw.requireEnd();
    List<OutputHeader> outputs = new ArrayList<>(header.getOutputCount());
    for (Output output : header.getOutputList()) {
      outputs.add(output(output));
    }
    return new ReadMessage(
        asked.name(),
        asked.versionText(),
        asked.id(),
        HeaderParameters.of(header),
        inputs,
        outputs,
        raw.memory());
  }

  private void requireCounts() {
    if (header.getInputCount() > MessageLimits.INPUTS) {
      throw MessageLimits.exceeded(
          "the request", header.getInputCount() + " inputs", MessageLimits.INPUTS);
    }
    if (header.getOutputCount() > MessageLimits.OUTPUTS) {
      throw MessageLimits.exceeded(
          "the request", header.getOutputCount() + " outputs", MessageLimits.OUTPUTS);
    }
  }

  private void requireBatchSize() {
    long rows = rows();
    if (rows < 1) {
      throw WireException.invalidArgument("batch_size is 0; it must be 1 or more");
    }
    if (rows > 1 && !isBatched) {
      throw WireException.invalidArgument(
          "batch_size is %d and model '%s' does not batch; it must be 1"
              .formatted(rows, asked.name()));
    }
  }

  private long rows() {
    return Integer.toUnsignedLong(header.getBatchSize());
  }

  private TensorHeader input(Input input, RawInputs raw) {
    MessageLimits.requireName("the name of an input", input.getName());
    TensorSpec spec = known.get(input.getName());
    if (spec == null) {
      throw WireException.invalidArgument(
          "model '%s' has no input '%s'; it has %s"
              .formatted(asked.name(), input.getName(), known.keySet().stream().sorted().toList()));
    }
    requireType(spec);
    long[] shape = shape(input, spec);
    long byteSize = byteSize(input, spec.dtype(), shape);
    if (!input.hasSharedMemory()) {
      return new TensorHeader(
          input.getName(),
          spec.dtype().wireName(),
          shape,
          Map.of(),
          new TensorSource.Raw(raw.next(input.getName(), byteSize)));
    }
    raw.skip(input.getName());
    long shared = input.getSharedMemory().getByteSize();
    if (byteSize != RawInputs.UNKNOWN && byteSize != shared) {
      throw WireException.invalidArgument(
          "input '%s' has %s bytes by shared_memory.byte_size and %d by batch_byte_size, dims and batch_size"
              .formatted(input.getName(), Long.toUnsignedString(shared), byteSize));
    }
    return new TensorHeader(
        input.getName(),
        spec.dtype().wireName(),
        shape,
        HeaderParameters.place(input.getName(), input.getSharedMemory()),
        TensorSource.NONE);
  }

  /** v1 has no word for some types, and so no client that could fill or read them. */
  private void requireType(TensorSpec tensor) {
    if (!V1Types.isKnown(tensor.dtype())) {
      throw WireException.invalidArgument(
          "'%s' of model '%s' is %s, which the v1 protocol has no type for; ask by v2"
              .formatted(tensor.name(), asked.name(), tensor.dtype().wireName()));
    }
  }

  private long[] shape(Input input, TensorSpec spec) {
    List<Long> dims = input.getDimsList();
    if (dims.size() >= MessageLimits.DIMENSIONS) {
      throw MessageLimits.exceeded(
          "input '" + input.getName() + "'", dims.size() + " dims", MessageLimits.DIMENSIONS - 1);
    }
    List<Long> rows = isBatched ? List.of(rows()) : List.of();
    List<Long> whole = new ArrayList<>(rows);
    whole.addAll(dims.isEmpty() ? ofModel(spec) : dims);
    return whole.stream().mapToLong(Long::longValue).toArray();
  }

  private List<Long> ofModel(TensorSpec spec) {
    List<Long> dims = new ArrayList<>(spec.rank());
    for (Axis axis : spec.axes().subList(isBatched ? 1 : 0, spec.rank())) {
      if (!(axis instanceof Axis.Fixed(long extent))) {
        throw WireException.invalidArgument(
            "dims of input '%s' are missing, and model '%s' has %s for it, where -1 may be of any size; say all of them"
                .formatted(spec.name(), asked.name(), spec.wireShape()));
      }
      dims.add(extent);
    }
    return dims;
  }

  /** Of all rows; what the request says and what its shape makes must agree. */
  private static long byteSize(Input input, DType dtype, long[] shape) {
    long told =
        HeaderParameters.signed(
            "batch_byte_size of input '" + input.getName() + "'", input.getBatchByteSize());
    if (dtype == DType.BYTES) {
      return told == 0 && elements(input, shape, 1) != 0 ? RawInputs.UNKNOWN : told;
    }
    long made = elements(input, shape, dtype.byteSize());
    if (told != 0 && told != made) {
      throw WireException.invalidArgument(
          "batch_byte_size of input '%s' is %d, and its dims, batch_size and type make %d bytes"
              .formatted(input.getName(), told, made));
    }
    return made;
  }

  private static long elements(Input input, long[] shape, int byteSize) {
    long product = byteSize;
    for (long extent : shape) {
      if (extent < 0) {
        throw WireException.invalidArgument(
            "dims of input '%s' are %s; those of data are 0 or more"
                .formatted(input.getName(), input.getDimsList()));
      }
      try {
        product = Math.multiplyExact(product, extent);
      } catch (ArithmeticException e) {
        throw WireException.invalidArgument(
            "dims of input '%s' are %s, which is more than %d bytes"
                .formatted(input.getName(), input.getDimsList(), Long.MAX_VALUE));
      }
    }
    return product;
  }

  private static OutputHeader output(Output output) {
    MessageLimits.requireName("the name of an output", output.getName());
    Map<String, ParameterValue> parameters = new LinkedHashMap<>();
    if (output.hasSharedMemory()) {
      parameters.putAll(HeaderParameters.place(output.getName(), output.getSharedMemory()));
    }
    if (output.hasCls()) {
      long count = Integer.toUnsignedLong(output.getCls().getCount());
      if (count == 0) {
        throw WireException.invalidArgument(
            "cls.count of output '%s' is 0; it must be 1 or more, or leave out cls"
                .formatted(output.getName()));
      }
      parameters.put("classification", new ParameterValue.Signed(count));
    }
    return new OutputHeader(output.getName(), parameters);
  }
}
