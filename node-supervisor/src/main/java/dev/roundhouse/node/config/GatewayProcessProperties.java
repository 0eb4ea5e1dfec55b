package dev.roundhouse.node.config;

import java.time.Duration;
import java.util.List;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * How the gateway is started.
 *
 * @param jar The gateway's jar. Empty: `gateway-service.jar`, or the only `gateway-service-*.jar`,
 *     beside the supervisor's own.
 * @param jvmOptions Options of its Java, which is the supervisor's own.
 * @param command Program and first arguments in place of Java, options and jar, neither of which
 *     may be set beside it.
 * @param arguments More arguments.
 * @param workerArguments Arguments for each worker, in which `{index}`, `{name}`, `{grpc}`,
 *     `{http}` and `{metrics}` stand for its number, its name and its ports on 127.0.0.1.
 * @param stopGrace From SIGTERM to SIGKILL. It stops before the workers.
 */
public record GatewayProcessProperties(
    @DefaultValue("") String jar,
    @DefaultValue List<String> jvmOptions,
    @DefaultValue List<String> command,
    @DefaultValue List<String> arguments,
    @DefaultValue({
          "--roundhouse.gateway.workers.{name}.address=127.0.0.1:{grpc}",
          "--roundhouse.gateway.workers.{name}.http=127.0.0.1:{http}",
          "--roundhouse.gateway.workers.{name}.metrics=127.0.0.1:{metrics}"
        })
        List<String> workerArguments,
    @DurationMin(seconds = 1) @DurationMax(hours = 1) @DefaultValue("10s") Duration stopGrace) {
  public GatewayProcessProperties {
    jvmOptions = List.copyOf(jvmOptions);
    command = List.copyOf(command);
    arguments = List.copyOf(arguments);
    workerArguments = List.copyOf(workerArguments);
  }
}
