package dev.roundhouse.worker.transport.shm;

import dev.roundhouse.cuda.CudaMemory;

/** Whether memory on the worker's GPU can be registered. */
public sealed interface CudaAccess {
  /** The worker's device is not an NVIDIA GPU. */
  CudaAccess NO_GPU = new None("its device is no GPU of NVIDIA's");

  /**
   * It can.
   *
   * @param memory taken
   */
  record Through(CudaMemory memory) implements CudaAccess {}

  /** It could, but the operator has not allowed clients to share memory. */
  record Off() implements CudaAccess {}

  /**
   * No access.
   *
   * @param why reason for clients, to follow a colon
   */
  record None(String why) implements CudaAccess {}
}
