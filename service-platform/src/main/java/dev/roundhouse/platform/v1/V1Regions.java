package dev.roundhouse.platform.v1;

import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest.Register.CUDASharedMemoryIdentifier;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest.Register.SystemSharedMemoryIdentifier;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlResponse;
import java.util.concurrent.CompletableFuture;

/** Shared memory of clients, of both kinds, which share their names. Thread-safe. */
public interface V1Regions {
  CompletableFuture<?> register(String name, SystemSharedMemoryIdentifier object, long bytes);

  CompletableFuture<?> register(String name, CUDASharedMemoryIdentifier memory, long bytes);

  /**
   * @param name empty for all
   */
  CompletableFuture<?> unregister(String name);

  CompletableFuture<SharedMemoryControlResponse.Status> status();
}
