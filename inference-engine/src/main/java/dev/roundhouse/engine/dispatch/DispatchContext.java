package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.deliver.AnswerPool;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.queue.Accounting;
import dev.roundhouse.engine.queue.ByteBudget;
import dev.roundhouse.engine.residency.Residency;
import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.time.NanoClock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The dependencies of a dispatch loop.
 *
 * @param discipline makes one for the device and one for the link
 * @param mark where each run's model is noted
 * @param outputs delivers large outputs; null for the loop itself
 * @param weights brings weights to the device; null for the loop itself
 * @param maxHandOver requests that may be on their way to the loop
 */
public record DispatchContext(
    Device device,
    NanoClock clock,
    Supplier<Discipline> discipline,
    Residency residency,
    Accounting accounting,
    ByteBudget budget,
    AnswerPool answers,
    FailStop failStop,
    RunMark mark,
    @Nullable OutputsThread outputs,
    @Nullable WeightsThread weights,
    int maxHandOver) {}
