package dev.roundhouse.worker.transport.shm;

import dev.roundhouse.cuda.CudaMemory;

/** Whether memory on the worker's GPU can be registered. */
public sealed interface CudaAccess {
  /** The worker's device is not an NVIDIA GPU. */
  CudaAccess NO_GPU = new None("its device is no GPU of NVIDIA's");

  /**
   * Memory can be registered.
   *
   * @param memory taken
   */
  record Through(CudaMemory memory) implements CudaAccess {}

  /** The operator has not enabled client shared memory. */
  record Off() implements CudaAccess {}

  /**
   * No access.
   *
   * @param why the reason in refusals, after a colon
   */
  record None(String why) implements CudaAccess {}
}
