package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.kserve.codec.ParameterValue;
import dev.roundhouse.kserve.codec.ResponseMessage;
import dev.roundhouse.kserve.codec.ResponseTensor;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.platform.rest.ContentCoding;
import dev.roundhouse.platform.rest.ElementsJson;
import dev.roundhouse.platform.rest.Json;
import dev.roundhouse.platform.rest.MemoryHold;
import dev.roundhouse.transport.http1.Reply;
import dev.roundhouse.worker.transport.rest.InferDocument.OutputForms;
import java.io.IOException;
import java.io.OutputStream;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;
import tools.jackson.core.JsonGenerator;

/**
 * Writes the answer to one inference: JSON, then the binary tensors, which go to the socket from
 * the memory the engine made them in unless they are compressed. Elements of JSON are written as
 * they are sent; only where binary tensors follow is the JSON made first, as its length stands
 * before it.
 */
final class InferWriter {
  static final String JSON_LENGTH = "Inference-Header-Content-Length";

  /** Tensors below this size are not worth compressing. */
  private static final int SMALL_BYTES = 1 << 10;

  /** Of tensors, that are written as JSON before others on a thread would notice. */
  private static final int BRIEF_BYTES = 4 << 10;

  private static final int COPY_BYTES = 64 << 10;

  private final ResponseMessage answer;
  private final OutputForms forms;
  private final List<ResponseTensor> outputs;

  /**
   * @param answer borrowed until it is written
   */
  InferWriter(ResponseMessage answer, OutputForms forms) {
    this.answer = answer;
    this.forms = forms;
    outputs = answer.outputs();
  }

  /**
   * Writes all of it.
   *
   * @param accepted the request's Accept-Encoding
   * @param memory what JSON before binary tensors is made in
   * @throws WireException INVALID_ARGUMENT, before anything is sent, when an output has no form in
   *     JSON
   * @throws IOException when the client is gone
   */
  void write(@Nullable String accepted, Reply reply, MemoryHold memory) throws IOException {
    boolean anyBinary = false;
    for (ResponseTensor output : outputs) {
      anyBinary |= isBinary(output);
      if (isJson(output)) {
        ElementsJson.requireForm(output);
      }
    }
    ContentCoding coding = coding(accepted);
    reply.header(HttpHeaders.VARY, HttpHeaders.ACCEPT_ENCODING);
    if (coding != ContentCoding.IDENTITY) {
      reply.header(HttpHeaders.CONTENT_ENCODING, coding.token());
    }
    if (anyBinary) {
      writeWithBinary(reply, coding, memory);
    } else {
      reply.header(HttpHeaders.CONTENT_TYPE, MediaType.APPLICATION_JSON_VALUE);
      try (OutputStream out = coding.compressing(reply.body())) {
        writeJson(out);
      }
    }
  }

  private ContentCoding coding(@Nullable String accepted) {
    long tensorBytes = 0;
    for (ResponseTensor output : outputs) {
      tensorBytes += output.data().remaining();
    }
    return AcceptEncoding.choose(accepted, tensorBytes < SMALL_BYTES);
  }

  /** True when writing is CPU-heavy: much JSON, or compression. */
  boolean takesLong(@Nullable String accepted) {
    long jsonBytes = 0;
    for (ResponseTensor output : outputs) {
      jsonBytes += isJson(output) ? output.data().remaining() : 0;
    }
    return jsonBytes > BRIEF_BYTES || coding(accepted) != ContentCoding.IDENTITY;
  }

  private void writeWithBinary(Reply reply, ContentCoding coding, MemoryHold memory)
      throws IOException {
    HeldBytes json = new HeldBytes(memory);
    writeJson(json);
    reply.header(HttpHeaders.CONTENT_TYPE, MediaType.APPLICATION_OCTET_STREAM_VALUE);
    reply.header(JSON_LENGTH, Integer.toString(json.size()));
    if (coding == ContentCoding.IDENTITY) {
      reply.length(json.size() + binaryBytes());
      json.writeTo(reply.body());
      for (ResponseTensor output : outputs) {
        if (isBinary(output)) {
          reply.lend(output.data().duplicate());
        }
      }
      return;
    }
    try (OutputStream out = coding.compressing(reply.body())) {
      json.writeTo(out);
      byte[] copy = new byte[COPY_BYTES];
      for (ResponseTensor output : outputs) {
        if (isBinary(output)) {
          copy(output.data().duplicate(), copy, out);
        }
      }
    }
  }

  private static void copy(ByteBuffer data, byte[] through, OutputStream out) throws IOException {
    while (data.hasRemaining()) {
      int count = Math.min(data.remaining(), through.length);
      data.get(through, 0, count);
      out.write(through, 0, count);
      Thread.yield(); // compressing takes the processor for long
    }
  }

  private long binaryBytes() {
    long bytes = 0;
    for (ResponseTensor output : outputs) {
      if (isBinary(output)) {
        bytes += output.data().remaining();
      }
    }
    return bytes;
  }

  private void writeJson(OutputStream out) {
    try (JsonGenerator json = Json.generator(out)) {
      json.writeStartObject();
      if (!answer.id().isEmpty()) {
        json.writeStringProperty("id", answer.id());
      }
      json.writeStringProperty("model_name", answer.modelName());
      json.writeStringProperty("model_version", answer.modelVersion());
      writeParameters(json, answer.parameters());
      json.writeArrayPropertyStart("outputs");
      for (ResponseTensor output : outputs) {
        writeOutput(json, output);
      }
      json.writeEndArray();
      json.writeEndObject();
    }
  }

  private void writeOutput(JsonGenerator json, ResponseTensor output) {
    json.writeStartObject();
    json.writeStringProperty("name", output.name());
    json.writeStringProperty("datatype", output.dtype().wireName());
    json.writeArrayPropertyStart("shape");
    for (int axis = 0; axis < output.shape().rank(); axis++) {
      json.writeNumber(output.shape().dim(axis));
    }
    json.writeEndArray();
    if (isJson(output)) {
      json.writeArrayPropertyStart("data");
      ElementsJson.write(json, output);
      json.writeEndArray();
    } else if (isBinary(output)) {
      json.writeObjectPropertyStart("parameters");
      json.writeNumberProperty("binary_data_size", output.data().remaining());
      json.writeEndObject();
    }
    json.writeEndObject();
  }

  static void writeParameters(JsonGenerator json, Map<String, ParameterValue> parameters) {
    if (!parameters.isEmpty()) {
      json.writeObjectPropertyStart("parameters");
      parameters.forEach((name, value) -> writeParameter(json, name, value));
      json.writeEndObject();
    }
  }

  private static void writeParameter(JsonGenerator json, String name, ParameterValue value) {
    switch (value) {
      case ParameterValue.Flag(boolean flag) -> json.writeBooleanProperty(name, flag);
      case ParameterValue.Signed(long number) -> json.writeNumberProperty(name, number);
      case ParameterValue.Unsigned(long number) ->
          json.writeNumberProperty(name, new BigInteger(Long.toUnsignedString(number)));
      case ParameterValue.Real(double number) -> json.writeNumberProperty(name, number);
      case ParameterValue.Text(String text) -> json.writeStringProperty(name, text);
      case ParameterValue.Unset unset -> json.writeNullProperty(name);
    }
  }

  /** True when its bytes follow the JSON. */
  private boolean isBinary(ResponseTensor output) {
    return !isElsewhere(output) && forms.isBinary(output.name());
  }

  /** True when its elements are in the JSON. */
  private boolean isJson(ResponseTensor output) {
    return !isElsewhere(output) && !forms.isBinary(output.name());
  }

  /**
   * True when it was written to where its parameters say. They stay out of the JSON, as Triton's:
   * its C++ client takes an output with parameters for a binary one.
   */
  private static boolean isElsewhere(ResponseTensor output) {
    return !output.parameters().isEmpty();
  }
}
