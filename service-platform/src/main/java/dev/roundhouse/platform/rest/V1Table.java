package dev.roundhouse.platform.rest;

import static dev.roundhouse.kserve.v1.proto.GRPCServiceGrpc.getHealthMethod;
import static dev.roundhouse.kserve.v1.proto.GRPCServiceGrpc.getModelControlMethod;
import static dev.roundhouse.kserve.v1.proto.GRPCServiceGrpc.getRepositoryMethod;
import static dev.roundhouse.kserve.v1.proto.GRPCServiceGrpc.getSharedMemoryControlMethod;
import static dev.roundhouse.kserve.v1.proto.GRPCServiceGrpc.getStatusMethod;
import static dev.roundhouse.platform.rest.ControlRoute.by;
import static dev.roundhouse.platform.rest.ControlRoute.get;
import static dev.roundhouse.platform.rest.ControlRoute.postWithoutBody;

import dev.roundhouse.kserve.v1.proto.ModelControlResponse;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlResponse;
import dev.roundhouse.platform.rest.ControlRoute.Answering;
import java.util.List;

/** Every route of v1; there where its service is. */
final class V1Table {
  private static final Answering STATUS =
      by(getStatusMethod(), V1Forms::status, V1Forms::toldStatus);

  static final List<ControlRoute> ROUTES =
      List.of(
          get("/api/status", STATUS),
          get("/api/status/{name}", STATUS),
          get("/api/health/{mode}", by(getHealthMethod(), V1Forms::health, V1Forms::toldHealth)),
          inference("/api/infer/{name}"),
          inference("/api/infer/{name}/{version}"),
          postWithoutBody(
              "/api/modelcontrol/load/{name}",
              by(getModelControlMethod(), V1Forms::load, V1Table::done)),
          postWithoutBody(
              "/api/modelcontrol/unload/{name}",
              by(getModelControlMethod(), V1Forms::unload, V1Table::done)),
          get(
              "/api/repository/index",
              by(getRepositoryMethod(), V1Forms::index, V1Forms::toldIndex)),
          postWithoutBody(
              "/api/sharedmemorycontrol/register/{region}//{key}/{offset}/{byte_size}",
              by(getSharedMemoryControlMethod(), V1Forms::register, V1Table::changed)),
          postWithoutBody(
              "/api/sharedmemorycontrol/unregister/{region}",
              by(getSharedMemoryControlMethod(), V1Forms::unregister, V1Table::changed)),
          postWithoutBody(
              "/api/sharedmemorycontrol/unregisterall",
              by(getSharedMemoryControlMethod(), V1Forms::unregisterAll, V1Table::changed)),
          get(
              "/api/sharedmemorycontrol/status",
              by(getSharedMemoryControlMethod(), V1Forms::regions, V1Forms::toldRegions)));

  private V1Table() {}

  private static ControlAnswer done(ControlRequest request, ModelControlResponse answer) {
    return V1Answer.of(answer.getRequestStatus());
  }

  private static ControlAnswer changed(ControlRequest request, SharedMemoryControlResponse answer) {
    return V1Answer.of(answer.getRequestStatus());
  }

  /** Answered elsewhere, and here by what methods it may be asked. */
  private static ControlRoute inference(String template) {
    return new ControlRoute("POST", template, true, null);
  }
}
