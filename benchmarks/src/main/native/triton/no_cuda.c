/* Stands in for libcudart.so.12 where there is no GPU: the core is linked against it and asks it for devices. Every
 * call fails with "no CUDA-capable device"; callers pass arguments, which the x86-64 calling convention lets us ignore. */
enum { NO_DEVICE = 100 };

#define REFUSE(name) \
  int name(void) { return NO_DEVICE; }

REFUSE(cudaDeviceCanAccessPeer)
REFUSE(cudaDeviceEnablePeerAccess)
REFUSE(cudaDeviceGetPCIBusId)
REFUSE(cudaDeviceGetStreamPriorityRange)
REFUSE(cudaFree)
REFUSE(cudaFreeHost)
REFUSE(cudaGetDevice)
REFUSE(cudaGetDeviceProperties_v2)
REFUSE(cudaHostAlloc)
REFUSE(cudaLaunchHostFunc)
REFUSE(cudaMalloc)
REFUSE(cudaMallocManaged)
REFUSE(cudaMemGetInfo)
REFUSE(cudaMemPrefetchAsync)
REFUSE(cudaMemcpy)
REFUSE(cudaMemcpyAsync)
REFUSE(cudaMemset)
REFUSE(cudaSetDevice)
REFUSE(cudaStreamCreate)
REFUSE(cudaStreamDestroy)
REFUSE(cudaStreamGetFlags)
REFUSE(cudaStreamSynchronize)

int cudaGetDeviceCount(int* count) {
  *count = 0;
  return NO_DEVICE;
}

const char* cudaGetErrorString(int error) {
  (void)error;
  return "no CUDA device";
}
