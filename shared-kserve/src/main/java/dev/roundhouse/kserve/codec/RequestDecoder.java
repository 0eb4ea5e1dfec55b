package dev.roundhouse.kserve.codec;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferRequestedOutputTensor;
import dev.roundhouse.kserve.status.WireException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Decodes ModelInfer requests. Raw payloads are not copied: tensors share memory with the message.
 */
public final class RequestDecoder {
  private RequestDecoder() {}

  /**
   * @throws WireException INVALID_ARGUMENT for whatever is wrong in the message itself,
   *     UNIMPLEMENTED for extensions that are not served
   */
  public static WireRequest decode(ModelInferRequest request) {
    if (request.getModelName().isEmpty()) {
      throw WireException.invalidArgument("Model name cannot be empty");
    }
    String version = ModelVersion.parse(request.getModelVersion());
    Parameters.checkReserved(request.getParametersMap());
    return new WireRequest(
        request.getModelName(),
        version,
        request.getId(),
        inputs(request),
        outputs(request),
        Parameters.timeoutNanos(request.getParametersMap()),
        Parameters.priority(request.getParametersMap()),
        Parameters.queueTimeoutNanos(request.getParametersMap()));
  }

  private static List<WireTensor> inputs(ModelInferRequest request) {
    String model = request.getModelName();
    int rawCount = request.getRawInputContentsCount();
    int count = request.getInputsCount();
    if (rawCount > count) {
      throw WireException.invalidArgument(
          "raw_input_contents has "
              + rawCount
              + " entries for model '"
              + model
              + "', but the request has "
              + count
              + " inputs; send one entry for each input");
    }
    List<WireTensor> tensors = new ArrayList<>(count);
    Set<String> names = HashSet.newHashSet(count);
    for (int i = 0; i < count; i++) {
      InferInputTensor input = request.getInputs(i);
      InputPlace place = new InputPlace(input.getName(), model);
      if (!names.add(input.getName())) {
        throw WireException.invalidArgument("input " + place + " already exists in request");
      }
      tensors.add(input(request, i, input, place));
    }
    return tensors;
  }

  private static WireTensor input(
      ModelInferRequest request, int index, InferInputTensor input, InputPlace place) {
    Parameters.checkTensor(input.getParametersMap(), input.getName());
    DType dtype =
        DType.fromKserveName(input.getDatatype())
            .orElseThrow(
                () ->
                    WireException.invalidArgument(
                        "invalid datatype '"
                            + input.getDatatype()
                            + "' for input "
                            + place
                            + "; datatypes are BOOL, UINT8 to UINT64, INT8 to INT64, FP16, BF16,"
                            + " FP32, FP64 and BYTES"));
    Shape shape = SizeCheck.shape(input, place);
    long elementCount = SizeCheck.elementCount(shape, place);
    ByteBuffer data =
        request.getRawInputContentsCount() > 0
            ? raw(request, index, input, dtype, elementCount, place)
            : typed(input, dtype, elementCount, place);
    return new WireTensor(input.getName(), dtype, shape, data);
  }

  private static ByteBuffer raw(
      ModelInferRequest request,
      int index,
      InferInputTensor input,
      DType dtype,
      long elementCount,
      InputPlace place) {
    if (input.hasContents()) {
      throw WireException.invalidArgument(
          "contents field must not be specified when using raw_input_contents for " + place);
    }
    if (index >= request.getRawInputContentsCount()) {
      throw noData(place);
    }
    ByteBuffer data = request.getRawInputContents(index).asReadOnlyByteBuffer();
    if (dtype == DType.BYTES) {
      BytesElements.check(data, elementCount, place);
    } else {
      SizeCheck.requireBytes(elementCount, dtype, data.remaining(), place);
    }
    return data;
  }

  private static ByteBuffer typed(
      InferInputTensor input, DType dtype, long elementCount, InputPlace place) {
    if (!input.hasContents()) {
      throw noData(place);
    }
    return TypedContents.toRaw(input.getContents(), dtype, elementCount, place);
  }

  private static WireException noData(InputPlace place) {
    return WireException.invalidArgument(
        "unable to find data for input tensor " + place + " in request.");
  }

  private static List<String> outputs(ModelInferRequest request) {
    int count = request.getOutputsCount();
    if (count == 0) {
      return List.of();
    }
    List<String> outputs = new ArrayList<>(count);
    Set<String> names = HashSet.newHashSet(count);
    for (int i = 0; i < count; i++) {
      InferRequestedOutputTensor output = request.getOutputs(i);
      Parameters.checkTensor(output.getParametersMap(), output.getName());
      if (!names.add(output.getName())) {
        throw WireException.invalidArgument(
            "output '"
                + output.getName()
                + "' for model '"
                + request.getModelName()
                + "' already exists in request");
      }
      outputs.add(output.getName());
    }
    return outputs;
  }
}
