/** The services of the gRPC port that are not sent on to workers as they are. */
@NullMarked
package dev.roundhouse.gateway.grpc;

import org.jspecify.annotations.NullMarked;
