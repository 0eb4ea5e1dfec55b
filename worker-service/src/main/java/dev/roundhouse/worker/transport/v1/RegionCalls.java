package dev.roundhouse.worker.transport.v1;

import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest.Register;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest.Register.CUDASharedMemoryIdentifier;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest.Register.SystemSharedMemoryIdentifier;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlResponse;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlResponse.Status;
import dev.roundhouse.kserve.v1.proto.SharedMemoryRegion;
import dev.roundhouse.worker.transport.shm.ClientRegions;
import dev.roundhouse.worker.transport.shm.CudaRegions;
import java.util.concurrent.CompletableFuture;

/** What clients ask of shared memory, which in v1 is one call. Thread-safe. */
final class RegionCalls {
  private final ClientRegions regions;

  RegionCalls(ClientRegions regions) {
    this.regions = regions;
  }

  /**
   * @return completes with an answer that lacks its status
   * @throws WireException when it is refused at once
   */
  CompletableFuture<SharedMemoryControlResponse.Builder> control(
      SharedMemoryControlRequest request) {
    return switch (request.getSharedMemoryControlCase()) {
      case REGISTER -> done(register(request.getRegister()));
      case UNREGISTER -> {
        String name = request.getUnregister().getName();
        if (name.isEmpty()) {
          throw WireException.invalidArgument(
              "unregister.name is empty; name a region, or ask for unregister_all");
        }
        yield done(unregister(name));
      }
      case UNREGISTER_ALL -> done(unregister(""));
      case STATUS ->
          CompletableFuture.completedFuture(
              SharedMemoryControlResponse.newBuilder().setSharedMemoryStatus(status()));
      case SHAREDMEMORYCONTROL_NOT_SET ->
          throw WireException.invalidArgument(
              "the request asks for nothing; set register, unregister, unregister_all or status");
    };
  }

  private static CompletableFuture<SharedMemoryControlResponse.Builder> done(
      CompletableFuture<Void> change) {
    return change.thenApply(nothing -> SharedMemoryControlResponse.newBuilder());
  }

  private CompletableFuture<Void> register(Register asked) {
    return switch (asked.getSharedMemoryTypesCase()) {
      case SYSTEM_SHARED_MEMORY -> {
        SystemSharedMemoryIdentifier object = asked.getSystemSharedMemory();
        regions.register(
            asked.getName(), object.getSharedMemoryKey(), object.getOffset(), asked.getByteSize());
        yield CompletableFuture.completedFuture(null);
      }
      case CUDA_SHARED_MEMORY -> {
        CUDASharedMemoryIdentifier memory = asked.getCudaSharedMemory();
        yield regions
            .cuda()
            .register(
                asked.getName(),
                memory.getRawHandle().toByteArray(),
                memory.getDeviceId(),
                asked.getByteSize());
      }
      case SHAREDMEMORYTYPES_NOT_SET ->
          throw WireException.invalidArgument(
              "register of '%s' has no memory; set system_shared_memory or cuda_shared_memory"
                  .formatted(asked.getName()));
    };
  }

  /** Of both kinds, which share their names. */
  private CompletableFuture<Void> unregister(String name) {
    regions.unregister(name);
    return regions.cuda().unregister(name);
  }

  private Status status() {
    Status.Builder status = Status.newBuilder();
    for (ClientRegions.Registered region : regions.status("")) {
      SharedMemoryRegion.Builder told = status.addSharedMemoryRegionBuilder();
      told.setName(region.name()).setByteSize(region.byteSize());
      told.getSystemSharedMemoryBuilder()
          .setSharedMemoryKey(region.key())
          .setOffset(region.offset());
    }
    for (CudaRegions.Registered region : regions.cuda().status("")) {
      SharedMemoryRegion.Builder told = status.addSharedMemoryRegionBuilder();
      told.setName(region.name()).setByteSize(region.byteSize());
      told.getCudaSharedMemoryBuilder().setDeviceId(region.device());
    }
    return status.build();
  }
}
