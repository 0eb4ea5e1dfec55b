package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.kserve.codec.MessageLimits;
import dev.roundhouse.kserve.codec.ParameterValue;
import dev.roundhouse.platform.logging.LogSettings;
import dev.roundhouse.platform.rest.JsonReply;
import dev.roundhouse.worker.trace.TraceSettings;
import dev.roundhouse.worker.trace.Tracing;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/** What is logged and what is traced, and changes of it; each answer is what holds then. */
@RestController
final class SettingsController {
  /** Setting whose value is a list, of one element too. */
  private static final String LEVELS = "trace_level";

  private final Engine engine;
  private final LogSettings logs;
  private final TraceSettings traces;

  SettingsController(Engine engine, LogSettings logs, Tracing tracing) {
    this.engine = engine;
    this.logs = logs;
    traces = tracing.settings();
  }

  @GetMapping("/v2/logging")
  void logging(HttpServletResponse response) throws IOException {
    JsonReply.send(
        response,
        HttpStatus.OK.value(),
        json -> {
          json.writeStartObject();
          logs.current().forEach((name, value) -> write(json, name, value));
          json.writeEndObject();
        });
  }

  private static void write(JsonGenerator json, String name, Object value) {
    switch (value) {
      case Boolean flag -> json.writeBooleanProperty(name, flag);
      case Long number -> json.writeNumberProperty(name, number);
      default -> json.writeStringProperty(name, value.toString());
    }
  }

  @PostMapping("/v2/logging")
  void changeLogging(HttpServletRequest request, HttpServletResponse response) throws IOException {
    logs.change(ControlBody.read(engine, request, Map.of(), SettingsController::logSettings));
    logging(response);
  }

  /** Nulls change nothing. */
  private static Map<String, Object> logSettings(JsonParser json, JsonFields fields) {
    Map<String, Object> wanted = new HashMap<>();
    while (fields.nextProperty()) {
      String name = fields.setting();
      if (json.nextToken() != JsonToken.VALUE_NULL) {
        wanted.put(name, value(fields.parameter("request", name)));
      }
    }
    return wanted;
  }

  private static Object value(ParameterValue value) {
    return switch (value) {
      case ParameterValue.Flag(boolean flag) -> flag;
      case ParameterValue.Signed(long number) -> number;
      case ParameterValue.Unsigned(long number) -> Long.toUnsignedString(number);
      case ParameterValue.Real(double number) -> number;
      case ParameterValue.Text(String text) -> text;
      case ParameterValue.Unset unset ->
          throw new IllegalStateException("JSON has no value that is not set");
    };
  }

  @GetMapping("/v2/trace/setting")
  void traces(HttpServletResponse response) throws IOException {
    sendTraces("", response);
  }

  @GetMapping("/v2/models/{name}/trace/setting")
  void traces(@PathVariable String name, HttpServletResponse response) throws IOException {
    sendTraces(name, response);
  }

  @PostMapping("/v2/trace/setting")
  void changeTraces(HttpServletRequest request, HttpServletResponse response) throws IOException {
    changeTraces("", request, response);
  }

  @PostMapping("/v2/models/{name}/trace/setting")
  void changeTraces(
      @PathVariable String name, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    traces.change(
        name, ControlBody.read(engine, request, Map.of(), SettingsController::traceSettings));
    sendTraces(name, response);
  }

  private void sendTraces(String model, HttpServletResponse response) throws IOException {
    Map<String, List<String>> settings = traces.current(model);
    JsonReply.send(
        response,
        HttpStatus.OK.value(),
        json -> {
          json.writeStartObject();
          settings.forEach((name, values) -> write(json, name, values));
          json.writeEndObject();
        });
  }

  private static void write(JsonGenerator json, String name, List<String> values) {
    if (values.size() == 1 && !name.equals(LEVELS)) {
      json.writeStringProperty(name, values.getFirst());
      return;
    }
    json.writeArrayPropertyStart(name);
    values.forEach(json::writeString);
    json.writeEndArray();
  }

  /** A null takes a setting back. */
  private static Map<String, List<String>> traceSettings(JsonParser json, JsonFields fields) {
    Map<String, List<String>> wanted = new HashMap<>();
    while (fields.nextProperty()) {
      String name = fields.setting();
      List<String> values = new ArrayList<>();
      switch (json.nextToken()) {
        case VALUE_NULL -> {
          // no values
        }
        case START_ARRAY -> {
          while (json.nextToken() != JsonToken.END_ARRAY) {
            if (values.size() == MessageLimits.PARAMETERS) {
              throw JsonFields.exceeded("'" + name + "'", "more values", MessageLimits.PARAMETERS);
            }
            fields.value();
            values.add(value(fields.parameter("request", name)).toString());
          }
        }
        default -> values.add(value(fields.parameter("request", name)).toString());
      }
      wanted.put(name, values);
    }
    return wanted;
  }
}
