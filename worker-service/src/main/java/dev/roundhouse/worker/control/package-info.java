/** The operator's own control plane over gRPC: residency, shares, compaction. */
@NullMarked
package dev.roundhouse.worker.control;

import org.jspecify.annotations.NullMarked;
