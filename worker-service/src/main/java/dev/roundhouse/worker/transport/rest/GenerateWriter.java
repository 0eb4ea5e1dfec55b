package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.kserve.codec.ResponseMessage;
import dev.roundhouse.kserve.codec.ResponseTensor;
import dev.roundhouse.platform.rest.ElementsJson;
import dev.roundhouse.platform.rest.Json;
import dev.roundhouse.platform.rest.JsonReply;
import dev.roundhouse.transport.http1.Reply;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;
import tools.jackson.core.JsonGenerator;

/**
 * Writes what a model answered as one JSON object, with its outputs for properties: a value where
 * an output has one element, else a flat array. By itself, or as an event of a stream, which is
 * sent at once.
 */
final class GenerateWriter {
  private static final byte[] BEFORE = "data: ".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] BEHIND = "\n\n".getBytes(StandardCharsets.US_ASCII);

  private final Reply reply;

  GenerateWriter(Reply reply) {
    this.reply = reply;
  }

  /**
   * @throws dev.roundhouse.kserve.status.WireException INVALID_ARGUMENT, before anything is sent,
   *     when an output has no form in JSON
   * @throws IOException when the client is gone
   */
  void only(ResponseMessage answer) throws IOException {
    requireForm(answer);
    reply.header(HttpHeaders.CONTENT_TYPE, MediaType.APPLICATION_JSON_VALUE);
    write(answer, reply.body());
  }

  /** As {@link #only}, but an event. */
  void event(ResponseMessage answer) throws IOException {
    requireForm(answer);
    begin();
    OutputStream out = reply.body();
    out.write(BEFORE);
    write(answer, out);
    out.write(BEHIND);
    reply.flush();
  }

  /** An event that says what went wrong. */
  void event(String error) throws IOException {
    OutputStream out = reply.body();
    out.write(BEFORE);
    out.write(JsonReply.error(error));
    out.write(BEHIND);
  }

  /** The head of a stream of events. */
  void begin() {
    if (!reply.hasBegun()) {
      reply.header(HttpHeaders.CONTENT_TYPE, MediaType.TEXT_EVENT_STREAM_VALUE);
      reply.header(HttpHeaders.CACHE_CONTROL, "no-cache");
    }
  }

  private static void requireForm(ResponseMessage answer) {
    answer.outputs().forEach(ElementsJson::requireForm);
  }

  private static void write(ResponseMessage answer, OutputStream out) {
    try (JsonGenerator json = Json.generator(out)) {
      json.writeStartObject();
      if (!answer.id().isEmpty()) {
        json.writeStringProperty(GenerateReader.ID, answer.id());
      }
      json.writeStringProperty(GenerateReader.MODEL_NAME, answer.modelName());
      json.writeStringProperty(GenerateReader.MODEL_VERSION, answer.modelVersion());
      InferWriter.writeParameters(json, answer.parameters());
      for (ResponseTensor output : answer.outputs()) {
        json.writeName(output.name());
        boolean single = output.shape().elementCount() == 1;
        if (!single) {
          json.writeStartArray();
        }
        ElementsJson.write(json, output);
        if (!single) {
          json.writeEndArray();
        }
      }
      json.writeEndObject();
    }
  }
}
