package dev.roundhouse.worker.transport.v1;

import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest.Register.CUDASharedMemoryIdentifier;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest.Register.SystemSharedMemoryIdentifier;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlResponse.Status;
import dev.roundhouse.kserve.v1.proto.SharedMemoryRegion;
import dev.roundhouse.platform.v1.V1Regions;
import dev.roundhouse.worker.transport.shm.ClientRegions;
import dev.roundhouse.worker.transport.shm.CudaRegions;
import java.util.concurrent.CompletableFuture;

/** Shared memory that this worker's clients have registered. Thread-safe. */
final class RegionCalls implements V1Regions {
  private final ClientRegions regions;

  RegionCalls(ClientRegions regions) {
    this.regions = regions;
  }

  @Override
  public CompletableFuture<?> register(
      String name, SystemSharedMemoryIdentifier object, long bytes) {
    regions.register(name, object.getSharedMemoryKey(), object.getOffset(), bytes);
    return CompletableFuture.completedFuture(null);
  }

  @Override
  public CompletableFuture<?> register(String name, CUDASharedMemoryIdentifier memory, long bytes) {
    return regions
        .cuda()
        .register(name, memory.getRawHandle().toByteArray(), memory.getDeviceId(), bytes);
  }

  @Override
  public CompletableFuture<?> unregister(String name) {
    regions.unregister(name);
    return regions.cuda().unregister(name);
  }

  @Override
  public CompletableFuture<Status> status() {
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
    return CompletableFuture.completedFuture(status.build());
  }
}
