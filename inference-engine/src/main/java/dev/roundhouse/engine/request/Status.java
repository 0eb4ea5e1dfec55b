package dev.roundhouse.engine.request;

/**
 * Why a request did not complete. Transports map these once, to gRPC and HTTP codes of like name.
 */
public enum Status {
  /** The request itself is wrong; sending it again fails again. */
  INVALID_ARGUMENT,
  /** No such model or version. */
  NOT_FOUND,
  /** The model exists but is in the wrong state for this, and will stay so without an operator. */
  FAILED_PRECONDITION,
  /** A limit of the server's is reached; may pass later. */
  RESOURCE_EXHAUSTED,
  /** The model is loading here; may pass later. On the wire it is UNAVAILABLE. */
  NOT_READY,
  /** The server is stopping, or has failed. */
  UNAVAILABLE,
  DEADLINE_EXCEEDED,
  CANCELLED,
  /** The server cannot do this at all. */
  UNIMPLEMENTED,
  /** The server failed internally. */
  INTERNAL
}
