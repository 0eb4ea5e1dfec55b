package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.kserve.codec.MessageLimits;
import dev.roundhouse.kserve.codec.MessageMemory;
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
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * Reads one request of the generate extension: a property with the name of an input is that input,
 * and any other a parameter. An input's shape is the model's: its last axis that is not fixed has
 * as many steps as there are elements for, the others one.
 */
final class GenerateReader {
  static final String ID = "id";
  static final String MODEL_NAME = "model_name";
  static final String MODEL_VERSION = "model_version";
  static final String PARAMETERS = "parameters";

  /** An input besides its texts, its shape and its elements. */
  private static final int TENSOR_BYTES = 256;

  private final ModelSpec spec;
  private final Body body;
  private final MemoryHold memory;
  private final DocumentMemory kept;
  private final JsonParser json;
  private final JsonFields fields;
  private final List<TensorHeader> inputs = new ArrayList<>();
  private final Map<String, ParameterValue> parameters = new LinkedHashMap<>();
  private String id = "";

  private GenerateReader(
      ModelSpec spec, Body body, MemoryHold memory, DocumentMemory kept, JsonParser json) {
    this.spec = spec;
    this.body = body;
    this.memory = memory;
    this.kept = kept;
    this.json = json;
    fields = new JsonFields(json, kept);
  }

  /**
   * Reads a request for a model.
   *
   * @param version that the path names; empty for none
   * @param memory what tensors are made of, and all else that is kept of the JSON
   * @throws WireException INVALID_ARGUMENT when it is not a request, RESOURCE_EXHAUSTED when there
   *     is no room for its tensors
   */
  static ReadMessage read(ModelSpec spec, String version, Body body, MemoryHold memory) {
    requireNames(spec, spec.clientInputs(), "input", Set.of(ID, PARAMETERS));
    requireNames(
        spec, spec.clientOutputs(), "output", Set.of(ID, MODEL_NAME, MODEL_VERSION, PARAMETERS));
    DocumentMemory kept = new DocumentMemory(memory);
    GenerateReader reader;
    try (JsonParser json = Json.parser(body.bytes(), 0, body.length(), kept::count)) {
      reader = new GenerateReader(spec, body, memory, kept, json);
      reader.read();
    } catch (JacksonException e) {
      throw JsonFields.malformed(e);
    }
    kept.settle();
    return new ReadMessage(
        spec.name(),
        version,
        reader.id,
        reader.parameters,
        reader.inputs,
        List.of(),
        MessageMemory.COLLECTED);
  }

  private static void requireNames(
      ModelSpec spec, List<TensorSpec> tensors, String kind, Set<String> taken) {
    for (TensorSpec tensor : tensors) {
      if (taken.contains(tensor.name())) {
        throw WireException.invalidArgument(
            "%s '%s' of model '%s' has the name of a property that generate has for something else; ask infer"
                .formatted(kind, tensor.name(), spec.name()));
      }
    }
  }

  private void read() {
    json.nextToken();
    fields.requireObject("request");
    while (fields.nextProperty()) {
      String property = json.currentName();
      Optional<TensorSpec> input =
          spec.clientInputs().stream().filter(each -> each.name().equals(property)).findFirst();
      JsonToken value = json.nextToken();
      if (value == JsonToken.VALUE_NULL) {
        continue;
      }
      if (input.isPresent()) {
        inputs.add(tensor(input.get()));
      } else if (property.equals(ID)) {
        id = fields.id(property);
      } else if (property.equals(PARAMETERS)) {
        fields.parameters(property).forEach(this::parameter);
      } else {
        parameter(property, fields.parameter("request", property));
      }
    }
    fields.requireEnd();
  }

  private void parameter(String name, ParameterValue value) {
    if (parameters.size() == MessageLimits.PARAMETERS) {
      throw JsonFields.exceeded("the request", "more parameters", MessageLimits.PARAMETERS);
    }
    kept.keep(name.length(), DocumentMemory.ENTRY_BYTES);
    if (parameters.put(name, value) != null) {
      throw WireException.invalidArgument(
          "parameter '%s' stands both in 'parameters' and beside it; send it once".formatted(name));
    }
  }

  private TensorHeader tensor(TensorSpec input) {
    kept.count(TENSOR_BYTES + (long) Long.BYTES * input.rank());
    String place = "input '" + input.name() + "' for model '" + spec.name() + "'";
    long[] dims;
    ByteBuffer elements;
    if (json.currentToken() == JsonToken.START_ARRAY) {
      int at = (int) json.currentTokenLocation().getByteOffset();
      long count = countElements();
      dims = dims(input, count);
      int left = body.length() - at;
      try (JsonParser again = Json.parser(body.bytes(), at, left, kept::count)) {
        again.nextToken();
        elements =
            JsonElements.read(again, memory, input.dtype(), count, left, input.name(), place);
      }
    } else {
      dims = dims(input, 1);
      elements =
          JsonElements.readOne(json, memory, input.dtype(), body.length(), input.name(), place);
    }
    return new TensorHeader(
        input.name(), input.dtype().wireName(), dims, Map.of(), new TensorSource.Raw(elements));
  }

  private long countElements() {
    long count = 0;
    for (int depth = 1; depth > 0; ) {
      switch (json.nextToken()) {
        case START_ARRAY -> depth++;
        case END_ARRAY -> depth--;
        case START_OBJECT -> {
          json.skipChildren();
          count++; // it is refused when it is read
        }
        default -> count++;
      }
    }
    return count;
  }

  private long[] dims(TensorSpec input, long count) {
    List<Axis> axes = input.axes();
    long[] dims = new long[axes.size()];
    long step = 1;
    int open = -1;
    for (int axis = 0; axis < dims.length; axis++) {
      boolean isFixed = axes.get(axis) instanceof Axis.Fixed;
      dims[axis] = axes.get(axis) instanceof Axis.Fixed(long extent) ? extent : 1;
      step *= dims[axis];
      open = isFixed ? open : axis;
    }
    boolean fits = open < 0 || step == 0 ? count == step : count % step == 0;
    if (!fits) {
      throw WireException.invalidArgument(
          "input '%s' for model '%s' has %d elements, and its shape %s takes %s%d"
              .formatted(
                  input.name(),
                  spec.name(),
                  count,
                  input.wireShape(),
                  open < 0 ? "" : "a multiple of ",
                  step));
    }
    if (open >= 0 && step > 0) {
      dims[open] = count / step;
    }
    return dims;
  }
}
