/**
 * A gRPC server on Netty's HTTP/2, in the place of grpc-java's own transport: the same services,
 * interceptors and clients. {@link dev.roundhouse.transport.http2.Http2ServerBuilder} makes one.
 * Bytes go through {@code FrameCutter}, {@code Connection} and {@code MessageAssembly} to a {@code
 * Call}, which hands messages to the service, and whose answers the connection writes. Calls that
 * are for other servers go to a {@link dev.roundhouse.transport.http2.CallForwarder} instead.
 */
@NullMarked
package dev.roundhouse.transport.http2;

import org.jspecify.annotations.NullMarked;
