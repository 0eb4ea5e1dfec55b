package dev.roundhouse.kserve.codec;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.kserve.status.WireException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;

/**
 * Says whether a request makes sense in itself, whatever transport it came by, and how many bytes
 * each of its tensors has. Raw payloads are not copied: tensors share memory with the message.
 */
public final class RequestCheck {
  private final ReadMessage message;

  private RequestCheck(ReadMessage message) {
    this.message = message;
  }

  /**
   * @throws WireException INVALID_ARGUMENT for whatever is wrong in the message itself
   */
  public static WireRequest check(InferMessage message) {
    return switch (message) {
      case KnownMessage known -> known.request();
      case ReadMessage read -> check(read);
    };
  }

  private static WireRequest check(ReadMessage message) {
    if (message.modelName().isEmpty()) {
      throw WireException.invalidArgument("Model name cannot be empty");
    }
    String version = ModelVersion.parse(message.modelVersion());
    Parameters.check(message.parameters());
    RequestCheck check = new RequestCheck(message);
    return new WireRequest(
        message.modelName(),
        version,
        message.id(),
        check.inputs(),
        check.outputs(),
        Parameters.options(message.parameters()),
        Parameters.wantsEmptyEnd(message.parameters()));
  }

  private List<WireInput> inputs() {
    List<TensorHeader> inputs = message.inputs();
    List<WireInput> tensors = new ArrayList<>(inputs.size());
    Names names = new Names(inputs.size());
    for (int i = 0; i < inputs.size(); i++) {
      TensorHeader input = inputs.get(i);
      InputPlace place = new InputPlace(input.name(), message.modelName());
      if (!names.add(input.name())) {
        throw WireException.invalidArgument("input " + place + " already exists in request");
      }
      tensors.add(tensor(input, place));
    }
    return tensors;
  }

  private static WireInput tensor(TensorHeader input, InputPlace place) {
    DType dtype =
        DType.fromKserveName(input.datatype())
            .orElseThrow(
                () ->
                    WireException.invalidArgument(
                        "invalid datatype '"
                            + input.datatype()
                            + "' for input "
                            + place
                            + "; datatypes are BOOL, UINT8 to UINT64, INT8 to INT64, FP16, BF16,"
                            + " FP32, FP64 and BYTES"));
    Shape shape = SizeCheck.shape(input.dims(), place);
    long elementCount = SizeCheck.elementCount(shape, place);
    RegionRange range = Parameters.region(input.parameters(), input.name());
    WireInput.Data data =
        range == null
            ? new WireInput.Inline(inline(input.source(), dtype, elementCount, place))
            : new WireInput.Shared(shared(input.source(), range, dtype, elementCount, place));
    return new WireInput(input.name(), dtype, shape, data);
  }

  private static ByteBuffer inline(
      TensorSource source, DType dtype, long elementCount, InputPlace place) {
    return switch (source) {
      case TensorSource.Raw(ByteBuffer raw) -> checked(raw, dtype, elementCount, place);
      case TensorSource.Typed(TypedElements typed) -> typed.toRaw(dtype, elementCount, place);
      case TensorSource.TypedBesideRaw contradiction ->
          throw WireException.invalidArgument(
              "contents field must not be specified when using raw_input_contents for " + place);
      case TensorSource.None none ->
          throw WireException.invalidArgument(
              "unable to find data for input tensor " + place + " in request.");
    };
  }

  private static RegionRange shared(
      TensorSource source, RegionRange range, DType dtype, long elementCount, InputPlace place) {
    if (source != TensorSource.NONE) {
      throw WireException.invalidArgument(
          "unexpected 'content' provided when using shared memory for input tensor " + place);
    }
    if (dtype != DType.BYTES) { // whose lengths are the client's to change until they are read
      SizeCheck.requireBytes(elementCount, dtype, range.byteSize(), place);
    }
    return range;
  }

  private static ByteBuffer checked(
      ByteBuffer raw, DType dtype, long elementCount, InputPlace place) {
    if (dtype == DType.BYTES) {
      BytesElements.check(raw, elementCount, place);
    } else {
      SizeCheck.requireBytes(elementCount, dtype, raw.remaining(), place);
    }
    return raw;
  }

  private List<RequestedOutput> outputs() {
    List<OutputHeader> wanted = message.outputs();
    if (wanted.isEmpty()) {
      return List.of();
    }
    List<RequestedOutput> outputs = new ArrayList<>(wanted.size());
    Names names = new Names(wanted.size());
    for (OutputHeader output : wanted) {
      if (!names.add(output.name())) {
        throw WireException.invalidArgument(
            "output '"
                + output.name()
                + "' for model '"
                + message.modelName()
                + "' already exists in request");
      }
      outputs.add(
          new RequestedOutput(
              output.name(),
              Parameters.region(output.parameters(), output.name()),
              Parameters.classes(output.parameters(), output.name())));
    }
    return outputs;
  }

  /** Names that have been seen. A set costs more than to compare a few. */
  private static final class Names {
    private static final int FEW = 8;

    private final Collection<String> seen;

    Names(int count) {
      seen = count <= FEW ? new ArrayList<>(count) : HashSet.newHashSet(count);
    }

    /** False when it has been seen before. */
    boolean add(String name) {
      return !seen.contains(name) && seen.add(name);
    }
  }
}
