package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.kserve.codec.MessageLimits;
import dev.roundhouse.kserve.codec.MessageMemory;
import dev.roundhouse.kserve.codec.OutputHeader;
import dev.roundhouse.kserve.codec.ParameterValue;
import dev.roundhouse.kserve.codec.ReadMessage;
import dev.roundhouse.kserve.codec.TensorHeader;
import dev.roundhouse.kserve.codec.TensorSource;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.platform.rest.Body;
import dev.roundhouse.platform.rest.DocumentMemory;
import dev.roundhouse.platform.rest.Json;
import dev.roundhouse.platform.rest.JsonFields;
import dev.roundhouse.platform.rest.MemoryHold;
import dev.roundhouse.worker.transport.rest.InferDocument.OutputForms;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * Reads one inference request: JSON, and the binary tensors behind it. Elements of JSON go straight
 * into raw form; where {@code data} stands before {@code datatype} or {@code shape} it is read a
 * second time. Properties that the protocol does not have are skipped.
 */
final class InferReader {
  private static final String BINARY_SIZE = "binary_data_size";
  private static final String BINARY = "binary_data";
  private static final String BINARY_BY_DEFAULT = "binary_data_output";

  /** An input or output besides its texts, its shape and its elements. */
  private static final int TENSOR_BYTES = 256;

  private final String model;
  private final String version;
  private final Body body;
  private final int jsonLength;
  private final MemoryHold memory;
  private final DocumentMemory kept;
  private final JsonParser json;
  private final JsonFields fields;
  private final List<TensorHeader> inputs = new ArrayList<>();
  private final List<OutputHeader> outputs = new ArrayList<>();
  private final Map<String, Boolean> forms = new HashMap<>();
  private String id = "";
  private Map<String, ParameterValue> parameters = Map.of();

  /** Where the next binary tensor begins. */
  private int binaryAt;

  private InferReader(
      String model,
      String version,
      Body body,
      int jsonLength,
      MemoryHold memory,
      DocumentMemory kept,
      JsonParser json) {
    this.model = model;
    this.version = version;
    this.body = body;
    this.jsonLength = jsonLength;
    this.memory = memory;
    this.kept = kept;
    this.json = json;
    fields = new JsonFields(json, kept);
    binaryAt = jsonLength;
  }

  /**
   * Reads a request for the model that its path names.
   *
   * @param jsonLength bytes of the body that are JSON; binary tensors are the rest
   * @param memory what tensors are made of, and all else that is kept of the JSON
   * @throws WireException INVALID_ARGUMENT when it is not a request, RESOURCE_EXHAUSTED when there
   *     is no room for its tensors
   */
  static InferDocument read(
      String model, String version, Body body, int jsonLength, MemoryHold memory) {
    DocumentMemory kept = new DocumentMemory(memory);
    InferDocument document;
    try (JsonParser json = Json.parser(body.bytes(), 0, jsonLength, kept::count)) {
      document = new InferReader(model, version, body, jsonLength, memory, kept, json).read();
    } catch (JacksonException e) {
      throw JsonFields.malformed(e);
    }
    kept.settle();
    return document;
  }

  private InferDocument read() {
    json.nextToken();
    fields.requireObject("request");
    while (fields.nextProperty()) {
      String property = json.currentName();
      json.nextToken();
      switch (property) {
        case "id" -> id = isNull() ? "" : fields.id(property);
        case "model_name" -> requireSame(property, model);
        case "model_version" -> requireSame(property, version);
        case "parameters" -> parameters = fields.parameters(property);
        case "inputs" -> inputs();
        case "outputs" -> outputs();
        default -> json.skipChildren();
      }
    }
    fields.requireEnd();
    if (binaryAt != body.length()) {
      throw WireException.invalidArgument(
          "unexpected additional input data for model '%s': %d bytes follow the last binary tensor"
              .formatted(model, body.length() - binaryAt));
    }
    return new InferDocument(
        new ReadMessage(model, version, id, parameters, inputs, outputs, MessageMemory.COLLECTED),
        new OutputForms(flag(parameters, BINARY_BY_DEFAULT).orElse(false), forms),
        binaryAt > jsonLength);
  }

  /** What some clients repeat in the body must match the path. */
  private void requireSame(String property, String inPath) {
    if (isNull()) {
      return;
    }
    String inBody = fields.name(property);
    if (!inBody.isEmpty() && !inPath.isEmpty() && !inBody.equals(inPath)) {
      throw WireException.invalidArgument(
          "'%s' is '%s' in the body and '%s' in the path; leave it out of the body"
              .formatted(property, inBody, inPath));
    }
  }

  private void inputs() {
    fields.requireArray("inputs");
    while (json.nextToken() != JsonToken.END_ARRAY) {
      if (inputs.size() == MessageLimits.INPUTS) {
        throw JsonFields.exceeded("the request", "more inputs", MessageLimits.INPUTS);
      }
      fields.requireObject("inputs");
      kept.count(TENSOR_BYTES);
      inputs.add(new Input().read());
    }
  }

  private void outputs() {
    if (isNull()) {
      return;
    }
    fields.requireArray("outputs");
    while (json.nextToken() != JsonToken.END_ARRAY) {
      if (outputs.size() == MessageLimits.OUTPUTS) {
        throw JsonFields.exceeded("the request", "more outputs", MessageLimits.OUTPUTS);
      }
      fields.requireObject("outputs");
      kept.count(TENSOR_BYTES);
      outputs.add(output());
    }
  }

  private OutputHeader output() {
    String name = null;
    Map<String, ParameterValue> of = Map.of();
    while (fields.nextProperty()) {
      String property = json.currentName();
      json.nextToken();
      switch (property) {
        case "name" -> name = fields.name("name");
        case "parameters" -> of = fields.parameters("parameters");
        default -> json.skipChildren();
      }
    }
    if (name == null) {
      throw missing("name", "outputs");
    }
    String output = name;
    flag(of, BINARY).ifPresent(binary -> forms.put(output, binary));
    return new OutputHeader(name, of);
  }

  private static Optional<Boolean> flag(Map<String, ParameterValue> of, String parameter) {
    return switch (of.get(parameter)) {
      case null -> Optional.empty();
      case ParameterValue.Flag(boolean value) -> Optional.of(value);
      case ParameterValue other ->
          throw WireException.invalidArgument(
              "invalid value type for '%s' parameter, expected true or false".formatted(parameter));
    };
  }

  private boolean isNull() {
    return json.currentToken() == JsonToken.VALUE_NULL;
  }

  private static WireException missing(String property, String of) {
    return WireException.invalidArgument(
        "Unable to parse '%s': one of them has no '%s'".formatted(of, property));
  }

  /** One input, as its properties come. */
  private final class Input {
    private @Nullable String name;
    private @Nullable String datatype;
    private long @Nullable [] dims;
    private Map<String, ParameterValue> of = Map.of();
    private @Nullable ByteBuffer elements;

    /** Where {@code data} begins when it precedes what it is read by; else negative. */
    private long dataAt = -1;

    private boolean hasData;

    TensorHeader read() {
      while (fields.nextProperty()) {
        String property = json.currentName();
        json.nextToken();
        switch (property) {
          case "name" -> name = fields.name(property);
          case "datatype" -> datatype = fields.name(property);
          case "shape" -> dims = shape();
          case "parameters" -> of = fields.parameters(property);
          case "data" -> data();
          default -> json.skipChildren();
        }
      }
      if (name == null) {
        throw missing("name", "inputs");
      }
      if (datatype == null) {
        throw missing("datatype", "inputs");
      }
      if (dims == null) {
        throw missing("shape", "inputs");
      }
      if (dataAt >= 0) {
        readAgain();
      }
      return new TensorHeader(name, datatype, dims, of, source(name));
    }

    private long[] shape() {
      fields.requireArray("shape");
      long[] read = new long[4];
      int rank = 0;
      while (json.nextToken() != JsonToken.END_ARRAY) {
        if (rank == MessageLimits.DIMENSIONS) {
          throw JsonFields.exceeded("shape", "more dimensions", MessageLimits.DIMENSIONS);
        }
        if (rank == read.length) {
          read = Arrays.copyOf(read, 2 * rank);
        }
        read[rank++] = fields.integer("shape");
      }
      kept.count((long) Long.BYTES * rank);
      return Arrays.copyOf(read, rank);
    }

    private void data() {
      if (isNull()) {
        return;
      }
      fields.requireArray("data");
      hasData = true;
      if (name != null && datatype != null && dims != null) {
        elements = elements(json, json.currentTokenLocation().getByteOffset());
      } else {
        dataAt = json.currentTokenLocation().getByteOffset();
        json.skipChildren();
      }
    }

    private void readAgain() {
      int at = (int) dataAt;
      try (JsonParser again = Json.parser(body.bytes(), at, jsonLength - at, kept::count)) {
        again.nextToken();
        elements = elements(again, at);
      }
    }

    /**
     * Null, with the array skipped, when the datatype or the shape is missing or invalid: the
     * request's check reports that.
     */
    private @Nullable ByteBuffer elements(JsonParser array, long at) {
      Optional<DType> dtype = DType.fromKserveName(String.valueOf(datatype));
      long count = elementCount();
      if (dtype.isEmpty() || count < 0) {
        array.skipChildren();
        return null;
      }
      String place = "input '" + name + "' for model '" + model + "'";
      return JsonElements.read(array, memory, dtype.get(), count, jsonLength - at, "data", place);
    }

    private long elementCount() {
      long count = 1;
      for (long extent : dims == null ? new long[0] : dims) {
        if (extent < 0) {
          return -1;
        }
        try {
          count = Math.multiplyExact(count, extent);
        } catch (ArithmeticException e) {
          return -1;
        }
      }
      return count;
    }

    private TensorSource source(String input) {
      ParameterValue size = of.get(BINARY_SIZE);
      if (size == null) {
        return elements == null ? TensorSource.NONE : new TensorSource.Raw(elements);
      }
      if (hasData) {
        throw WireException.invalidArgument(
            "input '%s' for model '%s' has both 'data' and '%s'; send it in one form"
                .formatted(input, model, BINARY_SIZE));
      }
      if (!(size instanceof ParameterValue.Signed(long bytes)) || bytes < 0) {
        throw WireException.invalidArgument(
            "invalid value for '%s' parameter of input '%s' for model '%s', expected a whole number of 0 or more"
                .formatted(BINARY_SIZE, input, model));
      }
      int left = body.length() - binaryAt;
      if (bytes > left) {
        throw WireException.invalidArgument(
            "unexpected size for input '%s' for model '%s', expecting %d bytes but only %d are left in the body"
                .formatted(input, model, bytes, left));
      }
      ByteBuffer tensor = body.slice(binaryAt, (int) bytes);
      binaryAt += (int) bytes;
      return new TensorSource.Raw(tensor);
    }
  }
}
