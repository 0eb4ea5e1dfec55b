package dev.roundhouse.worker.config;

import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * When the worker gives itself up: it ends every open call with UNAVAILABLE, is neither ready nor
 * alive, and exits with code 70 to be started again.
 *
 * @param deviceCall How long a run, or a call of the device, may take. Longer than the longest run
 *     of any model.
 * @param dispatchTurn How long the dispatch thread may take for a turn without a call of the
 *     device.
 */
public record WatchdogProperties(
    @DurationMin(millis = 10) @DurationMax(days = 1) @DefaultValue("2m") Duration deviceCall,
    @DurationMin(millis = 10) @DurationMax(days = 1) @DefaultValue("30s") Duration dispatchTurn) {}
