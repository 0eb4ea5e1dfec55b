package dev.roundhouse.node.config;

import java.time.Duration;
import java.util.List;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * How workers are started.
 *
 * @param jar The worker's jar. Empty: `worker-service.jar`, or the only `worker-service-*.jar`,
 *     beside the supervisor's own.
 * @param jvmOptions Options of its Java, which is the supervisor's own, such as `-Xmx2g`.
 * @param command Program and first arguments in place of Java, options and jar.
 * @param arguments More arguments, the same for each worker.
 * @param stopGrace From SIGTERM to SIGKILL.
 */
public record WorkerProcessProperties(
    @DefaultValue("") String jar,
    @DefaultValue List<String> jvmOptions,
    @DefaultValue List<String> command,
    @DefaultValue List<String> arguments,
    @DurationMin(seconds = 1) @DurationMax(hours = 1) @DefaultValue("15s") Duration stopGrace) {
  public WorkerProcessProperties {
    jvmOptions = List.copyOf(jvmOptions);
    command = List.copyOf(command);
    arguments = List.copyOf(arguments);
  }
}
