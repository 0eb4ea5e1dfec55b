package dev.roundhouse.platform.payload;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.kserve.codec.ResponseTensor;
import dev.roundhouse.platform.rest.ElementsJson;
import dev.roundhouse.platform.rest.Json;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JsonGenerator;

/** What an event carries. Made into bytes by the thread that sends it. */
public sealed interface PayloadBody {
  String JSON = "application/json";

  /** Bytes that it holds while it waits. */
  long heldBytes();

  /** What is sent; null when it turns out to be nothing that can be. */
  @Nullable Sent sent();

  /**
   * @param id that the body itself has; empty for none
   * @param headers besides those of the event
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  record Sent(String id, Map<String, String> headers, byte[] bytes) {}

  /** Bytes as they came, with what HTTP said of them. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  record AsIs(Map<String, String> headers, byte[] bytes) implements PayloadBody {
    @Override
    public long heldBytes() {
      return bytes.length;
    }

    @Override
    public Sent sent() {
      return new Sent("", headers, bytes);
    }
  }

  /** Bytes of another form, of which a document is made. */
  record Later(long heldBytes, Supplier<@Nullable Document> document) implements PayloadBody {
    @Override
    public @Nullable Sent sent() {
      Document made = document.get();
      return made == null ? null : made.sent();
    }
  }

  /**
   * A request or an answer as REST has it, its elements in JSON.
   *
   * @param model null in a request, whose path names it
   * @param version likewise
   * @param tensors inputs of a request, outputs of an answer
   */
  record Document(
      String id,
      @Nullable String model,
      @Nullable String version,
      boolean isRequest,
      List<PayloadTensor> tensors)
      implements PayloadBody {
    /** The parameter that names tensors whose elements are not in the document. */
    public static final String LEFT_OUT = "roundhouse_left_out";

    @Override
    public long heldBytes() {
      long bytes = 0;
      for (PayloadTensor tensor : tensors) {
        bytes += tensor.byteSize();
      }
      return bytes;
    }

    @Override
    public Sent sent() {
      List<@Nullable ResponseTensor> written = new ArrayList<>(tensors.size());
      List<String> leftOut = new ArrayList<>(0);
      for (PayloadTensor tensor : tensors) {
        ResponseTensor shown = shown(tensor);
        written.add(shown);
        if (shown == null) {
          leftOut.add(tensor.name());
        }
      }
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      try (JsonGenerator json = Json.generator(out)) {
        write(json, written, leftOut);
      }
      return new Sent(id, Map.of("content-type", JSON), out.toByteArray());
    }

    /** Null when its elements are not there, or JSON has no form for them. */
    private static @Nullable ResponseTensor shown(PayloadTensor tensor) {
      byte[] data = tensor.data();
      if (data == null || tensor.dtype() == DType.F16 || tensor.dtype() == DType.BF16) {
        return null;
      }
      ResponseTensor shown =
          new ResponseTensor(
              tensor.name(), tensor.dtype(), tensor.shape(), Map.of(), ByteBuffer.wrap(data));
      try {
        ElementsJson.requireForm(shown);
        return shown;
      } catch (RuntimeException e) { // no text, or a client has changed its memory
        return null;
      }
    }

    private void write(
        JsonGenerator json, List<@Nullable ResponseTensor> written, List<String> leftOut) {
      json.writeStartObject();
      if (!id.isEmpty()) {
        json.writeStringProperty("id", id);
      }
      if (model != null) {
        json.writeStringProperty("model_name", model);
        json.writeStringProperty("model_version", version == null ? "" : version);
      }
      if (!leftOut.isEmpty()) {
        json.writeObjectPropertyStart("parameters");
        json.writeStringProperty(LEFT_OUT, String.join(",", leftOut));
        json.writeEndObject();
      }
      json.writeArrayPropertyStart(isRequest ? "inputs" : "outputs");
      for (int i = 0; i < tensors.size(); i++) {
        write(json, tensors.get(i), written.get(i));
      }
      json.writeEndArray();
      json.writeEndObject();
    }

    private static void write(
        JsonGenerator json, PayloadTensor tensor, @Nullable ResponseTensor shown) {
      json.writeStartObject();
      json.writeStringProperty("name", tensor.name());
      json.writeStringProperty("datatype", tensor.dtype().wireName());
      json.writeArrayPropertyStart("shape");
      for (int axis = 0; axis < tensor.shape().rank(); axis++) {
        json.writeNumber(tensor.shape().dim(axis));
      }
      json.writeEndArray();
      if (shown != null) {
        json.writeArrayPropertyStart("data");
        ElementsJson.write(json, shown);
        json.writeEndArray();
      }
      json.writeEndObject();
    }
  }
}
