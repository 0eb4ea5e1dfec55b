package dev.roundhouse.platform.rest;

import static dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.getCudaSharedMemoryRegisterMethod;
import static dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.getCudaSharedMemoryStatusMethod;
import static dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.getCudaSharedMemoryUnregisterMethod;
import static dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.getLogSettingsMethod;
import static dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.getModelConfigMethod;
import static dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.getModelMetadataMethod;
import static dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.getModelStatisticsMethod;
import static dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.getRepositoryIndexMethod;
import static dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.getRepositoryModelLoadMethod;
import static dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.getRepositoryModelUnloadMethod;
import static dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.getServerLiveMethod;
import static dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.getServerMetadataMethod;
import static dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.getServerReadyMethod;
import static dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.getSystemSharedMemoryRegisterMethod;
import static dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.getSystemSharedMemoryStatusMethod;
import static dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.getSystemSharedMemoryUnregisterMethod;
import static dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.getTraceSettingMethod;
import static dev.roundhouse.platform.rest.ControlRoute.by;
import static dev.roundhouse.platform.rest.ControlRoute.get;
import static dev.roundhouse.platform.rest.ControlRoute.post;
import static dev.roundhouse.platform.rest.ControlRoute.postWithoutBody;

import dev.roundhouse.kserve.proto.ServerLiveRequest;
import dev.roundhouse.kserve.proto.ServerMetadataRequest;
import dev.roundhouse.kserve.proto.ServerReadyRequest;
import dev.roundhouse.platform.rest.ControlRoute.Answering;
import java.util.List;

/**
 * Every route of the protocol: which call of gRPC answers it, how the request becomes that of the
 * call, and how what is answered is written. The same for worker and gateway.
 */
final class ControlTable {
  private static final Answering METADATA =
      by(getModelMetadataMethod(), ModelForms::metadata, JsonAnswer::message);
  private static final Answering READY = ModelForms::ready;
  private static final Answering CONFIG =
      by(
          getModelConfigMethod(),
          ModelForms::config,
          answer -> JsonAnswer.message(answer.getConfig()));
  private static final Answering STATISTICS =
      by(getModelStatisticsMethod(), ModelForms::statistics, JsonAnswer::message);

  private static final Answering INDEX =
      by(getRepositoryIndexMethod(), RepositoryForms::index, RepositoryForms::lines);
  private static final Answering LOAD =
      by(
          getRepositoryModelLoadMethod(),
          RepositoryForms::load,
          (request, done) -> RepositoryForms.done(request, "load"));
  private static final Answering UNLOAD =
      by(
          getRepositoryModelUnloadMethod(),
          RepositoryForms::unload,
          (request, done) -> RepositoryForms.done(request, "unload"));

  private static final Answering TRACES =
      by(getTraceSettingMethod(), SettingForms::traces, SettingForms::traces);
  private static final Answering LOGS =
      by(getLogSettingsMethod(), SettingForms::logs, SettingForms::logs);

  private static final Answering SYSTEM_STATUS =
      by(
          getSystemSharedMemoryStatusMethod(),
          RegionForms::systemStatus,
          answer -> JsonAnswer.messages(answer.getRegionsMap().values()));
  private static final Answering SYSTEM_UNREGISTER =
      by(
          getSystemSharedMemoryUnregisterMethod(),
          RegionForms::systemUnregister,
          done -> JsonAnswer.DONE);
  private static final Answering CUDA_STATUS =
      by(
          getCudaSharedMemoryStatusMethod(),
          RegionForms::cudaStatus,
          answer -> JsonAnswer.messages(answer.getRegionsMap().values()));
  private static final Answering CUDA_UNREGISTER =
      by(
          getCudaSharedMemoryUnregisterMethod(),
          RegionForms::cudaUnregister,
          done -> JsonAnswer.DONE);

  static final List<ControlRoute> ROUTES =
      List.of(
          get(
              "/v2",
              by(
                  getServerMetadataMethod(),
                  request -> ServerMetadataRequest.getDefaultInstance(),
                  JsonAnswer::message)),
          get("/v2/openapi.json", (request, services) -> OpenApi.DOCUMENT),
          get(
              "/v2/health/live",
              by(
                  getServerLiveMethod(),
                  request -> ServerLiveRequest.getDefaultInstance(),
                  answer -> ModelForms.health("live", answer.getLive()))),
          get(
              "/v2/health/ready",
              by(
                  getServerReadyMethod(),
                  request -> ServerReadyRequest.getDefaultInstance(),
                  answer -> ModelForms.health("ready", answer.getReady()))),
          get(
              "/v2/models",
              by(getRepositoryIndexMethod(), ModelForms::allReady, ModelForms::names)),
          get("/v2/models/stats", STATISTICS),
          get("/v2/models/{name}", METADATA),
          get("/v2/models/{name}/versions/{version}", METADATA),
          get("/v2/models/{name}/ready", READY),
          get("/v2/models/{name}/versions/{version}/ready", READY),
          get("/v2/models/{name}/config", CONFIG),
          get("/v2/models/{name}/versions/{version}/config", CONFIG),
          get("/v2/models/{name}/stats", STATISTICS),
          get("/v2/models/{name}/versions/{version}/stats", STATISTICS),
          inference("/v2/models/{name}/infer"),
          inference("/v2/models/{name}/versions/{version}/infer"),
          inference("/v2/models/{name}/generate"),
          inference("/v2/models/{name}/versions/{version}/generate"),
          inference("/v2/models/{name}/generate_stream"),
          inference("/v2/models/{name}/versions/{version}/generate_stream"),
          inference(TextPath.EMBEDDINGS.path()),
          inference(TextPath.RERANK.path()),
          inference(TextPath.CLASSIFY.path()),
          get(
              "/v1/models",
              by(getRepositoryIndexMethod(), ModelForms::allReady, ModelForms::listed)),
          get("/v1/models/{name}", ModelForms::one),
          post("/v2/repository/index", INDEX),
          post("/v2/repository/{repository}/index", INDEX),
          post("/v2/repository/models/{name}/load", LOAD),
          post("/v2/repository/{repository}/models/{name}/load", LOAD),
          post("/v2/repository/models/{name}/unload", UNLOAD),
          post("/v2/repository/{repository}/models/{name}/unload", UNLOAD),
          get("/v2/trace/setting", TRACES),
          post("/v2/trace/setting", TRACES),
          get("/v2/models/{name}/trace/setting", TRACES),
          post("/v2/models/{name}/trace/setting", TRACES),
          get("/v2/logging", LOGS),
          post("/v2/logging", LOGS),
          get("/v2/systemsharedmemory/status", SYSTEM_STATUS),
          get("/v2/systemsharedmemory/region/{region}/status", SYSTEM_STATUS),
          post(
              "/v2/systemsharedmemory/region/{region}/register",
              by(
                  getSystemSharedMemoryRegisterMethod(),
                  RegionForms::systemRegister,
                  done -> JsonAnswer.DONE)),
          postWithoutBody("/v2/systemsharedmemory/unregister", SYSTEM_UNREGISTER),
          postWithoutBody("/v2/systemsharedmemory/region/{region}/unregister", SYSTEM_UNREGISTER),
          get("/v2/cudasharedmemory/status", CUDA_STATUS),
          get("/v2/cudasharedmemory/region/{region}/status", CUDA_STATUS),
          post(
              "/v2/cudasharedmemory/region/{region}/register",
              by(
                  getCudaSharedMemoryRegisterMethod(),
                  RegionForms::cudaRegister,
                  done -> JsonAnswer.DONE)),
          postWithoutBody("/v2/cudasharedmemory/unregister", CUDA_UNREGISTER),
          postWithoutBody("/v2/cudasharedmemory/region/{region}/unregister", CUDA_UNREGISTER));

  private ControlTable() {}

  /** Answered elsewhere, and here by what methods it may be asked. */
  private static ControlRoute inference(String template) {
    return new ControlRoute("POST", template, true, null);
  }
}
