package dev.roundhouse.node.upstream;

import dev.roundhouse.platform.config.EditDistance;
import dev.roundhouse.platform.config.StartRefusedException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.env.YamlPropertySourceLoader;
import org.springframework.core.env.EnumerablePropertySource;
import org.springframework.core.env.PropertySource;
import org.springframework.core.io.FileSystemResource;

/**
 * Translates upstream's files and variables to our keys. Variables override files, as they do
 * upstream.
 */
public final class UpstreamSettings {
  /** Name of the property source with the result. */
  public static final String SOURCE = "upstream";

  private static final Logger log = LoggerFactory.getLogger(UpstreamSettings.class);
  private static final Path FOLDER = Path.of("/etc/reactantserver");
  private static final long MOST_BYTES = 1 << 20;

  /** Kubernetes sets these for a service of that name. */
  private static final String OF_A_SERVICE = ".*_(SERVICE_(HOST|PORT.*)|PORT|PORT_\\d+_.*)";

  /** Read by clients. */
  private static final String OF_CLIENTS = "REACTANT_CLIENT_";

  private final Map<String, String> ours = new LinkedHashMap<>();
  private final Map<String, String> saidBy = new LinkedHashMap<>();

  private UpstreamSettings() {}

  /**
   * @param environment variables
   * @return values by our keys; none where nothing of upstream's is set
   * @throws StartRefusedException naming what is unknown, retired or contradicts itself
   */
  public static Map<String, String> of(Map<String, String> environment) {
    UpstreamSettings settings = new UpstreamSettings();
    settings.readFile(
        environment, "REACTANT_NODE_FILE", "node.yaml", List.of(Scope.NODE, Scope.WORKER));
    settings.readFile(environment, "REACTANT_GATEWAY_FILE", "gateway.yml", List.of(Scope.GATEWAY));
    Map<String, String> ofFiles = Map.copyOf(settings.ours);
    settings.ours.clear();
    settings.saidBy.clear();
    settings.readVariables(environment);
    Map<String, String> all = new LinkedHashMap<>(ofFiles);
    all.putAll(settings.ours);
    return all;
  }

  private void readFile(
      Map<String, String> environment, String variable, String name, List<Scope> scopes) {
    String named = environment.get(variable);
    Path file = named == null ? FOLDER.resolve(name) : Path.of(named);
    if (named == null && !Files.isRegularFile(file)) {
      return;
    }
    for (Map.Entry<String, String> each :
        flattened(file, named == null ? "" : variable).entrySet()) {
      readKey(file, each.getKey(), each.getValue(), scopes);
    }
    log.info("read {}, a file of ReactantServer.jl", file);
  }

  /**
   * A list is one value in brackets, separated by commas. Settings with a value for each worker are
   * such lists.
   */
  private static Map<String, String> flattened(Path file, String variable) {
    String what = variable.isEmpty() ? file.toString() : variable + " is '" + file + "'";
    Map<String, String> keys = new LinkedHashMap<>();
    Set<String> lists = new HashSet<>();
    try {
      if (Files.size(file) > MOST_BYTES) {
        throw new StartRefusedException(
            what + ", which has more than " + MOST_BYTES + " bytes.", "That is no settings file.");
      }
      for (PropertySource<?> source :
          new YamlPropertySourceLoader().load("upstream", new FileSystemResource(file))) {
        EnumerablePropertySource<?> all = (EnumerablePropertySource<?>) source;
        for (String key : all.getPropertyNames()) {
          String list =
              key.replaceFirst("\\[\\d+\\]$", "").replaceFirst("^workers\\[\\d+\\]", "workers[]");
          String value = String.valueOf(all.getProperty(key));
          keys.merge(list, value, (a, b) -> a + "," + b);
          if (!list.equals(key)) {
            lists.add(list);
          }
        }
      }
      lists.forEach(list -> keys.compute(list, (key, value) -> "[" + value + "]"));
      return keys;
    } catch (IOException | RuntimeException e) {
      if (e instanceof StartRefusedException refused) {
        throw refused;
      }
      throw new StartRefusedException(
          what + ", which cannot be read: " + e.getMessage(), "Correct the file.", e);
    }
  }

  private void readKey(Path file, String key, String value, List<Scope> scopes) {
    List<Mapping> known =
        UpstreamTable.ALL.stream().filter(each -> scopes.contains(each.scope())).toList();
    for (Mapping mapping : known) {
      Optional<String> name = mapping.matches(key);
      if (name.isPresent()) {
        take(mapping, name.get(), value, "'" + key + "' of " + file);
        return;
      }
    }
    if (value.isEmpty()) {
      return; // an empty group
    }
    String nearest = nearest(key, known.stream().map(Mapping::path).toList());
    throw new StartRefusedException(
        "Unknown key '" + key + "' of " + file + ".",
        "Did you mean '" + nearest + "'? docs/upstream.md lists every key.");
  }

  private void readVariables(Map<String, String> environment) {
    Map<String, Mapping> known = new TreeMap<>();
    for (Mapping mapping : UpstreamTable.ALL) {
      if (!mapping.variableName().isEmpty()) {
        known.put(mapping.variableName(), mapping);
      }
    }
    for (String variable : new TreeMap<>(environment).keySet()) {
      boolean upstreams =
          variable.startsWith(Scope.WORKER.variablePrefix)
              || variable.startsWith(Scope.VARIABLE.variablePrefix);
      Mapping mapping = known.get(variable);
      if (mapping != null) {
        take(mapping, "", environment.getOrDefault(variable, ""), "variable " + variable);
      } else if (upstreams && !variable.startsWith(OF_CLIENTS) && !variable.matches(OF_A_SERVICE)) {
        throw new StartRefusedException(
            "Unknown variable " + variable + ".",
            "Did you mean "
                + nearest(variable, new ArrayList<>(known.keySet()))
                + "? docs/upstream.md lists every variable.");
      }
    }
  }

  private void take(Mapping mapping, String name, String value, String where) {
    Map<String, String> converted;
    try {
      converted = mapping.convert(name, value);
    } catch (IllegalArgumentException e) {
      throw new StartRefusedException(
          where + " is '" + value + "', and " + e.getMessage() + ".",
          mapping.note().isEmpty()
              ? "Correct it; see docs/upstream.md."
              : sentence(mapping.note()));
    }
    converted.forEach(
        (key, each) -> {
          String before = ours.put(key, each);
          String other = saidBy.put(key, where);
          if (before != null && !before.equals(each)) {
            throw new StartRefusedException(
                "%s and %s say different things of %s: '%s' and '%s'."
                    .formatted(other, where, key, before, each),
                "Remove one of them.");
          }
        });
  }

  private static String sentence(String note) {
    return Character.toUpperCase(note.charAt(0)) + note.substring(1) + ".";
  }

  private static String nearest(String key, List<String> known) {
    return known.stream()
        .min(Comparator.comparingInt(each -> EditDistance.between(key, each)))
        .orElseThrow();
  }
}
