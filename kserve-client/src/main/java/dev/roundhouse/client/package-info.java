/**
 * A client of servers that speak KServe V2 over gRPC, Roundhouse and Triton among them. Start at
 * {@link KServeClient}; it owns its connections, and all shared state is thread-safe.
 */
@NullMarked
package dev.roundhouse.client;

import org.jspecify.annotations.NullMarked;
