package dev.roundhouse.node.process;

import java.time.Duration;
import java.util.function.Supplier;

/**
 * One process to keep running.
 *
 * @param name unique; log lines and metrics carry it
 * @param spec asked before every start, on the thread {@code supervisor}
 * @param gate what each start waits for
 * @param stopGrace from SIGTERM to SIGKILL
 * @param stopsAt when it stops: those with a lower number first, and the next when they have ended
 */
public record ProcessPlan(
    String name, Supplier<ProcessSpec> spec, StartGate gate, Duration stopGrace, int stopsAt) {}
