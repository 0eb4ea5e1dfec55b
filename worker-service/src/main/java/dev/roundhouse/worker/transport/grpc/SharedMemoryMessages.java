package dev.roundhouse.worker.transport.grpc;

import dev.roundhouse.kserve.proto.CudaSharedMemoryStatusRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryStatusResponse;
import dev.roundhouse.kserve.proto.SystemSharedMemoryStatusRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryStatusResponse;
import dev.roundhouse.kserve.proto.SystemSharedMemoryStatusResponse.RegionStatus;
import dev.roundhouse.worker.transport.shm.ClientRegions;
import dev.roundhouse.worker.transport.shm.ClientRegions.Registered;
import dev.roundhouse.worker.transport.shm.CudaRegions;

/** What clients are told of the memory that they share. */
final class SharedMemoryMessages {
  private SharedMemoryMessages() {}

  static SystemSharedMemoryStatusResponse systemStatus(
      ClientRegions regions, SystemSharedMemoryStatusRequest request) {
    var status = SystemSharedMemoryStatusResponse.newBuilder();
    for (Registered region : regions.status(request.getName())) {
      status.putRegions(
          region.name(),
          RegionStatus.newBuilder()
              .setName(region.name())
              .setKey(region.key())
              .setOffset(region.offset())
              .setByteSize(region.byteSize())
              .build());
    }
    return status.build();
  }

  static CudaSharedMemoryStatusResponse cudaStatus(
      CudaRegions regions, CudaSharedMemoryStatusRequest request) {
    var status = CudaSharedMemoryStatusResponse.newBuilder();
    for (CudaRegions.Registered region : regions.status(request.getName())) {
      status.putRegions(
          region.name(),
          CudaSharedMemoryStatusResponse.RegionStatus.newBuilder()
              .setName(region.name())
              .setDeviceId(region.device())
              .setByteSize(region.byteSize())
              .build());
    }
    return status.build();
  }
}
