package dev.roundhouse.platform.rest;

import dev.roundhouse.kserve.codec.MessageLimits;
import dev.roundhouse.kserve.codec.ParameterValue;
import dev.roundhouse.kserve.proto.LogSettingsRequest;
import dev.roundhouse.kserve.proto.LogSettingsResponse;
import dev.roundhouse.kserve.proto.TraceSettingRequest;
import dev.roundhouse.kserve.proto.TraceSettingRequest.SettingValue;
import dev.roundhouse.kserve.proto.TraceSettingResponse;
import java.util.List;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/** What is logged and what is traced, and changes of it; each answer is what holds then. */
final class SettingForms {
  /** Setting whose value is a list, of one element too. */
  private static final String LEVELS = "trace_level";

  private static final long MAX_UINT32 = (1L << Integer.SIZE) - 1;

  private SettingForms() {}

  /** Nulls change nothing. */
  static LogSettingsRequest logs(ControlRequest request) {
    LogSettingsRequest.Builder wanted = LogSettingsRequest.newBuilder();
    request.read(
        (name, json, fields) -> {
          fields.setting(name);
          if (json.currentToken() != JsonToken.VALUE_NULL) {
            wanted.putSettings(name, logValue(fields.parameter("request", name)));
          }
        });
    return wanted.build();
  }

  /** Numbers that the message does not have are refused as the texts that they are written as. */
  private static LogSettingsRequest.SettingValue logValue(ParameterValue value) {
    LogSettingsRequest.SettingValue.Builder setting = LogSettingsRequest.SettingValue.newBuilder();
    return switch (value) {
      case ParameterValue.Flag(boolean flag) -> setting.setBoolParam(flag).build();
      case ParameterValue.Signed(long number) when number >= 0 && number <= MAX_UINT32 ->
          setting.setUint32Param((int) number).build();
      default -> setting.setStringParam(text(value)).build();
    };
  }

  static String text(ParameterValue value) {
    return switch (value) {
      case ParameterValue.Flag(boolean flag) -> Boolean.toString(flag);
      case ParameterValue.Signed(long number) -> Long.toString(number);
      case ParameterValue.Unsigned(long number) -> Long.toUnsignedString(number);
      case ParameterValue.Real(double number) -> Double.toString(number);
      case ParameterValue.Text(String text) -> text;
      case ParameterValue.Unset unset ->
          throw new IllegalStateException("JSON has no value that is not set");
    };
  }

  static JsonAnswer logs(LogSettingsResponse settings) {
    return JsonAnswer.object(
        json -> settings.getSettingsMap().forEach((name, value) -> writeLog(json, name, value)));
  }

  private static void writeLog(
      JsonGenerator json, String name, LogSettingsResponse.SettingValue value) {
    switch (value.getParameterChoiceCase()) {
      case BOOL_PARAM -> json.writeBooleanProperty(name, value.getBoolParam());
      case UINT32_PARAM ->
          json.writeNumberProperty(name, Integer.toUnsignedLong(value.getUint32Param()));
      case STRING_PARAM, PARAMETERCHOICE_NOT_SET ->
          json.writeStringProperty(name, value.getStringParam());
    }
  }

  /** A null takes a setting back. */
  static TraceSettingRequest traces(ControlRequest request) {
    TraceSettingRequest.Builder wanted =
        TraceSettingRequest.newBuilder().setModelName(request.name());
    request.read(
        (name, json, fields) -> {
          fields.setting(name);
          wanted.putSettings(name, traceValue(name, json, fields));
        });
    return wanted.build();
  }

  private static SettingValue traceValue(String name, JsonParser json, JsonFields fields) {
    SettingValue.Builder values = SettingValue.newBuilder();
    if (json.currentToken() == JsonToken.START_ARRAY) {
      while (json.nextToken() != JsonToken.END_ARRAY) {
        if (values.getValueCount() == MessageLimits.PARAMETERS) {
          throw JsonFields.exceeded("'" + name + "'", "more values", MessageLimits.PARAMETERS);
        }
        fields.value();
        values.addValue(text(fields.parameter("request", name)));
      }
    } else if (json.currentToken() != JsonToken.VALUE_NULL) {
      values.addValue(text(fields.parameter("request", name)));
    }
    return values.build();
  }

  static JsonAnswer traces(TraceSettingResponse settings) {
    return JsonAnswer.object(
        json ->
            settings
                .getSettingsMap()
                .forEach((name, value) -> writeTrace(json, name, value.getValueList())));
  }

  private static void writeTrace(JsonGenerator json, String name, List<String> values) {
    if (values.size() == 1 && !name.equals(LEVELS)) {
      json.writeStringProperty(name, values.getFirst());
      return;
    }
    json.writeArrayPropertyStart(name);
    values.forEach(json::writeString);
    json.writeEndArray();
  }
}
