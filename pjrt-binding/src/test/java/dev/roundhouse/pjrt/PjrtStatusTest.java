package dev.roundhouse.pjrt;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.device.DeviceException.Code;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PjrtStatusTest {

  @ParameterizedTest
  @CsvSource({
    "3, argument 1 is missing, INVALID_ARGUMENT",
    "8, Out of memory allocating 4 bytes, OUT_OF_MEMORY",
    "12, not in this plugin, UNSUPPORTED",
    "13, Out of memory allocating 4 bytes, OUT_OF_MEMORY",
    "13, something else, INTERNAL",
    "2, something else, INTERNAL",
    "9, No visible GPU devices., INTERNAL"
  })
  void shouldGiveTheCodeThatACallerCanActOn(int status, String message, Code code) {
    assertThat(PjrtStatus.exception("Call", status, message).code()).isEqualTo(code);
  }

  /** As XLA writes them, in reports of its users. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "CUDA error: Failed call to cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered",
        "Failed to retrieve branch_index value on stream 0x5583cca477e0: CUDA error: Could not synchronize CUDA stream: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered",
        "Failed to execute XLA Runtime executable: run time error: custom call 'xla.gpu.func.launch' failed: Failed to launch CUDA kernel: add with block dimensions: 128x1x1 and grid dimensions: 448x1x1: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered.",
        "CUDA error: Failed to launch CUDA kernel: CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure",
        "cuCtxSynchronize: CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error encountered",
        "CUDA error: : CUDA_ERROR_NVLINK_UNCORRECTABLE: uncorrectable NVLink error detected during the execution",
        "CUDA error: Failed to query device: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected",
        "CUDA_ERROR_DEVICE_UNAVAILABLE: CUDA-capable device(s) is/are busy or unavailable",
        "failed to query event: CUDA_ERROR_MISALIGNED_ADDRESS: misaligned address",
        "CUDA_ERROR_UNKNOWN: unknown error",
        "CUDA error: Failed call to cuEventQuery: UNKNOWN ERROR (700)",
        "CUDA runtime error: cudaErrorIllegalAddress: an illegal memory access was encountered",
        "cudaErrorLaunchFailure: unspecified launch failure",
        "stream is uninitialized or in an error state"
      })
  void shouldSayThatTheDeviceIsLostWhenItsContextIsDead(String message) {
    for (int status : new int[] {2, 8, 13}) {
      assertThat(PjrtStatus.exception("Call", status, message).code()).isEqualTo(Code.DEVICE_LOST);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "CUDA error: Failed to allocate: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        "Failed to allocate: cudaErrorMemoryAllocation: out of memory",
        "CUDA error: Failed call to cuMemAlloc: UNKNOWN ERROR (2)",
        "Out of memory while trying to allocate 17179869184 bytes."
      })
  void shouldSayThatMemoryIsOutWhateverTheStatus(String message) {
    for (int status : new int[] {8, 13}) {
      assertThat(PjrtStatus.exception("Call", status, message).code())
          .isEqualTo(Code.OUT_OF_MEMORY);
    }
  }

  /** What a caller may try again, or a mistake of one program. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "CUDA error: : CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: too many resources requested for launch",
        "CUDA_ERROR_NOT_FOUND: named symbol not found",
        "CUDA_ERROR_INVALID_VALUE: invalid argument",
        "CUDA error: Failed call to cuInit: UNKNOWN ERROR (303)",
        "CUDA error: x: UNKNOWN ERROR (7000)",
        "cudaErrorIllegalAddressing",
        "CUDNN_STATUS_INTERNAL_ERROR",
        "Failed to register host memory at address: 0x7f00s"
      })
  void shouldNotGiveTheDeviceUpForLess(String message) {
    assertThat(PjrtStatus.exception("Call", 13, message).code()).isEqualTo(Code.INTERNAL);
  }
}
