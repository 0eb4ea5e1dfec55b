package dev.roundhouse.bundle.error;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

class JsonProblemTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{\"a\":  | Unexpected end",
        "[1, 2   | Unexpected end",
        "\"text  | Unexpected end",
        "{\"a\":] | Unexpected character",
        "[1}     | Unexpected close marker"
      })
  void shouldSayWhatIsWrongWithoutWordsOfTheParserItself(String json, String words) {
    JacksonException failure =
        catchThrowableOfType(JacksonException.class, () -> new JsonMapper().readTree(json));
    assertThat(JsonProblem.of(failure)).startsWith(words).doesNotContain("Source", "REDACTED");
  }
}
