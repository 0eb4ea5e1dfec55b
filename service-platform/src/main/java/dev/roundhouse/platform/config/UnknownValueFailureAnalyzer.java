package dev.roundhouse.platform.config;

import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.boot.context.properties.source.ConfigurationProperty;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/** Prints the values that a setting may have as one writes them, where Spring prints constants. */
@Order(Ordered.HIGHEST_PRECEDENCE)
final class UnknownValueFailureAnalyzer extends AbstractFailureAnalyzer<BindException> {
  @Override
  protected @Nullable FailureAnalysis analyze(Throwable failure, BindException cause) {
    ConfigurationProperty property = cause.getProperty();
    Object[] constants = cause.getTarget().getType().resolve(Object.class).getEnumConstants();
    if (property == null || constants == null) {
      return null; // others know more of it
    }
    String values =
        Stream.of(constants)
            .map(each -> ((Enum<?>) each).name().toLowerCase(Locale.ROOT).replace('_', '-'))
            .collect(Collectors.joining(", "));
    return new FailureAnalysis(
        "%s is '%s', given by %s; it may be %s"
            .formatted(property.getName(), property.getValue(), property.getOrigin(), values),
        "Write one of: " + values,
        cause);
  }
}
