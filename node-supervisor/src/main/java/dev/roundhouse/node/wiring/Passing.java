package dev.roundhouse.node.wiring;

import dev.roundhouse.node.plan.Drain;
import dev.roundhouse.node.plan.PassedOn;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.core.env.CommandLinePropertySource;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.PropertySource;

/** Finds what is said here of the other applications. */
final class Passing {
  private static final String WORKER = "roundhouse.worker.";
  private static final String GATEWAY = "roundhouse.gateway.";

  private Passing() {}

  /** Files and variables the others read themselves; the command line they do not see. */
  static PassedOn of(ConfigurableEnvironment environment) {
    Binder binder = Binder.get(environment);
    return new PassedOn(
        onCommandLine(environment, WORKER),
        onCommandLine(environment, GATEWAY),
        Stream.of(PassedOn.PLATFORM, PassedOn.CPU_THREADS)
            .filter(environment::containsProperty)
            .collect(Collectors.toSet()),
        drain(binder, WORKER + "shutdown.drain", WORKER + "server.lame-duck"),
        drain(binder, GATEWAY + "shutdown.drain", GATEWAY + "shutdown.lame-duck"),
        binder
            .bind(WORKER + "repository.leave-out", Bindable.listOf(String.class))
            .orElse(List.of()));
  }

  private static Drain drain(Binder binder, String drain, String lameDuck) {
    return new Drain(
        binder.bind(drain, Duration.class).map(Optional::of).orElse(Optional.empty()),
        binder.bind(lameDuck, Duration.class).orElse(Duration.ZERO));
  }

  private static Map<String, String> onCommandLine(
      ConfigurableEnvironment environment, String prefix) {
    Map<String, String> found = new LinkedHashMap<>();
    for (PropertySource<?> source : environment.getPropertySources()) {
      if (source instanceof CommandLinePropertySource<?> arguments) {
        for (String name : arguments.getPropertyNames()) {
          String value = arguments.getProperty(name);
          if (name.startsWith(prefix) && value != null) {
            found.put(name, value);
          }
        }
      }
    }
    return found;
  }
}
