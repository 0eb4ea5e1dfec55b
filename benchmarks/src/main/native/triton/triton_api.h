// The part of Triton's C API (version 1.34) that the peers call; the core itself comes as a library without headers.
// Everything is an opaque pointer, so names, argument types and the values of a few constants are all there is to say.
#ifndef ROUNDHOUSE_BENCHMARKS_TRITON_API_H_
#define ROUNDHOUSE_BENCHMARKS_TRITON_API_H_

#include <cstddef>
#include <cstdint>

extern "C" {

struct TRITONSERVER_Error;
struct TRITONSERVER_Server;
struct TRITONSERVER_ServerOptions;
struct TRITONSERVER_ResponseAllocator;
struct TRITONSERVER_InferenceRequest;
struct TRITONSERVER_InferenceResponse;
struct TRITONSERVER_InferenceTrace;

enum TRITONSERVER_DataType { TRITONSERVER_TYPE_INT32 = 8, TRITONSERVER_TYPE_FP32 = 11 };
enum TRITONSERVER_Error_Code { TRITONSERVER_ERROR_INTERNAL = 1, TRITONSERVER_ERROR_INVALID_ARG = 3 };
enum TRITONSERVER_MemoryType { TRITONSERVER_MEMORY_CPU = 0 };
enum TRITONSERVER_ModelControlMode { TRITONSERVER_MODEL_CONTROL_NONE = 0 };
constexpr uint32_t TRITONSERVER_REQUEST_RELEASE_ALL = 1;
constexpr uint32_t TRITONSERVER_RESPONSE_COMPLETE_FINAL = 1;

TRITONSERVER_Error* TRITONSERVER_ErrorNew(TRITONSERVER_Error_Code, const char* message);
void TRITONSERVER_ErrorDelete(TRITONSERVER_Error*);
const char* TRITONSERVER_ErrorMessage(TRITONSERVER_Error*);

TRITONSERVER_Error* TRITONSERVER_ServerOptionsNew(TRITONSERVER_ServerOptions**);
TRITONSERVER_Error* TRITONSERVER_ServerOptionsDelete(TRITONSERVER_ServerOptions*);
TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetModelRepositoryPath(TRITONSERVER_ServerOptions*, const char*);
TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetBackendDirectory(TRITONSERVER_ServerOptions*, const char*);
TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetModelControlMode(TRITONSERVER_ServerOptions*,
                                                                  TRITONSERVER_ModelControlMode);
TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetLogInfo(TRITONSERVER_ServerOptions*, bool);
TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetLogWarn(TRITONSERVER_ServerOptions*, bool);
TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetMetrics(TRITONSERVER_ServerOptions*, bool);
TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetGpuMetrics(TRITONSERVER_ServerOptions*, bool);
TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetCpuMetrics(TRITONSERVER_ServerOptions*, bool);

TRITONSERVER_Error* TRITONSERVER_ServerNew(TRITONSERVER_Server**, TRITONSERVER_ServerOptions*);
TRITONSERVER_Error* TRITONSERVER_ServerIsReady(TRITONSERVER_Server*, bool* ready);
TRITONSERVER_Error* TRITONSERVER_ServerInferAsync(TRITONSERVER_Server*, TRITONSERVER_InferenceRequest*,
                                                  TRITONSERVER_InferenceTrace*);

typedef TRITONSERVER_Error* (*TRITONSERVER_ResponseAllocatorAllocFn_t)(
    TRITONSERVER_ResponseAllocator*, const char* tensor, size_t bytes, TRITONSERVER_MemoryType, int64_t type_id,
    void* userp, void** buffer, void** buffer_userp, TRITONSERVER_MemoryType* actual_type, int64_t* actual_type_id);
typedef TRITONSERVER_Error* (*TRITONSERVER_ResponseAllocatorReleaseFn_t)(TRITONSERVER_ResponseAllocator*, void* buffer,
                                                                         void* buffer_userp, size_t bytes,
                                                                         TRITONSERVER_MemoryType, int64_t type_id);
typedef TRITONSERVER_Error* (*TRITONSERVER_ResponseAllocatorStartFn_t)(TRITONSERVER_ResponseAllocator*, void* userp);
TRITONSERVER_Error* TRITONSERVER_ResponseAllocatorNew(TRITONSERVER_ResponseAllocator**,
                                                      TRITONSERVER_ResponseAllocatorAllocFn_t,
                                                      TRITONSERVER_ResponseAllocatorReleaseFn_t,
                                                      TRITONSERVER_ResponseAllocatorStartFn_t);

typedef void (*TRITONSERVER_InferenceRequestReleaseFn_t)(TRITONSERVER_InferenceRequest*, uint32_t flags, void* userp);
typedef void (*TRITONSERVER_InferenceResponseCompleteFn_t)(TRITONSERVER_InferenceResponse*, uint32_t flags,
                                                           void* userp);
TRITONSERVER_Error* TRITONSERVER_InferenceRequestNew(TRITONSERVER_InferenceRequest**, TRITONSERVER_Server*,
                                                     const char* model, int64_t version);
TRITONSERVER_Error* TRITONSERVER_InferenceRequestDelete(TRITONSERVER_InferenceRequest*);
TRITONSERVER_Error* TRITONSERVER_InferenceRequestAddInput(TRITONSERVER_InferenceRequest*, const char* name,
                                                          TRITONSERVER_DataType, const int64_t* shape, uint64_t rank);
TRITONSERVER_Error* TRITONSERVER_InferenceRequestAppendInputData(TRITONSERVER_InferenceRequest*, const char* name,
                                                                 const void* base, size_t bytes,
                                                                 TRITONSERVER_MemoryType, int64_t type_id);
TRITONSERVER_Error* TRITONSERVER_InferenceRequestRemoveAllInputData(TRITONSERVER_InferenceRequest*, const char* name);
TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetReleaseCallback(TRITONSERVER_InferenceRequest*,
                                                                    TRITONSERVER_InferenceRequestReleaseFn_t,
                                                                    void* userp);
TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetResponseCallback(TRITONSERVER_InferenceRequest*,
                                                                     TRITONSERVER_ResponseAllocator*,
                                                                     void* allocator_userp,
                                                                     TRITONSERVER_InferenceResponseCompleteFn_t,
                                                                     void* response_userp);
TRITONSERVER_Error* TRITONSERVER_InferenceResponseError(TRITONSERVER_InferenceResponse*);
TRITONSERVER_Error* TRITONSERVER_InferenceResponseDelete(TRITONSERVER_InferenceResponse*);

struct TRITONBACKEND_ModelInstance;
struct TRITONBACKEND_Request;
struct TRITONBACKEND_Response;
struct TRITONBACKEND_Input;
struct TRITONBACKEND_Output;

TRITONSERVER_Error* TRITONBACKEND_RequestInput(TRITONBACKEND_Request*, const char* name, TRITONBACKEND_Input**);
TRITONSERVER_Error* TRITONBACKEND_RequestInputByIndex(TRITONBACKEND_Request*, uint32_t index, TRITONBACKEND_Input**);
TRITONSERVER_Error* TRITONBACKEND_RequestRelease(TRITONBACKEND_Request*, uint32_t flags);
// Name, shape and the rest may be null for those who do not want them.
TRITONSERVER_Error* TRITONBACKEND_InputProperties(TRITONBACKEND_Input*, const char** name, TRITONSERVER_DataType*,
                                                  const int64_t** shape, uint32_t* rank, uint64_t* bytes,
                                                  uint32_t* buffers);
TRITONSERVER_Error* TRITONBACKEND_InputBuffer(TRITONBACKEND_Input*, uint32_t index, const void** buffer,
                                              uint64_t* bytes, TRITONSERVER_MemoryType*, int64_t* type_id);
TRITONSERVER_Error* TRITONBACKEND_ResponseNew(TRITONBACKEND_Response**, TRITONBACKEND_Request*);
TRITONSERVER_Error* TRITONBACKEND_ResponseOutput(TRITONBACKEND_Response*, TRITONBACKEND_Output**, const char* name,
                                                 TRITONSERVER_DataType, const int64_t* shape, uint32_t rank);
TRITONSERVER_Error* TRITONBACKEND_OutputBuffer(TRITONBACKEND_Output*, void** buffer, uint64_t bytes,
                                               TRITONSERVER_MemoryType*, int64_t* type_id);
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportStatistics(TRITONBACKEND_ModelInstance*, TRITONBACKEND_Request*,
                                                                bool success, uint64_t start_nanos,
                                                                uint64_t compute_start_nanos,
                                                                uint64_t compute_end_nanos, uint64_t end_nanos);
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportBatchStatistics(TRITONBACKEND_ModelInstance*, uint64_t rows,
                                                                     uint64_t start_nanos,
                                                                     uint64_t compute_start_nanos,
                                                                     uint64_t compute_end_nanos, uint64_t end_nanos);
TRITONSERVER_Error* TRITONBACKEND_ResponseSend(TRITONBACKEND_Response*, uint32_t flags, TRITONSERVER_Error*);

}  // extern "C"

#endif  // ROUNDHOUSE_BENCHMARKS_TRITON_API_H_
