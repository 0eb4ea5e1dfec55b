/**
 * Clients that keep requests outstanding and cost as little as can be, so that figures are the
 * server's and not theirs: one thread, requests written once and sent again, no object per request.
 * They speak just enough of gRPC and HTTP for that, to servers on this machine. Not thread-safe.
 */
@NullMarked
package dev.roundhouse.benchmarks.client;

import org.jspecify.annotations.NullMarked;
