package dev.roundhouse.pjrt;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.device.DeviceException.Code;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PjrtStatusTest {

  @ParameterizedTest
  @CsvSource({
    "3, argument 1 is missing, INVALID_ARGUMENT",
    "8, Out of memory allocating 4 bytes, OUT_OF_MEMORY",
    "12, not in this plugin, UNSUPPORTED",
    "13, Out of memory allocating 4 bytes, OUT_OF_MEMORY",
    "13, something else, INTERNAL",
    "2, something else, INTERNAL",
    "13, 'CUDA error: Failed call to cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered', DEVICE_LOST",
    "13, 'cuCtxSynchronize: CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error', DEVICE_LOST",
    "8, 'cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY: out of memory', OUT_OF_MEMORY"
  })
  void shouldGiveTheCodeThatACallerCanActOn(int status, String message, Code code) {
    assertThat(PjrtStatus.exception("Call", status, message).code()).isEqualTo(code);
  }
}
