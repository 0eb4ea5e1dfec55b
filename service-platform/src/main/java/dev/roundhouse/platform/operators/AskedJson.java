package dev.roundhouse.platform.operators;

import dev.roundhouse.platform.operators.Spool.Section;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonEncoding;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.ObjectWriteContext;
import tools.jackson.core.StreamWriteFeature;
import tools.jackson.core.json.JsonFactory;

/**
 * JSON that a process has answered: one value or several with commas between. Kept compressed, and
 * read as it came, so that what is no JSON is known before anything is passed on.
 *
 * @param values how many
 */
record AskedJson(Spool spool, Section section, int values) {
  private static final JsonFactory JSON =
      JsonFactory.builder()
          .rootValueSeparator(",")
          .disable(StreamWriteFeature.AUTO_CLOSE_TARGET)
          .build();

  /** The document as it is. */
  static AskedJson document(SpoolMemory memory, InputStream body) throws IOException {
    return copy(
        memory,
        body,
        (from, to) -> {
          from.nextToken();
          to.copyCurrentStructure(from);
          return 1;
        });
  }

  /** An object with the process's name as its first property. */
  static AskedJson named(SpoolMemory memory, OperatorsPort port, InputStream body)
      throws IOException {
    return copy(
        memory,
        body,
        (from, to) -> {
          expect(from.nextToken() == JsonToken.START_OBJECT);
          copyNamed(port, from, to);
          return 1;
        });
  }

  /** The objects of the one list of this name, each with the process's name. */
  static AskedJson list(SpoolMemory memory, String list, OperatorsPort port, InputStream body)
      throws IOException {
    return copy(
        memory,
        body,
        (from, to) -> {
          expect(from.nextToken() == JsonToken.START_OBJECT);
          expect(list.equals(from.nextName()));
          expect(from.nextToken() == JsonToken.START_ARRAY);
          int values = 0;
          while (from.nextToken() == JsonToken.START_OBJECT) {
            copyNamed(port, from, to);
            values++;
          }
          expect(from.currentToken() == JsonToken.END_ARRAY);
          return values;
        });
  }

  private interface Copy {
    int from(JsonParser from, JsonGenerator to) throws IOException;
  }

  private static AskedJson copy(SpoolMemory memory, InputStream body, Copy copy)
      throws IOException {
    Spool spool = new Spool(memory);
    boolean whole = false;
    try (spool) {
      Spool.Writer writer = spool.section();
      int values;
      try (JsonParser from = JSON.createParser(ObjectReadContext.empty(), body);
          JsonGenerator to =
              JSON.createGenerator(ObjectWriteContext.empty(), writer, JsonEncoding.UTF8)) {
        values = copy.from(from, to);
      } catch (JacksonException e) {
        throw new IOException("it answered what is not the JSON that was asked for", e);
      }
      AskedJson all = new AskedJson(spool, writer.end(), values);
      whole = true;
      return all;
    } finally {
      if (!whole) {
        spool.drop();
      }
    }
  }

  private static void copyNamed(OperatorsPort port, JsonParser from, JsonGenerator to) {
    to.writeStartObject();
    to.writeStringProperty(port.label(), port.name());
    while (from.nextToken() == JsonToken.PROPERTY_NAME) {
      to.copyCurrentStructure(from);
    }
    to.writeEndObject();
  }

  private static void expect(boolean holds) throws IOException {
    if (!holds) {
      throw new IOException("it answered JSON of another form than was asked for");
    }
  }

  /** To be closed, and read once: its memory counts until then. */
  InputStream read() {
    return new FilterInputStream(spool.read(section)) {
      @Override
      public void close() throws IOException {
        super.close();
        spool.drop();
      }
    };
  }
}
