/** Recordings of Flight Recorder that operators download from their port. */
@NullMarked
package dev.roundhouse.platform.recording;

import org.jspecify.annotations.NullMarked;
