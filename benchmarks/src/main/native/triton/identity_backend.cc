// A Triton backend that answers the input "x", FP32 of any shape, with the output "y" of the same bytes: one copy. It
// reports no statistics, which spares the core their bookkeeping.
#include <cstring>

#include "triton_backend.h"

namespace {

TRITONSERVER_Error* Answer(TRITONBACKEND_Request* request) {
  TRITONBACKEND_Input* input;
  const int64_t* shape;
  uint32_t rank;
  uint64_t bytes;
  uint32_t buffers;
  RETURN_IF_ERROR(TRITONBACKEND_RequestInput(request, "x", &input));
  RETURN_IF_ERROR(TRITONBACKEND_InputProperties(input, nullptr, nullptr, &shape, &rank, &bytes, &buffers));

  TRITONBACKEND_Response* response;
  TRITONBACKEND_Output* output;
  void* out;
  TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
  int64_t memory_id = 0;
  RETURN_IF_ERROR(TRITONBACKEND_ResponseNew(&response, request));
  RETURN_IF_ERROR(TRITONBACKEND_ResponseOutput(response, &output, "y", TRITONSERVER_TYPE_FP32, shape, rank));
  RETURN_IF_ERROR(TRITONBACKEND_OutputBuffer(output, &out, bytes, &memory, &memory_id));
  auto* to = static_cast<char*>(out);
  for (uint32_t i = 0; i < buffers; i++) {
    const void* in;
    uint64_t part;
    memory = TRITONSERVER_MEMORY_CPU;
    memory_id = 0;
    RETURN_IF_ERROR(TRITONBACKEND_InputBuffer(input, i, &in, &part, &memory, &memory_id));
    std::memcpy(to, in, part);
    to += part;
  }
  return TRITONBACKEND_ResponseSend(response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, nullptr);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(
    TRITONBACKEND_ModelInstance*, TRITONBACKEND_Request** requests, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (TRITONSERVER_Error* error = Answer(requests[i]); error != nullptr) roundhouse::Refuse(requests[i], error);
    TRITONBACKEND_RequestRelease(requests[i], TRITONSERVER_REQUEST_RELEASE_ALL);
  }
  return nullptr;
}
