/**
 * A gRPC server on Netty's HTTP/2, in the place of grpc-java's own transport: the same services,
 * interceptors and clients. {@link dev.roundhouse.transport.http2.Http2ServerBuilder} makes one.
 * Bytes go through {@code FrameCutter}, {@code Connection} and {@code MessageAssembly} to a {@code
 * Call}, which hands messages to the service, and whose answers the connection writes. A {@code
 * ForwardedCall} has its frames sent to another server instead, by an {@code UpstreamConnection}
 * that {@code AskedServers} chooses. {@code EventLoops} are the threads of this server and of the
 * one for HTTP, and say when one of them is gone.
 */
@NullMarked
package dev.roundhouse.transport.http2;

import org.jspecify.annotations.NullMarked;
