package dev.roundhouse.kserve.codec;

import static dev.roundhouse.kserve.codec.WireTag.bytes;
import static dev.roundhouse.kserve.codec.WireTag.varint;

import dev.roundhouse.kserve.proto.InferTensorContents;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Reads one input: its name, datatype, shape, parameters and typed contents. */
final class InputReader {
  private static final int NAME = bytes(InferInputTensor.NAME_FIELD_NUMBER);
  private static final int DATATYPE = bytes(InferInputTensor.DATATYPE_FIELD_NUMBER);
  private static final int PARAMETERS = bytes(InferInputTensor.PARAMETERS_FIELD_NUMBER);
  private static final int CONTENTS = bytes(InferInputTensor.CONTENTS_FIELD_NUMBER);
  private static final int EXTENT = varint(InferInputTensor.SHAPE_FIELD_NUMBER);
  private static final int SHAPE = bytes(InferInputTensor.SHAPE_FIELD_NUMBER);

  private final MessageInput in;
  private final int index;
  private final InferInputTensor.Builder input = InferInputTensor.newBuilder();
  private InferTensorContents.@Nullable Builder contents;

  InputReader(MessageInput in, int index) {
    this.in = in;
    this.index = index;
  }

  InferInputTensor read() throws IOException {
    in.nested(this::field);
    if (contents != null) {
      input.setContents(contents);
    }
    return input.build();
  }

  private boolean field(int tag) throws IOException {
    if (tag == NAME) {
      input.setName(in.name("the name of an input"));
    } else if (tag == DATATYPE) {
      input.setDatatype(in.name("the datatype of an input"));
    } else if (tag == SHAPE) {
      in.packed(this::extent);
    } else if (tag == EXTENT) {
      extent();
    } else if (tag == PARAMETERS) {
      ParameterReader.read(in, input::putParameters);
    } else if (tag == CONTENTS) {
      if (contents == null) {
        contents = InferTensorContents.newBuilder();
      }
      ContentsReader.read(in, contents);
    } else {
      return false;
    }
    return true;
  }

  private void extent() throws IOException {
    int present = input.getShapeCount();
    if (present == MessageLimits.DIMENSIONS) {
      throw MessageInput.exceeded(
          "the shape of input " + index,
          (present + 1) + " or more dimensions",
          MessageLimits.DIMENSIONS);
    }
    input.addShape(in.coded().readInt64());
  }
}
