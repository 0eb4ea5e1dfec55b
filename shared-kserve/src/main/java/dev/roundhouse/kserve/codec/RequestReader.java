package dev.roundhouse.kserve.codec;

import static dev.roundhouse.kserve.codec.WireTag.bytes;

import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferRequestedOutputTensor;
import dev.roundhouse.kserve.status.WireException;
import java.io.IOException;
import java.io.InputStream;

/**
 * Reads ModelInferRequest under {@link MessageLimits}. Protobuf's own parser makes an object of
 * everything that a message names before anybody can say that it is too much: 400 MiB of one-byte
 * extents become gigabytes. Fields that are not known are skipped, not kept.
 */
public final class RequestReader {
  private static final int MODEL_NAME = bytes(ModelInferRequest.MODEL_NAME_FIELD_NUMBER);
  private static final int MODEL_VERSION = bytes(ModelInferRequest.MODEL_VERSION_FIELD_NUMBER);
  private static final int ID = bytes(ModelInferRequest.ID_FIELD_NUMBER);
  private static final int PARAMETERS = bytes(ModelInferRequest.PARAMETERS_FIELD_NUMBER);
  private static final int INPUTS = bytes(ModelInferRequest.INPUTS_FIELD_NUMBER);
  private static final int OUTPUTS = bytes(ModelInferRequest.OUTPUTS_FIELD_NUMBER);
  private static final int RAW = bytes(ModelInferRequest.RAW_INPUT_CONTENTS_FIELD_NUMBER);
  private static final int OUTPUT_NAME = bytes(InferRequestedOutputTensor.NAME_FIELD_NUMBER);
  private static final int OUTPUT_PARAMETERS =
      bytes(InferRequestedOutputTensor.PARAMETERS_FIELD_NUMBER);

  private final MessageInput in;
  private final ModelInferRequest.Builder request = ModelInferRequest.newBuilder();

  private RequestReader(MessageInput in) {
    this.in = in;
  }

  /**
   * Raw contents are copied once, out of {@code stream}.
   *
   * @param length of the message in bytes, negative when it is not known
   * @throws WireException INVALID_ARGUMENT when the message holds more than it may
   * @throws IOException when the bytes are not a message, or cannot be read
   */
  public static ModelInferRequest read(InputStream stream, int length) throws IOException {
    RequestReader reader = new RequestReader(MessageInput.of(stream, length));
    reader.in.fields(reader::field);
    return reader.request.build();
  }

  private boolean field(int tag) throws IOException {
    if (tag == RAW) {
      require(request.getRawInputContentsCount(), MessageLimits.RAW_CONTENTS, "raw_input_contents");
      request.addRawInputContents(in.bytes());
    } else if (tag == INPUTS) {
      require(request.getInputsCount(), MessageLimits.INPUTS, "inputs");
      request.addInputs(new InputReader(in, request.getInputsCount()).read());
    } else if (tag == OUTPUTS) {
      require(request.getOutputsCount(), MessageLimits.OUTPUTS, "outputs");
      request.addOutputs(output());
    } else if (tag == MODEL_NAME) {
      request.setModelName(in.name("model_name"));
    } else if (tag == MODEL_VERSION) {
      request.setModelVersion(in.name("model_version"));
    } else if (tag == ID) {
      request.setId(in.name("id"));
    } else if (tag == PARAMETERS) {
      ParameterReader.read(in, request::putParameters);
    } else {
      return false;
    }
    return true;
  }

  private InferRequestedOutputTensor output() throws IOException {
    InferRequestedOutputTensor.Builder output = InferRequestedOutputTensor.newBuilder();
    in.nested(
        tag -> {
          if (tag == OUTPUT_NAME) {
            output.setName(in.name("the name of an output"));
          } else if (tag == OUTPUT_PARAMETERS) {
            ParameterReader.read(in, output::putParameters);
          } else {
            return false;
          }
          return true;
        });
    return output.build();
  }

  private static void require(int present, int limit, String what) {
    if (present >= limit) {
      throw MessageInput.exceeded("the request", (present + 1) + " or more " + what, limit);
    }
  }
}
