package dev.roundhouse.platform.operators;

import dev.roundhouse.platform.config.WorkersMetricsProperties;

/**
 * The processes that an application answers for, and how they are asked. An application that has
 * one has their metrics on its own page.
 *
 * @param process that answers for them: {@value #GATEWAY} or {@value #NODE}, as its live page is
 *     told
 */
public record AnsweredFor(
    String process,
    OperatorsClient client,
    OperatorsPorts ports,
    WorkersMetricsProperties settings) {
  public static final String GATEWAY = "gateway";
  public static final String NODE = "node";
}
