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
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest.Register.CUDASharedMemoryIdentifier;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest.Register.SystemSharedMemoryIdentifier;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlResponse;
import dev.roundhouse.kserve.v1.proto.SharedMemoryRegion;
import dev.roundhouse.platform.v1.V1Regions;
import io.grpc.Status;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/** Shared memory of clients of v1, by the calls of v2 of all workers. Thread-safe. */
public final class FleetRegions implements V1Regions {
  private final SharedRegions regions;
  private final FleetCalls calls;

  public FleetRegions(SharedRegions regions, FleetCalls calls) {
    this.regions = regions;
    this.calls = calls;
  }

  @Override
  public CompletableFuture<?> register(
      String name, SystemSharedMemoryIdentifier object, long bytes) {
    return regions.register(
        SystemSharedMemoryRegisterRequest.newBuilder()
            .setName(name)
            .setKey(object.getSharedMemoryKey())
            .setOffset(object.getOffset())
            .setByteSize(bytes)
            .build());
  }

  @Override
  public CompletableFuture<?> register(String name, CUDASharedMemoryIdentifier memory, long bytes) {
    return regions.register(
        CudaSharedMemoryRegisterRequest.newBuilder()
            .setName(name)
            .setRawHandle(memory.getRawHandle())
            .setDeviceId(memory.getDeviceId())
            .setByteSize(bytes)
            .build());
  }

  @Override
  public CompletableFuture<?> unregister(String name) {
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
                                failure, CudaSharedMemoryUnregisterResponse.getDefaultInstance())));
  }

  @Override
  public CompletableFuture<SharedMemoryControlResponse.Status> status() {
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
            FleetRegions::told);
  }

  /** Workers without a GPU have none of its regions. */
  private static <T> T unless(Throwable failure, T none) {
    if (Status.fromThrowable(failure).getCode() == Status.Code.UNIMPLEMENTED) {
      return none;
    }
    throw failure instanceof CompletionException same ? same : new CompletionException(failure);
  }

  private static SharedMemoryControlResponse.Status told(
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
    return all.build();
  }
}
