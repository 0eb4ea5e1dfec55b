/**
 * The gRPC port: the server of {@link dev.roundhouse.transport.http2} by Boot's settings, and its
 * health.
 */
@NullMarked
package dev.roundhouse.platform.grpc;

import org.jspecify.annotations.NullMarked;
