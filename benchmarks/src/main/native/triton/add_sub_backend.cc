// A Triton backend for the model that perf_analyzer's examples call "simple": OUTPUT0 and OUTPUT1 are sum and difference
// of INPUT0 and INPUT1, INT32 [n, 16]. It reports statistics, for perf_analyzer reads them.
#include <chrono>
#include <string>

#include "triton_backend.h"

namespace {

struct Operand {
  const int32_t* values;
  const int64_t* shape;
  uint32_t rank;
  uint64_t bytes;
};

uint64_t Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch()).count();
}

TRITONSERVER_Error* Read(TRITONBACKEND_Request* request, const char* name, Operand* operand) {
  TRITONBACKEND_Input* input;
  uint32_t buffers;
  const void* values;
  uint64_t part;
  TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
  int64_t memory_id = 0;
  RETURN_IF_ERROR(TRITONBACKEND_RequestInput(request, name, &input));
  RETURN_IF_ERROR(TRITONBACKEND_InputProperties(input, nullptr, nullptr, &operand->shape, &operand->rank,
                                                &operand->bytes, &buffers));
  if (buffers != 1) {
    std::string what = std::string(name) + " lies in " + std::to_string(buffers) + " buffers; this backend reads one";
    return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INVALID_ARG, what.c_str());
  }
  RETURN_IF_ERROR(TRITONBACKEND_InputBuffer(input, 0, &values, &part, &memory, &memory_id));
  operand->values = static_cast<const int32_t*>(values);
  return nullptr;
}

TRITONSERVER_Error* Output(TRITONBACKEND_Response* response, const char* name, const Operand& like, int32_t** values) {
  TRITONBACKEND_Output* output;
  void* buffer;
  TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
  int64_t memory_id = 0;
  RETURN_IF_ERROR(
      TRITONBACKEND_ResponseOutput(response, &output, name, TRITONSERVER_TYPE_INT32, like.shape, like.rank));
  RETURN_IF_ERROR(TRITONBACKEND_OutputBuffer(output, &buffer, like.bytes, &memory, &memory_id));
  *values = static_cast<int32_t*>(buffer);
  return nullptr;
}

TRITONSERVER_Error* Answer(TRITONBACKEND_Request* request, uint64_t* rows) {
  Operand a, b;
  RETURN_IF_ERROR(Read(request, "INPUT0", &a));
  RETURN_IF_ERROR(Read(request, "INPUT1", &b));
  if (a.bytes != b.bytes) {
    return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INVALID_ARG, "INPUT0 and INPUT1 differ in size");
  }
  TRITONBACKEND_Response* response;
  int32_t* sum;
  int32_t* difference;
  RETURN_IF_ERROR(TRITONBACKEND_ResponseNew(&response, request));
  RETURN_IF_ERROR(Output(response, "OUTPUT0", a, &sum));
  RETURN_IF_ERROR(Output(response, "OUTPUT1", a, &difference));
  for (uint64_t i = 0; i < a.bytes / sizeof(int32_t); i++) {
    sum[i] = a.values[i] + b.values[i];
    difference[i] = a.values[i] - b.values[i];
  }
  *rows += a.shape[0];
  return TRITONBACKEND_ResponseSend(response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, nullptr);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(
    TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request** requests, uint32_t count) {
  uint64_t start = Now();
  uint64_t rows = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t before = Now();
    TRITONSERVER_Error* error = Answer(requests[i], &rows);
    uint64_t after = Now();
    TRITONBACKEND_ModelInstanceReportStatistics(instance, requests[i], error == nullptr, start, before, after, after);
    if (error != nullptr) roundhouse::Refuse(requests[i], error);
    TRITONBACKEND_RequestRelease(requests[i], TRITONSERVER_REQUEST_RELEASE_ALL);
  }
  uint64_t end = Now();
  TRITONBACKEND_ModelInstanceReportBatchStatistics(instance, rows, start, start, end, end);
  return nullptr;
}
