package dev.roundhouse.worker.config;

import dev.roundhouse.platform.config.KnownKeys;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.platform.config.UnknownKeyCheck;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Refuses model names that would be bound as another name than the one written: a dot ends a name,
 * other characters are dropped, and a variable of the environment has neither case nor dots.
 */
final class ModelNameCheck implements UnknownKeyCheck.Names {
  private static final String MODELS = WorkerProperties.PREFIX + ".models.";
  private static final String VARIABLES = "ROUNDHOUSE_WORKER_MODELS_";
  private static final Pattern PLAIN = Pattern.compile("[A-Za-z0-9_-]+");

  /** The last part of a key, as it ends one: {@code .weight}. */
  private final Pattern setting;

  private final List<String> variableEndings;

  ModelNameCheck(KnownKeys known) {
    List<String> settings =
        known.all().stream()
            .filter(key -> key.startsWith(MODELS))
            .map(key -> key.substring(MODELS.length() + KnownKeys.ANY.length() + 1))
            .toList();
    setting = Pattern.compile("(.*)\\.([^.\\[\\]]+)");
    variableEndings =
        settings.stream()
            .flatMap(name -> Stream.of(name.replace("-", ""), name.replace('-', '_')))
            .map(name -> "_" + name.toUpperCase(Locale.ROOT))
            .distinct()
            .sorted(Comparator.comparingInt(String::length).reversed())
            .toList();
  }

  /** False for a name that has to be written in brackets. */
  static boolean isPlain(String name) {
    return PLAIN.matcher(name).matches();
  }

  /**
   * @param keys as they are written, lists and documents flattened
   * @throws StartRefusedException naming the key and the way to write it
   */
  @Override
  public void checkKeys(List<String> keys) {
    for (String key : keys) {
      if (key.startsWith(MODELS)) {
        Matcher parts = setting.matcher(key.substring(MODELS.length()));
        if (parts.matches() && !isPlain(parts.group(1))) {
          throw refusal("key '" + key + "'", parts.group(1), parts.group(2));
        }
      } else if (key.startsWith(WorkerProperties.PREFIX + ".models[[")) {
        String name = key.replaceAll(".*\\[\\[(.*?)]].*", "$1");
        throw refusal("key '" + key + "'", name, "weight");
      }
    }
  }

  /**
   * @param variables names of the environment's
   * @throws StartRefusedException when one sets something for a model of more than one word
   */
  @Override
  public void checkVariables(List<String> variables) {
    for (String variable : variables) {
      if (variable.startsWith(VARIABLES)) {
        for (String ending : variableEndings) {
          if (variable.endsWith(ending)) {
            checkVariable(variable, ending);
            break;
          }
        }
      }
    }
  }

  private static void checkVariable(String variable, String ending) {
    int end = variable.length() - ending.length();
    String name = variable.substring(Math.min(VARIABLES.length(), end), end);
    if (name.contains("_")) {
      throw refusal(
          "variable " + variable,
          name.toLowerCase(Locale.ROOT),
          ending.substring(1).toLowerCase(Locale.ROOT));
    }
  }

  private static StartRefusedException refusal(String where, String name, String setting) {
    return new StartRefusedException(
        "The model's name in configuration %s cannot be told from the rest of it.".formatted(where),
        ("Write the name in brackets. In a document, with quotes: models: {\"[%1$s]\": {%2$s: ...}}."
                + " On the command line: '--%3$s[%1$s].%2$s=...'. In the environment:"
                + " SPRING_APPLICATION_JSON='{\"%3$s[%1$s].%2$s\": ...}'.")
            .formatted(name, setting, WorkerProperties.PREFIX + ".models"));
  }
}
