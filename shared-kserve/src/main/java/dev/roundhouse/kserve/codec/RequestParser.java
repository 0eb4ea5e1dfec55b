package dev.roundhouse.kserve.codec;

import static dev.roundhouse.kserve.codec.WireTag.bytes;
import static dev.roundhouse.kserve.codec.WireTag.fixed32;
import static dev.roundhouse.kserve.codec.WireTag.fixed64;
import static dev.roundhouse.kserve.codec.WireTag.varint;

import com.google.protobuf.WireFormat;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferRequestedOutputTensor;
import dev.roundhouse.kserve.status.WireException;
import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Parses a ModelInferRequest in place, under {@link MessageLimits}. Raw contents are not copied.
 * Accepts what protobuf's own parser accepts, but creates none of its objects: protobuf allocates
 * everything that a message names before any limit can be checked. Unknown fields are skipped.
 */
public final class RequestParser {
  private static final int MODEL_NAME = bytes(ModelInferRequest.MODEL_NAME_FIELD_NUMBER);
  private static final int MODEL_VERSION = bytes(ModelInferRequest.MODEL_VERSION_FIELD_NUMBER);
  private static final int ID = bytes(ModelInferRequest.ID_FIELD_NUMBER);
  private static final int PARAMETERS = bytes(ModelInferRequest.PARAMETERS_FIELD_NUMBER);
  private static final int INPUTS = bytes(ModelInferRequest.INPUTS_FIELD_NUMBER);
  private static final int OUTPUTS = bytes(ModelInferRequest.OUTPUTS_FIELD_NUMBER);
  private static final int RAW = bytes(ModelInferRequest.RAW_INPUT_CONTENTS_FIELD_NUMBER);

  private static final int INPUT_NAME = bytes(InferInputTensor.NAME_FIELD_NUMBER);
  private static final int DATATYPE = bytes(InferInputTensor.DATATYPE_FIELD_NUMBER);
  private static final int EXTENT = varint(InferInputTensor.SHAPE_FIELD_NUMBER);
  private static final int SHAPE = bytes(InferInputTensor.SHAPE_FIELD_NUMBER);
  private static final int INPUT_PARAMETERS = bytes(InferInputTensor.PARAMETERS_FIELD_NUMBER);
  private static final int CONTENTS = bytes(InferInputTensor.CONTENTS_FIELD_NUMBER);

  private static final int OUTPUT_NAME = bytes(InferRequestedOutputTensor.NAME_FIELD_NUMBER);
  private static final int OUTPUT_PARAMETERS =
      bytes(InferRequestedOutputTensor.PARAMETERS_FIELD_NUMBER);

  private static final int KEY = bytes(1);
  private static final int VALUE = bytes(2);
  private static final int BOOL = varint(InferParameter.BOOL_PARAM_FIELD_NUMBER);
  private static final int INT64 = varint(InferParameter.INT64_PARAM_FIELD_NUMBER);
  private static final int STRING = bytes(InferParameter.STRING_PARAM_FIELD_NUMBER);
  private static final int DOUBLE = fixed64(InferParameter.DOUBLE_PARAM_FIELD_NUMBER);
  private static final int UINT64 = varint(InferParameter.UINT64_PARAM_FIELD_NUMBER);

  /** What a BYTES element takes besides its bytes: a reference, an object, the head of an array. */
  private static final int BYTES_OBJECT = 56;

  /** A compressed message of this size, and larger ones, are read one at a time. */
  private static final int LARGE_BYTES = 1 << 20;

  private static final Object ONE_LARGE = new Object();
  private static final long[] NO_DIMS = {};

  private static final ThreadLocal<Known> KNOWN = ThreadLocal.withInitial(Known::new);

  private final ByteBuffer message;
  private final MessageMemory memory;
  private final WireCursor in;
  private final int begin;
  private final NameCache names;
  private final List<InputParser> inputs = new ArrayList<>(4);
  private final List<ByteBuffer> raw = new ArrayList<>(4);
  private @Nullable List<OutputHeader> outputs;
  private @Nullable Map<String, ParameterValue> parameters;
  private String modelName = "";
  private String modelVersion = "";
  private String id = "";
  private int parameterCount;
  private long typedBytes;

  private RequestParser(ByteBuffer message, MessageMemory memory, NameCache names) {
    this.message = message;
    this.memory = memory;
    this.names = names;
    begin = message.position();
    in = new WireCursor(message);
  }

  /**
   * Reads a message into memory of its own.
   *
   * @param length of the message in bytes, negative when it is not known, as it was compressed
   * @throws WireException INVALID_ARGUMENT when the message holds more than it may
   * @throws IOException when the bytes are not a message, or cannot be read
   */
  public static InferMessage read(InputStream stream, int length) throws IOException {
    if (length < 0) {
      return readCompressed(stream);
    }
    byte[] message = stream.readNBytes(length);
    if (message.length < length) {
      throw new EOFException("the message has " + message.length + " bytes instead of " + length);
    }
    return read(ByteBuffer.wrap(message));
  }

  /**
   * The receive budget bounds messages together, but a few compressed bytes may expand to a large
   * one, which takes twice its size meanwhile: so one at a time.
   */
  private static InferMessage readCompressed(InputStream stream) throws IOException {
    byte[] start = stream.readNBytes(LARGE_BYTES);
    if (start.length < LARGE_BYTES) {
      return read(ByteBuffer.wrap(start));
    }
    synchronized (ONE_LARGE) {
      InputStream whole = new SequenceInputStream(new ByteArrayInputStream(start), stream);
      return read(ByteBuffer.wrap(whole.readAllBytes()));
    }
  }

  /** Reads from position to limit, of memory that the collector frees. */
  public static InferMessage read(ByteBuffer message) throws MalformedMessageException {
    return read(message, MessageMemory.COLLECTED);
  }

  /**
   * Reads from position to limit.
   *
   * @param message borrowed; raw inputs are slices of it
   * @param memory of the message
   * @throws WireException INVALID_ARGUMENT when the message holds more than it may
   */
  public static InferMessage read(ByteBuffer message, MessageMemory memory)
      throws MalformedMessageException {
    Known known = KNOWN.get();
    ByteBuffer in = message.duplicate().order(ByteOrder.LITTLE_ENDIAN);
    int begin = in.position();
    int end = in.limit();
    InferMessage repeated = known.templates.read(in, begin, end, memory);
    if (repeated != null) {
      return repeated;
    }
    ReadMessage read = new RequestParser(in, memory, known.names).read();
    known.templates.note(in, begin, end, read);
    return read;
  }

  /** Parses field by field, without templates. */
  static ReadMessage readAnew(ByteBuffer message) throws MalformedMessageException {
    ByteBuffer in = message.duplicate().order(ByteOrder.LITTLE_ENDIAN);
    return new RequestParser(in, MessageMemory.COLLECTED, KNOWN.get().names).read();
  }

  /** What a thread remembers of earlier messages. */
  private static final class Known {
    final NameCache names = new NameCache();
    final RequestTemplates templates = new RequestTemplates();
  }

  private ReadMessage read() throws MalformedMessageException {
    for (int tag = in.tag(); tag != 0; tag = in.tag()) {
      if (tag == RAW) {
        require(raw.size(), MessageLimits.RAW_CONTENTS, "raw_input_contents");
        raw.add(in.bytes());
      } else if (tag == INPUTS) {
        require(inputs.size(), MessageLimits.INPUTS, "inputs");
        inputs.add(new InputParser(inputs.size()).read());
      } else if (tag == OUTPUTS) {
        addOutput();
      } else if (tag == MODEL_NAME) {
        modelName = name("model_name");
      } else if (tag == MODEL_VERSION) {
        modelVersion = name("model_version");
      } else if (tag == ID) {
        id = in.text("id", MessageLimits.ID_BYTES);
      } else if (tag == PARAMETERS) {
        parameters = parameter(parameters);
      } else {
        in.skip(tag);
      }
    }
    return new ReadMessage(
        modelName, modelVersion, id, orNone(parameters), headers(), orNone(outputs), memory);
  }

  /**
   * Gives inputs their raw contents, which stand apart: in order, and none to inputs that are in
   * shared memory. Entries beyond the inputs are ignored, as Triton does.
   */
  private List<TensorHeader> headers() {
    List<TensorHeader> headers = new ArrayList<>(inputs.size());
    int next = 0;
    for (int i = 0; i < inputs.size(); i++) {
      InputParser input = inputs.get(i);
      boolean takes = next < raw.size() && !input.isShared();
      headers.add(input.header(takes ? raw.get(next++) : null));
    }
    return headers;
  }

  private void addOutput() throws MalformedMessageException {
    List<OutputHeader> list = outputs == null ? new ArrayList<>(4) : outputs;
    require(list.size(), MessageLimits.OUTPUTS, "outputs");
    String name = "";
    Map<String, ParameterValue> own = null;
    int outer = in.enter();
    for (int tag = in.tag(); tag != 0; tag = in.tag()) {
      if (tag == OUTPUT_NAME) {
        name = name("the name of an output");
      } else if (tag == OUTPUT_PARAMETERS) {
        own = parameter(own);
      } else {
        in.skip(tag);
      }
    }
    in.leave(outer);
    list.add(new OutputHeader(name, orNone(own)));
    outputs = list;
  }

  /** Adds a parameter to those that were there; of equal names the last counts. */
  private Map<String, ParameterValue> parameter(@Nullable Map<String, ParameterValue> before)
      throws MalformedMessageException {
    if (++parameterCount > MessageLimits.PARAMETERS) {
      throw MessageLimits.exceeded(
          "the request with its tensors", parameterCount + " parameters", MessageLimits.PARAMETERS);
    }
    String key = "";
    ParameterValue value = ParameterValue.UNSET;
    int outer = in.enter();
    for (int tag = in.tag(); tag != 0; tag = in.tag()) {
      if (tag == KEY) {
        key = name("the name of a parameter");
      } else if (tag == VALUE) {
        value = value(value);
      } else {
        in.skip(tag);
      }
    }
    in.leave(outer);
    Map<String, ParameterValue> all = before == null ? new HashMap<>() : before;
    all.put(key, value);
    return all;
  }

  private ParameterValue value(ParameterValue before) throws MalformedMessageException {
    ParameterValue value = before;
    int outer = in.enter();
    for (int tag = in.tag(); tag != 0; tag = in.tag()) {
      if (tag == BOOL) {
        value = new ParameterValue.Flag(in.varint64() != 0);
      } else if (tag == INT64) {
        value = new ParameterValue.Signed(in.varint64());
      } else if (tag == STRING) {
        value =
            new ParameterValue.Text(in.text("the text of a parameter", MessageLimits.TEXT_BYTES));
      } else if (tag == DOUBLE) {
        value = new ParameterValue.Real(Double.longBitsToDouble(in.fixed64()));
      } else if (tag == UINT64) {
        value = new ParameterValue.Unsigned(in.varint64());
      } else {
        in.skip(tag);
      }
    }
    in.leave(outer);
    return value;
  }

  private String name(String what) throws MalformedMessageException {
    return in.name(what, names);
  }

  /** Call when typed elements have been read that will take so many bytes in memory. */
  private void countTyped(long heapBytes) {
    typedBytes += heapBytes;
    if (typedBytes <= MessageLimits.TYPED_GROWTH_BYTES) {
      return;
    }
    int read = in.position() - begin;
    long limit = (long) read + MessageLimits.TYPED_GROWTH_BYTES;
    if (typedBytes > limit) {
      throw WireException.invalidArgument(
          "typed contents take "
              + typedBytes
              + " bytes in memory after "
              + read
              + " bytes of the message, the limit is "
              + limit
              + "; send large tensors in raw_input_contents");
    }
  }

  private static void require(int present, int limit, String what) {
    if (present >= limit) {
      throw MessageLimits.exceeded("the request", (present + 1) + " or more " + what, limit);
    }
  }

  private static Map<String, ParameterValue> orNone(@Nullable Map<String, ParameterValue> map) {
    return map == null ? Map.of() : map;
  }

  private static List<OutputHeader> orNone(@Nullable List<OutputHeader> list) {
    return list == null ? List.of() : list;
  }

  /** Reads one input. */
  private final class InputParser {
    private final int index;
    private String name = "";
    private String datatype = "";
    private long[] dims = NO_DIMS;
    private int rank;
    private @Nullable Map<String, ParameterValue> own;
    private @Nullable TypedElements typed;

    InputParser(int index) {
      this.index = index;
    }

    InputParser read() throws MalformedMessageException {
      int outer = in.enter();
      for (int tag = in.tag(); tag != 0; tag = in.tag()) {
        if (tag == INPUT_NAME) {
          name = name("the name of an input");
        } else if (tag == DATATYPE) {
          datatype = name("the datatype of an input");
        } else if (tag == SHAPE) {
          int whole = in.enter();
          while (in.hasMore()) {
            extent();
          }
          in.leave(whole);
        } else if (tag == EXTENT) {
          extent();
        } else if (tag == INPUT_PARAMETERS) {
          own = parameter(own);
        } else if (tag == CONTENTS) {
          contents();
        } else {
          in.skip(tag);
        }
      }
      in.leave(outer);
      return this;
    }

    private void extent() throws MalformedMessageException {
      if (rank == MessageLimits.DIMENSIONS) {
        throw MessageLimits.exceeded(
            "the shape of input " + index, (rank + 1) + " or more dimensions", rank);
      }
      if (rank == dims.length) {
        dims = Arrays.copyOf(dims, Math.max(4, 2 * rank));
      }
      dims[rank++] = in.varint64();
    }

    private void contents() throws MalformedMessageException {
      TypedElements elements = typed == null ? new TypedElements(message) : typed;
      typed = elements;
      int outer = in.enter();
      int begin = in.position();
      for (int tag = in.tag(); tag != 0; tag = in.tag()) {
        ContentsField field = ContentsField.numbered(WireFormat.getTagFieldNumber(tag));
        if (field != null && tag == single(field)) {
          int payload = element(field);
          countTyped(heapBytes(field, payload));
          note(elements, field, 1, payload, begin, true);
        } else if (field != null && tag == bytes(field.number())) {
          packed(elements, field);
        } else {
          in.skip(tag);
        }
        begin = in.position();
      }
      in.leave(outer);
    }

    private void packed(TypedElements elements, ContentsField field)
        throws MalformedMessageException {
      int outer = in.enter();
      int begin = in.position();
      int count = 0;
      while (in.hasMore()) {
        countTyped(heapBytes(field, element(field)));
        count++;
      }
      if (count > 0) {
        note(elements, field, count, 0, begin, false);
      }
      in.leave(outer);
    }

    private void note(
        TypedElements elements,
        ContentsField field,
        int count,
        long payload,
        int begin,
        boolean tagged) {
      if (elements.add(field.number(), count, payload, begin, in.position(), tagged)) {
        countTyped(TypedElements.RUN_BYTES);
      }
    }

    TensorHeader header(@Nullable ByteBuffer data) {
      return new TensorHeader(name, datatype, Arrays.copyOf(dims, rank), orNone(own), source(data));
    }

    boolean isShared() {
      return own != null && own.containsKey(Parameters.SHARED_MEMORY);
    }

    private TensorSource source(@Nullable ByteBuffer data) {
      TypedElements elements = typed;
      if (elements != null) {
        return raw.isEmpty() ? new TensorSource.Typed(elements) : TensorSource.TYPED_BESIDE_RAW;
      }
      return data == null ? TensorSource.NONE : new TensorSource.Raw(data);
    }
  }

  /** The tag of a field whose elements come one by one. */
  private static int single(ContentsField field) {
    return switch (field) {
      case BYTES -> bytes(field.number());
      case FP32 -> fixed32(field.number());
      case FP64 -> fixed64(field.number());
      case BOOL, INT, INT64, UINT, UINT64 -> varint(field.number());
    };
  }

  /** Reads past one element; returns the bytes of its own, where elements have lengths. */
  private int element(ContentsField field) throws MalformedMessageException {
    switch (field) {
      case BOOL, INT, INT64, UINT, UINT64 -> in.varint64();
      case FP32 -> in.fixed32();
      case FP64 -> in.fixed64();
      case BYTES -> {
        return in.bytes().remaining();
      }
    }
    return 0;
  }

  private static long heapBytes(ContentsField field, int payload) {
    return switch (field) {
      case BOOL -> Byte.BYTES;
      case INT, UINT, FP32 -> Integer.BYTES;
      case INT64, UINT64, FP64 -> Long.BYTES;
      case BYTES -> BYTES_OBJECT + payload;
    };
  }
}
