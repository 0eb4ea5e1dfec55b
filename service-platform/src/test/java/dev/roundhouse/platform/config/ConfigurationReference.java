package dev.roundhouse.platform.config;

import jakarta.validation.constraints.DecimalMax;
import jakarta.validation.constraints.DecimalMin;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotBlank;
import jakarta.validation.constraints.NotEmpty;
import jakarta.validation.constraints.Positive;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.annotation.Annotation;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DataObjectPropertyName;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.boot.convert.DurationStyle;

/**
 * Writes the reference page of a tree of configuration records from their Javadoc and annotations.
 */
public final class ConfigurationReference {
  private static final String COLUMNS = "| key | default | bounds | meaning |\n|---|---|---|---|\n";

  private static final String SHARED = "dev.roundhouse.platform.";
  private static final Path SHARED_SOURCES = Path.of("../service-platform/src/main/java");

  private final Path sources;
  private final String prefix;
  private final Class<? extends Record> root;
  private final StringBuilder page;

  /**
   * @param prefix of the keys
   * @param sources of the records
   * @param head what the page begins with
   */
  public ConfigurationReference(
      String prefix, Class<? extends Record> root, Path sources, String head) {
    this.prefix = prefix;
    this.root = root;
    this.sources = sources;
    page = new StringBuilder(head);
  }

  /** The page; once. */
  public String page() {
    List<RecordComponent> single =
        Arrays.stream(root.getRecordComponents())
            .filter(component -> component.getType().isEnum())
            .toList();
    if (!single.isEmpty()) {
      page.append("\n").append(COLUMNS);
      single.forEach(component -> row(prefix + "." + dashed(component), root, component));
    }
    for (RecordComponent component : root.getRecordComponents()) {
      if (component.getType().isEnum()) {
        continue;
      }
      String key = prefix + "." + dashed(component);
      page.append("\n## `").append(key).append("`\n\n");
      page.append(text(root, component)).append("\n\n");
      page.append(COLUMNS);
      rows(key, component.getGenericType());
    }
    return page.toString();
  }

  private void rows(String key, Type type) {
    if (type instanceof ParameterizedType map && map.getActualTypeArguments().length == 2) {
      rows(key + ".NAME", map.getActualTypeArguments()[1]);
      return;
    }
    Class<?> owner = (Class<?>) type;
    for (RecordComponent component : owner.getRecordComponents()) {
      String name = key + "." + dashed(component);
      if (component.getType().isRecord()) {
        rows(name, component.getType());
      } else if (component.getGenericType() instanceof ParameterizedType map
          && map.getActualTypeArguments().length == 2
          && map.getActualTypeArguments()[1] instanceof Class<?> value
          && value.isRecord()) {
        rows(name + ".NAME", value);
      } else {
        boolean map = component.getGenericType().getTypeName().startsWith("java.util.Map");
        row(map ? name + ".NAME" : name, owner, component);
      }
    }
  }

  private void row(String key, Class<?> owner, RecordComponent component) {
    page.append(
        "| `%s` | %s | %s | %s |%n"
            .formatted(
                key, defaultOf(owner, component), bounds(component), text(owner, component)));
  }

  private static String defaultOf(Class<?> owner, RecordComponent component) {
    DefaultValue value =
        Arrays.stream(owner.getDeclaredConstructors()[0].getParameters())
            .filter(parameter -> parameter.getName().equals(component.getName()))
            .findFirst()
            .orElseThrow()
            .getAnnotation(DefaultValue.class);
    if (value == null || value.value().length == 0) {
      return "none";
    }
    String text = String.join(",", value.value());
    return text.isEmpty() ? "empty" : "`" + text + "`";
  }

  private static String bounds(RecordComponent component) {
    List<String> bounds = new ArrayList<>();
    Class<?> chosen =
        component.getGenericType() instanceof ParameterizedType set
                && set.getRawType() == Set.class
                && set.getActualTypeArguments()[0] instanceof Class<?> element
            ? element
            : component.getType();
    if (chosen.isEnum()) {
      bounds.add(
          Arrays.stream(chosen.getEnumConstants())
              .map(value -> "`" + value.toString().toLowerCase(Locale.ROOT).replace('_', '-') + "`")
              .collect(Collectors.joining(", ")));
    }
    for (Annotation bound : component.getAccessor().getAnnotations()) {
      switch (bound) {
        case Min min -> bounds.add("at least " + min.value());
        case Max max -> bounds.add("at most " + max.value());
        case Positive positive -> bounds.add("above 0");
        case NotBlank notBlank -> bounds.add("not empty");
        case NotEmpty notEmpty -> bounds.add("at least one");
        case DataSizeRange range -> bounds.add(range.min() + " to " + range.max());
        case DecimalMin min -> bounds.add((min.inclusive() ? "at least " : "above ") + min.value());
        case DecimalMax max -> bounds.add((max.inclusive() ? "at most " : "below ") + max.value());
        case DurationMin min -> bounds.add("at least " + plain(duration(min)));
        case DurationMax max -> bounds.add("at most " + plain(duration(max)));
        default -> {}
      }
    }
    return String.join(", ", bounds);
  }

  private static Duration duration(DurationMin min) {
    return Duration.ofDays(min.days())
        .plusHours(min.hours())
        .plusMinutes(min.minutes())
        .plusSeconds(min.seconds())
        .plusMillis(min.millis());
  }

  private static Duration duration(DurationMax max) {
    return Duration.ofDays(max.days())
        .plusHours(max.hours())
        .plusMinutes(max.minutes())
        .plusSeconds(max.seconds())
        .plusMillis(max.millis());
  }

  /** As it is written in configuration, in the largest unit that holds it. */
  private static String plain(Duration duration) {
    for (ChronoUnit unit : List.of(ChronoUnit.HOURS, ChronoUnit.MINUTES, ChronoUnit.SECONDS)) {
      if (!duration.isZero() && duration.toMillis() % unit.getDuration().toMillis() == 0) {
        return DurationStyle.SIMPLE.print(duration, unit);
      }
    }
    return duration.isZero() ? "0s" : DurationStyle.SIMPLE.print(duration, ChronoUnit.MILLIS);
  }

  /** The {@code @param} text of a component, from the source. */
  private String text(Class<?> owner, RecordComponent component) {
    Class<?> file = owner.isMemberClass() ? owner.getDeclaringClass() : owner;
    String source = read(folder(file).resolve(file.getSimpleName() + ".java"));
    Matcher comment =
        Pattern.compile(
                "/\\*\\*((?:(?!\\*/).)*)\\*/\\s*(?:@[^\\n]*\\n\\s*)*public record "
                    + owner.getSimpleName()
                    + "\\b",
                Pattern.DOTALL)
            .matcher(source);
    if (!comment.find()) {
      throw new IllegalStateException(owner + " has no Javadoc");
    }
    String plain = comment.group(1).replaceAll("\\s*\\n\\s*\\*\\s?", " ") + " @end";
    Matcher param =
        Pattern.compile("@param " + component.getName() + "\\s+(.*?)\\s*(?=@param|@end)")
            .matcher(plain);
    if (!param.find()) {
      throw new IllegalStateException(owner + " does not document " + component.getName());
    }
    return param.group(1).replaceAll("\\s+", " ");
  }

  /** Records that applications share are the platform's. */
  private Path folder(Class<?> file) {
    String name = file.getPackageName();
    return name.startsWith(SHARED) ? SHARED_SOURCES.resolve(name.replace('.', '/')) : sources;
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String dashed(RecordComponent component) {
    return DataObjectPropertyName.toDashedForm(component.getName());
  }
}
