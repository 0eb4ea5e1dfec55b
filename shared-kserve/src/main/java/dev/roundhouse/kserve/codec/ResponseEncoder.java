package dev.roundhouse.kserve.codec;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.kserve.proto.ModelInferResponse.InferOutputTensor;
import dev.roundhouse.kserve.status.WireException;
import java.util.List;

/**
 * Encodes ModelInfer responses, always in raw form: stock clients read typed contents of BYTES
 * only.
 */
public final class ResponseEncoder {
  private ResponseEncoder() {}

  /**
   * @param id of the request, echoed
   * @param outputs their data is not copied: the response takes it, and it must not change until
   *     the response is sent
   * @throws WireException INVALID_ARGUMENT when the response would be larger than a message can be
   */
  public static ModelInferResponse encode(
      String modelName, String modelVersion, String id, List<WireTensor> outputs) {
    requireFits(modelName, outputs);
    ModelInferResponse.Builder response =
        ModelInferResponse.newBuilder()
            .setModelName(modelName)
            .setModelVersion(modelVersion)
            .setId(id);
    for (int i = 0; i < outputs.size(); i++) {
      WireTensor output = outputs.get(i);
      response.addOutputs(metadata(output));
      response.addRawOutputContents(raw(output));
    }
    return response.build();
  }

  private static InferOutputTensor metadata(WireTensor output) {
    InferOutputTensor.Builder tensor =
        InferOutputTensor.newBuilder()
            .setName(output.name())
            .setDatatype(SizeCheck.wireName(output.dtype()));
    for (int axis = 0; axis < output.shape().rank(); axis++) {
      tensor.addShape(output.shape().dim(axis));
    }
    return tensor.build();
  }

  private static ByteString raw(WireTensor output) {
    return UnsafeByteOperations.unsafeWrap(output.data());
  }

  private static void requireFits(String modelName, List<WireTensor> outputs) {
    long byteSize = 0;
    for (int i = 0; i < outputs.size(); i++) {
      byteSize += outputs.get(i).data().remaining();
    }
    // names and shapes need a little room too
    long limit = Integer.MAX_VALUE - (1L << 20);
    if (byteSize > limit) {
      throw WireException.invalidArgument(
          "response of model '"
              + modelName
              + "' has "
              + byteSize
              + " bytes of output, a message holds "
              + limit
              + "; request fewer rows or name fewer outputs");
    }
  }
}
