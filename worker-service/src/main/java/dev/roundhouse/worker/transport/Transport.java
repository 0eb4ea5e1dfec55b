package dev.roundhouse.worker.transport;

/** A way in: something that listens and turns bytes into requests of the engine. */
public interface Transport {

  /** Short and lower case, such as {@code grpc}. */
  String name();

  /** The port that is bound, or 0 before it is. */
  int port();
}
