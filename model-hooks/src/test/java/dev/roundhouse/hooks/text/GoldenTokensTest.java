package dev.roundhouse.hooks.text;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.hooks.text.TokenizerCases.Case;
import java.util.Arrays;
import java.util.List;
import org.assertj.core.api.SoftAssertions;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class GoldenTokensTest {

  @ParameterizedTest
  @ValueSource(
      strings = {
        "word-piece",
        "word-piece-cased",
        "byte-level",
        "byte-level-split",
        "byte-fallback",
        "word-suffix",
        "unigram",
        "unigram-first",
        "unigram-split"
      })
  void shouldEncodeAsTokenizersDoes(String name) {
    BertText tokenizer = TokenizerCases.tokenizer(name);
    List<Case> cases = TokenizerCases.of(name);
    assertThat(cases).hasSizeGreaterThan(50);
    SoftAssertions softly = new SoftAssertions();
    for (Case wanted : cases) {
      if (wanted.ids() == null) {
        softly
            .assertThatThrownBy(() -> wanted.encode(tokenizer))
            .as("%s", wanted)
            .isInstanceOf(IllegalArgumentException.class);
        continue;
      }
      Encoding found = wanted.encode(tokenizer);
      softly
          .assertThat(tokens(tokenizer, found.ids()))
          .as("%s", wanted)
          .isEqualTo(tokens(tokenizer, wanted.ids().stream().mapToInt(id -> id).toArray()));
      softly
          .assertThat(found.typeIds())
          .as("types of %s", wanted)
          .containsExactly(wanted.typeIds().stream().mapToInt(id -> id).toArray());
    }
    softly.assertAll();
  }

  private static List<String> tokens(BertText tokenizer, int[] ids) {
    return Arrays.stream(ids).mapToObj(id -> id + " " + tokenizer.token(id)).toList();
  }
}
