/**
 * The server of {@code TSTREAM/1}: a connection names a model and the shapes of its tensors once,
 * then sends nothing but their bytes. {@link dev.roundhouse.worker.transport.tstream.StreamServer}
 * listens; each connection belongs to its event loop, and what ends on the engine's threads is
 * handed to that loop. The bytes of hello, reply and records are {@code kserve.tstream}'s.
 */
@NullMarked
package dev.roundhouse.worker.transport.tstream;

import org.jspecify.annotations.NullMarked;
