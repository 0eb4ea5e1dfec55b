package dev.roundhouse.platform.logging;

import org.springframework.core.env.Environment;

/** Boot's settings of log records for machines. */
public final class StructuredLogs {
  /** The key of their form on standard output; without a value there are lines for people. */
  public static final String FORMAT = "logging.structured.format.console";

  /** The Elastic Common Schema. */
  public static final String ECS = "ecs";

  /** The key of the process that records of {@link #ECS} name. */
  public static final String ECS_PROCESS = "logging.structured.ecs.service.node-name";

  private StructuredLogs() {}

  /** The form; empty when there are lines for people. */
  public static String format(Environment environment) {
    return environment.getProperty(FORMAT, "");
  }
}
