// What our backends for the peers have in common.
#ifndef ROUNDHOUSE_BENCHMARKS_TRITON_BACKEND_H_
#define ROUNDHOUSE_BENCHMARKS_TRITON_BACKEND_H_

#include "triton_api.h"

#define RETURN_IF_ERROR(call)                                               \
  do {                                                                      \
    if (TRITONSERVER_Error* error = (call); error != nullptr) return error; \
  } while (false)

namespace roundhouse {

// Tells the client what went wrong; the caller has no other use for the error.
inline void Refuse(TRITONBACKEND_Request* request, TRITONSERVER_Error* error) {
  TRITONBACKEND_Response* response;
  if (TRITONSERVER_Error* lost = TRITONBACKEND_ResponseNew(&response, request); lost == nullptr) {
    lost = TRITONBACKEND_ResponseSend(response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, error);
    if (lost != nullptr) TRITONSERVER_ErrorDelete(lost);
  } else {
    TRITONSERVER_ErrorDelete(lost);
  }
  TRITONSERVER_ErrorDelete(error);
}

}  // namespace roundhouse

#endif  // ROUNDHOUSE_BENCHMARKS_TRITON_BACKEND_H_
