/**
 * Copies of requests and answers for a collector (docs/payload-log.md): taken where all transports
 * meet, and handed to {@code platform.payload}, which sends them.
 */
@NullMarked
package dev.roundhouse.worker.payload;

import org.jspecify.annotations.NullMarked;
