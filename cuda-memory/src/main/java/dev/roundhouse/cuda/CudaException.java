package dev.roundhouse.cuda;

/** What CUDA answered to a call, or why it cannot be called. */
public final class CudaException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public CudaException(String message) {
    super(message);
  }

  public CudaException(String message, Throwable cause) {
    super(message, cause);
  }

  /**
   * @param call the function
   * @param name of the error, such as {@code cudaErrorInvalidValue}
   */
  static CudaException of(String call, int code, String name, String meaning) {
    return new CudaException("%s: %s (%d): %s".formatted(call, name, code, meaning));
  }
}
