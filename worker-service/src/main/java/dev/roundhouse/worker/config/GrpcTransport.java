package dev.roundhouse.worker.config;

/** What carries gRPC. */
public enum GrpcTransport {
  /** The product's own, on Netty's HTTP/2: a message is copied once on its way in and out. */
  HTTP2,

  /** That of grpc-java. */
  GRPC_JAVA
}
