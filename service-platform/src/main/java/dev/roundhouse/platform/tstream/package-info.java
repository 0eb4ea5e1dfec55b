/**
 * What a worker and a gateway share of {@code TSTREAM/1}: the port that clients connect to, their
 * hellos, and who may send. {@link dev.roundhouse.platform.tstream.StreamPort} listens and counts;
 * each connection is a {@link dev.roundhouse.platform.tstream.StreamPeer} of the application and
 * belongs to its event loop. The bytes of hello and reply are {@code kserve.tstream}'s. A worker
 * takes the learners of its tee at such a port, too.
 */
@NullMarked
package dev.roundhouse.platform.tstream;

import org.jspecify.annotations.NullMarked;
