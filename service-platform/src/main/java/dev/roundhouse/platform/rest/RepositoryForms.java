package dev.roundhouse.platform.rest;

import dev.roundhouse.kserve.codec.ParameterValue;
import dev.roundhouse.kserve.proto.ModelRepositoryParameter;
import dev.roundhouse.kserve.proto.RepositoryIndexRequest;
import dev.roundhouse.kserve.proto.RepositoryIndexResponse;
import dev.roundhouse.kserve.proto.RepositoryModelLoadRequest;
import dev.roundhouse.kserve.proto.RepositoryModelUnloadRequest;
import java.util.LinkedHashMap;
import java.util.Map;

/** Requests to the model repository and their answers. Unknown properties are ignored. */
final class RepositoryForms {
  private static final String REPOSITORY = "repository";

  private RepositoryForms() {}

  static RepositoryIndexRequest index(ControlRequest request) {
    RepositoryIndexRequest.Builder index =
        RepositoryIndexRequest.newBuilder().setRepositoryName(request.part(REPOSITORY));
    request.read(
        (property, json, fields) -> {
          if (property.equals("ready")) {
            index.setReady(fields.flag(property));
          } else {
            json.skipChildren();
          }
        });
    return index.build();
  }

  static JsonAnswer lines(RepositoryIndexResponse index) {
    return JsonAnswer.array(
        index.getModelsList(),
        (json, line) -> {
          json.writeStringProperty("name", line.getName());
          if (!line.getVersion().isEmpty()) {
            json.writeStringProperty("version", line.getVersion());
            json.writeStringProperty("state", line.getState());
          }
          if (!line.getReason().isEmpty()) {
            json.writeStringProperty("reason", line.getReason());
          }
        });
  }

  static RepositoryModelLoadRequest load(ControlRequest request) {
    return RepositoryModelLoadRequest.newBuilder()
        .setRepositoryName(request.part(REPOSITORY))
        .setModelName(request.name())
        .putAllParameters(parameters(request))
        .build();
  }

  static RepositoryModelUnloadRequest unload(ControlRequest request) {
    return RepositoryModelUnloadRequest.newBuilder()
        .setRepositoryName(request.part(REPOSITORY))
        .setModelName(request.name())
        .putAllParameters(parameters(request))
        .build();
  }

  /** What KServe's clients read; Triton's look at the code only. */
  static JsonAnswer done(ControlRequest request, String what) {
    return JsonAnswer.object(
        json -> {
          json.writeStringProperty("name", request.name());
          json.writeBooleanProperty(what, true);
        });
  }

  private static Map<String, ModelRepositoryParameter> parameters(ControlRequest request) {
    Map<String, ModelRepositoryParameter> parameters = new LinkedHashMap<>();
    request.read(
        (property, json, fields) -> {
          if (property.equals("parameters")) {
            fields
                .parameters(property)
                .forEach((name, value) -> parameters.put(name, parameter(value)));
          } else {
            json.skipChildren();
          }
        });
    return parameters;
  }

  /** The message has no other numbers; those are refused for what they are instead of. */
  private static ModelRepositoryParameter parameter(ParameterValue value) {
    ModelRepositoryParameter.Builder parameter = ModelRepositoryParameter.newBuilder();
    return switch (value) {
      case ParameterValue.Flag(boolean flag) -> parameter.setBoolParam(flag).build();
      case ParameterValue.Signed(long number) -> parameter.setInt64Param(number).build();
      default -> parameter.setStringParam(SettingForms.text(value)).build();
    };
  }
}
