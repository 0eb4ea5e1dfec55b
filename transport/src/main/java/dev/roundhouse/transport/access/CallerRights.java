package dev.roundhouse.transport.access;

import io.grpc.StatusException;
import org.jspecify.annotations.Nullable;

/** What the caller of an admitted request may do. Thread-safe; must not block. */
public interface CallerRights {

  /**
   * Takes room for a request for inference.
   *
   * @throws StatusException PERMISSION_DENIED when the caller may not use the model,
   *     RESOURCE_EXHAUSTED when it has used up its quota
   */
  void infer(String model) throws StatusException;

  /**
   * @throws StatusException PERMISSION_DENIED when the caller may not use the model
   */
  void requireModel(String model) throws StatusException;

  /** Whose share of a device the caller has; empty for that of callers who have no tenant. */
  String tenant();

  /** So many bytes of the request have arrived: they count against the caller's quota. */
  void arrived(long bytes);

  /**
   * What a worker is told of the caller, as the value of a header; null when nothing is. Valid for
   * a minute at least.
   */
  @Nullable String sealed();
}
