/**
 * Sends copies of requests and answers to a collector as CloudEvents over HTTP, the way KServe's
 * request logger does (docs/payload-log.md). Whoever serves copies what is small and puts it into a
 * bounded queue; threads of a low priority make documents of it and send them. Lossy, and counted.
 */
@NullMarked
package dev.roundhouse.platform.payload;

import org.jspecify.annotations.NullMarked;
