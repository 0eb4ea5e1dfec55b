package dev.roundhouse.worker.transport.v1;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.kserve.codec.ParameterValue;
import dev.roundhouse.kserve.codec.ResponseMessage;
import dev.roundhouse.kserve.codec.ResponseTensor;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.kserve.v1.proto.InferRequestHeader;
import dev.roundhouse.kserve.v1.proto.InferRequestHeader.Output;
import dev.roundhouse.kserve.v1.proto.InferResponseHeader;
import dev.roundhouse.kserve.v1.proto.InferResponseHeader.Output.Raw;
import dev.roundhouse.worker.transport.ModelConfigs;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Makes the v1 answer of a v2 answer. Pure. */
final class AnswerMapper {
  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0).asReadOnlyBuffer();
  private static final String SHARED_MEMORY_SIZE = "shared_memory_byte_size";

  private final InferRequestHeader asked;
  private final boolean isBatched;
  private final Map<String, DType> types = new HashMap<>();
  private final Set<String> asClasses = new HashSet<>();

  /**
   * @param asked the request
   * @param model that answers
   */
  AnswerMapper(InferRequestHeader asked, ModelSpec model) {
    this.asked = asked;
    isBatched = ModelConfigs.sharesAxis0(model);
    for (TensorSpec output : model.clientOutputs()) {
      types.put(output.name(), output.dtype());
    }
    for (Output output : asked.getOutputList()) {
      if (output.hasCls()) {
        asClasses.add(output.getName());
      }
    }
  }

  /**
   * @param raw bytes of each output, in their order; none of those that were written to shared
   *     memory, and of those that are told as classes. Borrowed from the answer
   */
  record Mapped(InferResponseHeader header, List<ByteBuffer> raw) {}

  /**
   * @throws WireException UNIMPLEMENTED when an output is of a type that v1 does not have
   */
  Mapped map(ResponseMessage answer) {
    InferResponseHeader.Builder header =
        InferResponseHeader.newBuilder()
            .setId(asked.getId())
            .setModelName(answer.modelName())
            .setModelVersion(Long.parseLong(answer.modelVersion()))
            .setBatchSize(asked.getBatchSize());
    List<ByteBuffer> raw = new ArrayList<>(answer.outputs().size());
    for (ResponseTensor output : inOrder(answer.outputs())) {
      InferResponseHeader.Output.Builder told = header.addOutputBuilder().setName(output.name());
      told.setDataType(V1Types.of(types.getOrDefault(output.name(), output.dtype())));
      if (asClasses.contains(output.name())) {
        told.addAllBatchClasses(ClassTexts.rows(output.shape(), output.data()));
        raw.add(NOTHING);
      } else {
        requireType(output);
        told.setRaw(raw(output));
        raw.add(output.data());
      }
    }
    return new Mapped(header.build(), raw);
  }

  /** True when there is more to write than what tensors are called. */
  boolean hasClasses() {
    return !asClasses.isEmpty();
  }

  /** What is told when there is no answer: whose it would have been. */
  InferResponseHeader failed() {
    return InferResponseHeader.newBuilder().setId(asked.getId()).build();
  }

  private List<ResponseTensor> inOrder(List<ResponseTensor> outputs) {
    Map<String, ResponseTensor> left = new LinkedHashMap<>();
    outputs.forEach(output -> left.put(output.name(), output));
    List<ResponseTensor> ordered = new ArrayList<>(outputs.size());
    for (Output wanted : asked.getOutputList()) {
      ResponseTensor output = left.remove(wanted.getName());
      if (output != null) {
        ordered.add(output);
      }
    }
    ordered.addAll(left.values());
    return ordered;
  }

  private static void requireType(ResponseTensor output) {
    if (!V1Types.isKnown(output.dtype())) {
      throw new WireException(
          WireStatus.UNIMPLEMENTED,
          "output '%s' is %s, which the v1 protocol has no type for; ask by v2, or for other outputs"
              .formatted(output.name(), output.dtype().wireName()));
    }
  }

  private Raw raw(ResponseTensor output) {
    long[] shape = output.shape().dims();
    Raw.Builder raw = Raw.newBuilder();
    for (int axis = isBatched ? 1 : 0; axis < shape.length; axis++) {
      raw.addDims(shape[axis]);
    }
    // written elsewhere, it has no bytes here
    long bytes =
        output.parameters().get(SHARED_MEMORY_SIZE) instanceof ParameterValue.Signed(long size)
            ? size
            : output.data().remaining();
    return raw.setBatchByteSize(bytes).build();
  }
}
