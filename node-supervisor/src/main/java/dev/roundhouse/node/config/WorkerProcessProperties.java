package dev.roundhouse.node.config;

import jakarta.validation.constraints.Pattern;
import java.time.Duration;
import java.util.List;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * How workers are started.
 *
 * @param names Of the workers, in order; letters, digits, `-` and `_`. Empty: `worker0`, `worker1`
 *     and so on.
 * @param jar The worker's jar. Empty: `worker-service.jar`, or the only `worker-service-*.jar`,
 *     beside the supervisor's own.
 * @param jvmOptions Options of its Java, which is the supervisor's own, such as `-Xmx2g`.
 * @param command Program and first arguments in place of Java, options and jar, neither of which
 *     may be set beside it.
 * @param arguments More arguments, the same for each worker.
 * @param stopGrace From SIGTERM to SIGKILL.
 */
public record WorkerProcessProperties(
    @DefaultValue List<@Pattern(regexp = NAME) String> names,
    @DefaultValue("") String jar,
    @DefaultValue List<String> jvmOptions,
    @DefaultValue List<String> command,
    @DefaultValue List<String> arguments,
    @DurationMin(seconds = 1) @DurationMax(hours = 1) @DefaultValue("15s") Duration stopGrace) {
  static final String NAME = "[A-Za-z0-9][A-Za-z0-9_-]{0,62}";

  public WorkerProcessProperties {
    names = List.copyOf(names);
    jvmOptions = List.copyOf(jvmOptions);
    command = List.copyOf(command);
    arguments = List.copyOf(arguments);
  }
}
