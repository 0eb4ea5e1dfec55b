// A Triton backend that does as little as a checkable backend can: each request's answer is the first 4 bytes of its
// input. It reports no statistics, which spares the core their bookkeeping.
#include <cstring>

#include "triton_backend.h"

namespace {

TRITONSERVER_Error* Answer(TRITONBACKEND_Request* request) {
  TRITONBACKEND_Input* input;
  const void* in;
  uint64_t bytes;
  TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
  int64_t memory_id = 0;
  RETURN_IF_ERROR(TRITONBACKEND_RequestInputByIndex(request, 0, &input));
  RETURN_IF_ERROR(TRITONBACKEND_InputBuffer(input, 0, &in, &bytes, &memory, &memory_id));

  TRITONBACKEND_Response* response;
  TRITONBACKEND_Output* output;
  void* out;
  const int64_t shape[] = {1, 1};
  RETURN_IF_ERROR(TRITONBACKEND_ResponseNew(&response, request));
  RETURN_IF_ERROR(TRITONBACKEND_ResponseOutput(response, &output, "y", TRITONSERVER_TYPE_FP32, shape, 2));
  memory = TRITONSERVER_MEMORY_CPU;
  memory_id = 0;
  RETURN_IF_ERROR(TRITONBACKEND_OutputBuffer(output, &out, 4, &memory, &memory_id));
  std::memcpy(out, in, 4);
  return TRITONBACKEND_ResponseSend(response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, nullptr);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(
    TRITONBACKEND_ModelInstance*, TRITONBACKEND_Request** requests, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    // Once a request was answered the core must not get it back, so an error here ends in the caller's check instead.
    Answer(requests[i]);
    TRITONBACKEND_RequestRelease(requests[i], TRITONSERVER_REQUEST_RELEASE_ALL);
  }
  return nullptr;
}
