package dev.roundhouse.gateway.calls;

import dev.roundhouse.kserve.proto.CudaSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryStatusRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryStatusResponse;
import dev.roundhouse.kserve.proto.CudaSharedMemoryUnregisterRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryUnregisterResponse;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.GRPCInferenceServiceFutureStub;
import dev.roundhouse.kserve.proto.SystemSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryStatusRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryStatusResponse;
import dev.roundhouse.kserve.proto.SystemSharedMemoryUnregisterRequest;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest.Register;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlResponse;
import dev.roundhouse.kserve.v1.proto.SharedMemoryRegion;
import io.grpc.Status;
import java.util.concurrent.CompletableFuture;

/** What clients of v1 ask of shared memory, which there is one call; by the calls of v2. */
public final class V1Regions {
  private final SharedRegions regions;
  private final FleetCalls calls;

  public V1Regions(SharedRegions regions, FleetCalls calls) {
    this.regions = regions;
    this.calls = calls;
  }

  /**
   * @return completes with an answer that lacks its status
   * @throws WireException when it is refused at once
   */
  public CompletableFuture<SharedMemoryControlResponse.Builder> control(
      SharedMemoryControlRequest request) {
    return switch (request.getSharedMemoryControlCase()) {
      case REGISTER -> register(request.getRegister());
      case UNREGISTER -> {
        String name = request.getUnregister().getName();
        if (name.isEmpty()) {
          throw WireException.invalidArgument(
              "unregister.name is empty; name a region, or ask for unregister_all");
        }
        yield unregister(name);
      }
      case UNREGISTER_ALL -> unregister("");
      case STATUS -> status();
      case SHAREDMEMORYCONTROL_NOT_SET ->
          throw WireException.invalidArgument(
              "the request asks for nothing; set register, unregister, unregister_all or status");
    };
  }

  private CompletableFuture<SharedMemoryControlResponse.Builder> register(Register asked) {
    CompletableFuture<?> done =
        switch (asked.getSharedMemoryTypesCase()) {
          case SYSTEM_SHARED_MEMORY ->
              regions.register(
                  SystemSharedMemoryRegisterRequest.newBuilder()
                      .setName(asked.getName())
                      .setKey(asked.getSystemSharedMemory().getSharedMemoryKey())
                      .setOffset(asked.getSystemSharedMemory().getOffset())
                      .setByteSize(asked.getByteSize())
                      .build());
          case CUDA_SHARED_MEMORY ->
              regions.register(
                  CudaSharedMemoryRegisterRequest.newBuilder()
                      .setName(asked.getName())
                      .setRawHandle(asked.getCudaSharedMemory().getRawHandle())
                      .setDeviceId(asked.getCudaSharedMemory().getDeviceId())
                      .setByteSize(asked.getByteSize())
                      .build());
          case SHAREDMEMORYTYPES_NOT_SET ->
              throw WireException.invalidArgument(
                  "register of '%s' has no memory; set system_shared_memory or cuda_shared_memory"
                      .formatted(asked.getName()));
        };
    return done.thenApply(nothing -> SharedMemoryControlResponse.newBuilder());
  }

  /** Of both kinds, which share their names. */
  private CompletableFuture<SharedMemoryControlResponse.Builder> unregister(String name) {
    return regions
        .unregister(SystemSharedMemoryUnregisterRequest.newBuilder().setName(name).build())
        .thenCompose(
            done ->
                regions
                    .unregister(
                        CudaSharedMemoryUnregisterRequest.newBuilder().setName(name).build())
                    .exceptionally(
                        failure ->
                            unless(
                                failure, CudaSharedMemoryUnregisterResponse.getDefaultInstance())))
        .thenApply(done -> SharedMemoryControlResponse.newBuilder());
  }

  private CompletableFuture<SharedMemoryControlResponse.Builder> status() {
    return regions
        .status(SystemSharedMemoryStatusRequest.getDefaultInstance())
        .thenCombine(
            calls
                .same(
                    CudaSharedMemoryStatusRequest.getDefaultInstance(),
                    GRPCInferenceServiceFutureStub::cudaSharedMemoryStatus)
                .exceptionally(
                    failure ->
                        unless(failure, CudaSharedMemoryStatusResponse.getDefaultInstance())),
            V1Regions::told);
  }

  /** Workers without a GPU have none of its regions. */
  private static <T> T unless(Throwable failure, T none) {
    Status status = Status.fromThrowable(failure);
    if (status.getCode() == Status.Code.UNIMPLEMENTED) {
      return none;
    }
    throw status.asRuntimeException();
  }

  private static SharedMemoryControlResponse.Builder told(
      SystemSharedMemoryStatusResponse system, CudaSharedMemoryStatusResponse cuda) {
    SharedMemoryControlResponse.Status.Builder all =
        SharedMemoryControlResponse.Status.newBuilder();
    system
        .getRegionsMap()
        .forEach(
            (name, region) -> {
              SharedMemoryRegion.Builder told = all.addSharedMemoryRegionBuilder();
              told.setName(name).setByteSize(region.getByteSize());
              told.getSystemSharedMemoryBuilder()
                  .setSharedMemoryKey(region.getKey())
                  .setOffset(region.getOffset());
            });
    cuda.getRegionsMap()
        .forEach(
            (name, region) -> {
              SharedMemoryRegion.Builder told = all.addSharedMemoryRegionBuilder();
              told.setName(name).setByteSize(region.getByteSize());
              told.getCudaSharedMemoryBuilder().setDeviceId(region.getDeviceId());
            });
    return SharedMemoryControlResponse.newBuilder().setSharedMemoryStatus(all);
  }
}
