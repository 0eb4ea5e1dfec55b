package dev.roundhouse.node.plan;

import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.platform.logging.StructuredLogs;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Builds the command line of one of the applications. Each setting appears once, because Spring
 * makes a list of repeated ones.
 */
final class CommandLine {
  private final List<String> command = new ArrayList<>();
  private final List<String> others = new ArrayList<>();
  private final Map<String, String> settings = new LinkedHashMap<>();

  /**
   * @param command program and first arguments; none for Java with that jar
   * @param key of the jar, for the refusal
   * @throws StartRefusedException when there is no such jar
   */
  CommandLine(List<String> command, List<String> jvmOptions, String jar, String key) {
    if (!command.isEmpty()) {
      this.command.addAll(command);
      return;
    }
    if (!Files.isRegularFile(Path.of(jar))) {
      throw new StartRefusedException(
          key + " is '" + jar + "', and there is no such file.",
          "Point " + key + " to the application's jar.");
    }
    this.command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    this.command.addAll(jvmOptions);
    this.command.addAll(List.of("-jar", jar));
  }

  /** The last value of a setting wins. */
  CommandLine set(String key, Object value) {
    settings.put(key, value.toString());
    return this;
  }

  CommandLine setAll(Map<String, String> values) {
    settings.putAll(values);
    return this;
  }

  /** Makes log records name the process, if they are structured. */
  CommandLine logAs(String name, boolean structured) {
    if (structured) {
      set(StructuredLogs.FORMAT, StructuredLogs.ECS);
      set(StructuredLogs.ECS_PROCESS, name);
    }
    return this;
  }

  /** {@code --key=value} is a setting; anything else is put before all settings, unchanged. */
  CommandLine add(List<String> arguments) {
    for (String argument : arguments) {
      int equals = argument.indexOf('=');
      if (argument.startsWith("--") && equals > 2) {
        set(argument.substring(2, equals), argument.substring(equals + 1));
      } else {
        others.add(argument);
      }
    }
    return this;
  }

  /** Where a process listens. */
  CommandLine listen(Ports ports, String address) {
    set("spring.grpc.server.port", ports.grpc());
    set("server.port", ports.http());
    set("management.server.port", ports.metrics());
    if (!address.isEmpty()) {
      set("spring.grpc.server.address", address);
      set("server.address", address);
      set("management.server.address", address);
    }
    return this;
  }

  List<String> build() {
    List<String> all = new ArrayList<>(command);
    all.addAll(others);
    settings.forEach((key, value) -> all.add("--" + key + "=" + value));
    return all;
  }
}
