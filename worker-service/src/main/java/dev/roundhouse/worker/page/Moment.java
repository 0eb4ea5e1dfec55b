package dev.roundhouse.worker.page;

import dev.roundhouse.engine.dispatch.DeviceUse;
import dev.roundhouse.engine.dispatch.DispatchState;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * All that pages show, at one moment. Immutable: open pages share it.
 *
 * @param atMillis since 1970
 * @param madeNanos when it was made, on the clock of {@link Moments}
 * @param dispatch null when the dispatch thread was silent
 * @param unknownBecause why; null when it was not
 * @param device nanoseconds since the start, by what it did
 * @param residentBytes of weights on the device
 * @param models by name
 */
record Moment(
    long atMillis,
    long madeNanos,
    @Nullable DispatchState dispatch,
    @Nullable String unknownBecause,
    Map<DeviceUse, Long> device,
    long residentBytes,
    Map<String, ModelRow> models) {}
