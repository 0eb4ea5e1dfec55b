/**
 * The account of what peers make a server keep: every connection, call, message and answer is
 * counted before it is kept, wherever it is kept, and given back when it is let go. {@link
 * dev.roundhouse.transport.memory.PeerMemory} is the account, {@link
 * dev.roundhouse.transport.memory.ConnectionMemory} one connection's part of it. Shared by the
 * servers for gRPC and HTTP; any thread may call.
 */
@NullMarked
package dev.roundhouse.transport.memory;

import org.jspecify.annotations.NullMarked;
