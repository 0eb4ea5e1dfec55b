package dev.roundhouse.platform.rest;

import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.ModelConfigRequest;
import dev.roundhouse.kserve.proto.ModelMetadataRequest;
import dev.roundhouse.kserve.proto.ModelReadyRequest;
import dev.roundhouse.kserve.proto.ModelStatisticsRequest;
import dev.roundhouse.kserve.proto.RepositoryIndexRequest;
import dev.roundhouse.kserve.proto.RepositoryIndexResponse;
import dev.roundhouse.kserve.proto.RepositoryIndexResponse.ModelIndex;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.platform.grpc.LocalClient;
import tools.jackson.core.JsonGenerator;

/** Requests about the server and its models, and their answers. */
final class ModelForms {
  private static final int YES = 200;
  private static final int NO = 503;

  private ModelForms() {}

  static ModelMetadataRequest metadata(ControlRequest request) {
    return ModelMetadataRequest.newBuilder()
        .setName(request.name())
        .setVersion(request.version())
        .build();
  }

  static ModelConfigRequest config(ControlRequest request) {
    return ModelConfigRequest.newBuilder()
        .setName(request.name())
        .setVersion(request.version())
        .build();
  }

  static ModelStatisticsRequest statistics(ControlRequest request) {
    return ModelStatisticsRequest.newBuilder()
        .setName(request.name())
        .setVersion(request.version())
        .build();
  }

  static RepositoryIndexRequest allReady(ControlRequest request) {
    return RepositoryIndexRequest.newBuilder().setReady(true).build();
  }

  /** Of models, each once. */
  static JsonAnswer names(RepositoryIndexResponse index) {
    return JsonAnswer.object(
        json -> {
          json.writeArrayPropertyStart("models");
          index.getModelsList().stream()
              .map(ModelIndex::getName)
              .sorted()
              .distinct()
              .forEach(json::writeString);
          json.writeEndArray();
        });
  }

  /** As OpenAI's clients list them. */
  static JsonAnswer listed(RepositoryIndexResponse index) {
    return JsonAnswer.object(
        json -> {
          json.writeStringProperty("object", "list");
          json.writeArrayPropertyStart("data");
          index.getModelsList().stream()
              .map(ModelIndex::getName)
              .sorted()
              .distinct()
              .forEach(
                  name -> {
                    json.writeStartObject();
                    describe(json, name);
                    json.writeEndObject();
                  });
          json.writeEndArray();
        });
  }

  /** One as OpenAI's clients ask for it: it is ready, or not there. */
  static JsonAnswer one(ControlRequest request, LocalClient services) {
    String name = request.name();
    ModelReadyRequest asked = ModelReadyRequest.newBuilder().setName(name).build();
    if (!services.ask(GRPCInferenceServiceGrpc.getModelReadyMethod(), asked).getReady()) {
      throw new WireException(
          WireStatus.NOT_FOUND, "model '" + name + "' is not there, or not ready");
    }
    return JsonAnswer.object(json -> describe(json, name));
  }

  /** Since when there is a model is not known; clients need a number. */
  private static void describe(JsonGenerator json, String name) {
    json.writeStringProperty("id", name);
    json.writeStringProperty("object", "model");
    json.writeNumberProperty("created", 0);
    json.writeStringProperty("owned_by", "roundhouse");
  }

  /** With the body that KServe's clients parse; Triton's look at the code only. */
  static JsonAnswer health(String what, boolean yes) {
    return JsonAnswer.object(yes ? YES : NO, json -> json.writeBooleanProperty(what, yes));
  }

  /**
   * The call answers no for an unknown model, which needs another answer here: the index tells the
   * two apart.
   */
  static JsonAnswer ready(ControlRequest request, LocalClient services) {
    String name = request.name();
    ModelReadyRequest asked =
        ModelReadyRequest.newBuilder().setName(name).setVersion(request.version()).build();
    boolean ready = services.ask(GRPCInferenceServiceGrpc.getModelReadyMethod(), asked).getReady();
    if (!ready && !isKnown(name, request.version(), services)) {
      throw new WireException(
          WireStatus.NOT_FOUND, "Request for unknown model: '" + name + "' is not found");
    }
    return JsonAnswer.object(
        ready ? YES : NO,
        json -> {
          json.writeStringProperty("name", name);
          json.writeBooleanProperty("ready", ready);
        });
  }

  private static boolean isKnown(String name, String version, LocalClient services) {
    return services
        .ask(
            GRPCInferenceServiceGrpc.getRepositoryIndexMethod(),
            RepositoryIndexRequest.getDefaultInstance())
        .getModelsList()
        .stream()
        .anyMatch(
            line ->
                line.getName().equals(name)
                    && !line.getVersion().isEmpty() // else it was never loaded
                    && (version.isEmpty() || line.getVersion().equals(version)));
  }
}
