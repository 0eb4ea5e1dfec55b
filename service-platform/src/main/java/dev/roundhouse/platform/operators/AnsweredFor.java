package dev.roundhouse.platform.operators;

import dev.roundhouse.platform.config.WorkersMetricsProperties;

/**
 * The processes that an application answers for, and how they are asked. An application that has
 * one has their metrics on its own page.
 */
public record AnsweredFor(
    OperatorsClient client, OperatorsPorts ports, WorkersMetricsProperties settings) {}
