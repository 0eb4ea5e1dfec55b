/**
 * The wire of {@code TSTREAM/1}: a client says once what it sends, both sides check it, and then
 * messages of a fixed size follow each other without frames. {@link
 * dev.roundhouse.kserve.tstream.ClientHello} and {@link dev.roundhouse.kserve.tstream.ServerReply}
 * open a connection, {@link dev.roundhouse.kserve.tstream.StreamSpec} is what both agree on, {@link
 * dev.roundhouse.kserve.tstream.RecordHeader} begins what the server sends from then on. Values and
 * pure functions of bytes: no sockets, no threads. Little-endian throughout.
 */
@NullMarked
package dev.roundhouse.kserve.tstream;

import org.jspecify.annotations.NullMarked;
