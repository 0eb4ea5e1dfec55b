/**
 * A client of servers that speak KServe V2 over gRPC, Roundhouse and Triton among them. {@link
 * KServeClient} is the way in; it owns its connections, and all state that calls share is
 * thread-safe.
 */
@NullMarked
package dev.roundhouse.client;

import org.jspecify.annotations.NullMarked;
