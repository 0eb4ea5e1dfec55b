package dev.roundhouse.platform.rest;

import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.v1.RequestStatuses;
import dev.roundhouse.kserve.v1.proto.HealthRequest;
import dev.roundhouse.kserve.v1.proto.HealthResponse;
import dev.roundhouse.kserve.v1.proto.ModelControlRequest;
import dev.roundhouse.kserve.v1.proto.RepositoryRequest;
import dev.roundhouse.kserve.v1.proto.RepositoryResponse;
import dev.roundhouse.kserve.v1.proto.RequestStatusCode;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest.Register;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest.Register.SystemSharedMemoryIdentifier;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest.Unregister;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest.UnregisterAll;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlResponse;
import dev.roundhouse.kserve.v1.proto.SharedMemoryStatus;
import dev.roundhouse.kserve.v1.proto.StatusRequest;
import dev.roundhouse.kserve.v1.proto.StatusResponse;

/** Requests of v1 but inference, and their answers. */
final class V1Forms {
  private static final int NO = 400; // what v1 answers

  private V1Forms() {}

  static StatusRequest status(ControlRequest request) {
    return StatusRequest.newBuilder().setModelName(request.name()).build();
  }

  static V1Answer toldStatus(ControlRequest request, StatusResponse answer) {
    return V1Answer.of(request, answer.getRequestStatus(), answer.getServerStatus());
  }

  static HealthRequest health(ControlRequest request) {
    return HealthRequest.newBuilder().setMode(request.part("mode")).build();
  }

  /** Clients look at the code alone. */
  static V1Answer toldHealth(HealthResponse answer) {
    boolean isNo =
        answer.getRequestStatus().getCode() == RequestStatusCode.SUCCESS && !answer.getHealth();
    return V1Answer.of(
        answer.getRequestStatus(),
        isNo ? NO : RequestStatuses.httpCode(answer.getRequestStatus().getCode()));
  }

  static ModelControlRequest load(ControlRequest request) {
    return control(request, ModelControlRequest.Type.LOAD);
  }

  static ModelControlRequest unload(ControlRequest request) {
    return control(request, ModelControlRequest.Type.UNLOAD);
  }

  private static ModelControlRequest control(
      ControlRequest request, ModelControlRequest.Type type) {
    return ModelControlRequest.newBuilder().setModelName(request.name()).setType(type).build();
  }

  static RepositoryRequest index(ControlRequest request) {
    return RepositoryRequest.newBuilder().setIndex(true).build();
  }

  static V1Answer toldIndex(ControlRequest request, RepositoryResponse answer) {
    return V1Answer.of(request, answer.getRequestStatus(), answer.getIndex());
  }

  /** The key is written with its slash, so that the path has two. */
  static SharedMemoryControlRequest register(ControlRequest request) {
    return SharedMemoryControlRequest.newBuilder()
        .setRegister(
            Register.newBuilder()
                .setName(request.part("region"))
                .setByteSize(number(request, "byte_size"))
                .setSystemSharedMemory(
                    SystemSharedMemoryIdentifier.newBuilder()
                        .setSharedMemoryKey("/" + request.part("key"))
                        .setOffset(number(request, "offset"))))
        .build();
  }

  private static long number(ControlRequest request, String part) {
    try {
      return Long.parseUnsignedLong(request.part(part));
    } catch (NumberFormatException e) {
      throw WireException.invalidArgument(
          "%s is '%s'; it must be a whole number of bytes".formatted(part, request.part(part)));
    }
  }

  static SharedMemoryControlRequest unregister(ControlRequest request) {
    return SharedMemoryControlRequest.newBuilder()
        .setUnregister(Unregister.newBuilder().setName(request.part("region")))
        .build();
  }

  static SharedMemoryControlRequest unregisterAll(ControlRequest request) {
    return SharedMemoryControlRequest.newBuilder()
        .setUnregisterAll(UnregisterAll.getDefaultInstance())
        .build();
  }

  static SharedMemoryControlRequest regions(ControlRequest request) {
    return SharedMemoryControlRequest.newBuilder()
        .setStatus(SharedMemoryControlRequest.Status.getDefaultInstance())
        .build();
  }

  static V1Answer toldRegions(ControlRequest request, SharedMemoryControlResponse answer) {
    return V1Answer.of(
        request,
        answer.getRequestStatus(),
        SharedMemoryStatus.newBuilder()
            .addAllSharedMemoryRegion(answer.getSharedMemoryStatus().getSharedMemoryRegionList())
            .build());
  }
}
