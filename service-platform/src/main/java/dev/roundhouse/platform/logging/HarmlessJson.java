package dev.roundhouse.platform.logging;

import org.springframework.boot.json.JsonWriter.Members;
import org.springframework.boot.json.JsonWriter.ValueProcessor;
import org.springframework.boot.logging.structured.StructuredLoggingJsonMembersCustomizer;

/**
 * Makes every text of a record for machines {@link Harmless}. Ends of lines stay: JSON has them as
 * {@code \n}. Nothing is cut: stack traces are long.
 */
final class HarmlessJson implements StructuredLoggingJsonMembersCustomizer<Object> {
  @Override
  public void customize(Members<Object> members) {
    members.applyingValueProcessor(
        ValueProcessor.of(String.class, text -> text == null ? null : Harmless.lines(text)));
  }
}
