/**
 * Accounts for the memory that clients make a server hold. Every connection, call, message and
 * answer is counted before memory is allocated for it, and given back when that is freed. {@link
 * dev.roundhouse.transport.memory.PeerMemory} is a server's account, {@link
 * dev.roundhouse.transport.memory.ConnectionMemory} one connection's part of it. Shared by the gRPC
 * and HTTP servers. Thread-safe.
 */
@NullMarked
package dev.roundhouse.transport.memory;

import org.jspecify.annotations.NullMarked;
