/**
 * KServe V2 over gRPC: service, server settings and standard health. Runs on the event loops
 * without a hop before admission; never blocks.
 */
@NullMarked
package dev.roundhouse.worker.transport.grpc;

import org.jspecify.annotations.NullMarked;
