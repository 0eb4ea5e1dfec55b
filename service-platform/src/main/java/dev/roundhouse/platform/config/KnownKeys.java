package dev.roundhouse.platform.config;

import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DataObjectPropertyName;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName.Form;

/** The keys that a tree of configuration records reads. */
public final class KnownKeys {

  /** Stands for a name that the operator chooses. */
  public static final String ANY = "*";

  private final List<Known> known = new ArrayList<>();

  /**
   * One key.
   *
   * @param pattern its elements
   * @param type of its value
   * @param defaultValue as it is written; null for none
   */
  record Known(List<String> pattern, Type type, @Nullable String defaultValue) {
    boolean matches(ConfigurationPropertyName key) {
      return KnownKeys.matches(pattern, key);
    }

    boolean isList() {
      return type instanceof ParameterizedType list && list.getRawType() == List.class;
    }
  }

  public KnownKeys(String prefix, Class<? extends Record> root) {
    collect(List.of(prefix.split("\\.")), root);
  }

  /** Keys in order, elements as they are written in documents, {@link #ANY} for names. */
  public List<String> all() {
    return known.stream().map(each -> String.join(".", each.pattern)).toList();
  }

  List<Known> known() {
    return List.copyOf(known);
  }

  boolean contains(ConfigurationPropertyName key) {
    return known.stream().anyMatch(each -> each.matches(key));
  }

  /**
   * Like {@link #contains} for a variable of the environment, where only letters and digits remain.
   */
  boolean containsVariable(String variable) {
    String flat = flat(variable);
    return all().stream().anyMatch(key -> flat.matches(flat(key)));
  }

  /** The known key that takes the fewest edits to reach. */
  String nearest(String key) {
    return all().stream()
        .min(Comparator.comparingInt(known -> EditDistance.between(key, known)))
        .orElseThrow();
  }

  private void collect(List<String> prefix, Class<?> type) {
    RecordComponent[] components = type.getRecordComponents();
    for (int i = 0; i < components.length; i++) {
      add(
          append(prefix, DataObjectPropertyName.toDashedForm(components[i].getName())),
          components[i].getGenericType(),
          defaultValue(type, i));
    }
  }

  /** Of a record's component, as its annotation has it; null for none. */
  private static @Nullable String defaultValue(Class<?> type, int component) {
    DefaultValue value =
        type.getDeclaredConstructors()[0].getParameters()[component].getAnnotation(
            DefaultValue.class);
    return value == null || value.value().length == 0 ? null : String.join(",", value.value());
  }

  private void add(List<String> key, Type type, @Nullable String defaultValue) {
    if (type instanceof Class<?> plain && plain.isRecord()) {
      collect(key, plain);
    } else if (type instanceof ParameterizedType map && map.getActualTypeArguments().length == 2) {
      add(append(key, ANY), map.getActualTypeArguments()[1], null);
    } else {
      known.add(new Known(key, type, defaultValue));
    }
  }

  private static boolean matches(List<String> pattern, ConfigurationPropertyName key) {
    int length = key.getNumberOfElements();
    // Elements of a list: directories[0].
    int significant = key.isLastElementIndexed() && isNumber(key, length - 1) ? length - 1 : length;
    if (significant != pattern.size() && length != pattern.size()) {
      return false;
    }
    for (int i = 0; i < pattern.size(); i++) {
      String expected = pattern.get(i);
      if (!expected.equals(ANY)
          && !key.getElement(i, Form.UNIFORM).equals(expected.replace("-", ""))) {
        return false;
      }
    }
    return true;
  }

  private static boolean isNumber(ConfigurationPropertyName key, int element) {
    return key.getElement(element, Form.ORIGINAL).chars().allMatch(Character::isDigit);
  }

  private static String flat(String key) {
    return key.toLowerCase(java.util.Locale.ROOT).replaceAll("[^a-z0-9*]", "").replace(ANY, ".+");
  }

  private static List<String> append(List<String> prefix, String element) {
    List<String> key = new ArrayList<>(prefix);
    key.add(element);
    return List.copyOf(key);
  }
}
