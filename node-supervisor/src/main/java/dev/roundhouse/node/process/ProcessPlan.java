package dev.roundhouse.node.process;

import java.time.Duration;
import java.util.function.IntConsumer;
import java.util.function.Supplier;

/**
 * One process that is to be kept running.
 *
 * @param name unique; log lines and metrics carry it
 * @param spec asked before every start, on the thread {@code supervisor}
 * @param gate what each start waits for
 * @param stopGrace from SIGTERM to SIGKILL
 * @param stopsAt when it stops: those with a lower number first, and the next when they have ended
 * @param onCrash told of every end that nobody asked for, by exit code 0 or SIGTERM either, before
 *     its next start; with the code
 */
public record ProcessPlan(
    String name,
    Supplier<ProcessSpec> spec,
    StartGate gate,
    Duration stopGrace,
    int stopsAt,
    IntConsumer onCrash) {}
