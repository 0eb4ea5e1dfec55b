/**
 * Events for JDK Flight Recorder. While nothing records, telling of one costs a look at a flag.
 * Told by whichever thread does the thing; each event has what it took as a field, as it is made at
 * the end.
 */
@NullMarked
package dev.roundhouse.engine.recording;

import org.jspecify.annotations.NullMarked;
