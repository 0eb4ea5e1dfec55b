package dev.roundhouse.hooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.hooks.testing.SampleCalls;
import dev.roundhouse.hooks.testing.SampleContext;
import dev.roundhouse.hooks.testing.SampleRequest;
import java.nio.IntBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class StreamExampleTest {
  private static final String CHARACTERS = "\n abcdefgh";
  private static final int WINDOW = 128;

  private ExampleHooks<MetaModel> example;
  private SampleContext model;

  @BeforeEach
  void open(@TempDir Path folder) throws Exception {
    example = ExampleHooks.compile(MetaModel.class, "stream", folder);
    Files.writeString(folder.resolve("characters.txt"), CHARACTERS);
    model = new SampleContext("stream", folder, Map.of());
    example.hooks().open(model);
  }

  @AfterEach
  void close() throws Exception {
    example.close();
  }

  @Test
  void shouldSendEachCharacterUntilTheTextEnds() throws Exception {
    SampleRequest request = request("ab", 100);
    Tensors last = example.hooks().run(request, new Alphabet(request).calls);
    assertThat(text(request)).isEqualTo("cdefgh");
    assertThat(request.parts()).hasSize(6);
    assertThat(last.size()).as("tensors behind the last part").isZero();
  }

  @Test
  void shouldSendNoMoreThanIsAskedFor() throws Exception {
    SampleRequest request = request("a", 3);
    Tensors unused = example.hooks().run(request, new Alphabet(request).calls);
    assertThat(text(request)).isEqualTo("bcd");
  }

  @Test
  void shouldShowTheDecoderTheEndBeforeAShortText() throws Exception {
    SampleRequest request = request("gf", 1);
    Alphabet decoder = new Alphabet(request);
    Tensors unused = example.hooks().run(request, decoder.calls);
    assertThat(decoder.length).isEqualTo(3);
    assertThat(Arrays.copyOf(decoder.seen, 4)).containsExactly(0, 9, 8, 0);
    assertThat(text(request)).isEqualTo("g");
  }

  @Test
  void shouldShowTheDecoderTheLastCharactersOfALongText() throws Exception {
    SampleRequest request = request("h".repeat(40) + "a".repeat(WINDOW - 2) + "b", 2);
    Alphabet decoder = new Alphabet(request);
    Tensors unused = example.hooks().run(request, decoder.calls);
    assertThat(decoder.length).isEqualTo(WINDOW);
    assertThat(decoder.seen).startsWith(3).endsWith(3, 3, 4, 5);
    assertThat(decoder.seen).as("nothing of the beginning").doesNotContain(0, 10);
    assertThat(text(request)).isEqualTo("cd");
  }

  @Test
  void shouldBeginATextOfItsOwnWhenNothingIsSent() throws Exception {
    SampleRequest request = request("", 2);
    Tensors unused = example.hooks().run(request, new Alphabet(request).calls);
    assertThat(text(request)).isEqualTo("\n ");
  }

  @Test
  void shouldCallNoMoreWhenTheCallerHasLeft() {
    SampleRequest request = request("a", 100);
    Alphabet decoder = new Alphabet(request);
    decoder.leavesAt = 3;
    assertThatExceptionOfType(CancellationException.class)
        .isThrownBy(() -> example.hooks().run(request, decoder.calls));
    assertThat(decoder.calls.made()).hasSize(3);
    assertThat(text(request)).isEqualTo("bc");
  }

  @ParameterizedTest
  @CsvSource(
      quoteCharacter = '"',
      value = {
        "aXb, 1, 'text_input' has the character 'X'; the model knows \\n abcdefgh",
        "a, 0, 'max_tokens' is 0; it is 1 to 2000",
        "a, 2001, 'max_tokens' is 2001; it is 1 to 2000"
      })
  void shouldRefuseByName(String text, int most, String message) {
    SampleRequest request = request(text, most);
    Alphabet decoder = new Alphabet(request);
    assertThatExceptionOfType(HookException.class)
        .isThrownBy(() -> example.hooks().run(request, decoder.calls))
        .withMessage(message)
        .satisfies(e -> assertThat(e.code()).isEqualTo(HookException.Code.INVALID_ARGUMENT));
    assertThat(decoder.calls.made()).isEmpty();
  }

  private SampleRequest request(String text, int most) {
    return new SampleRequest(model)
        .with(r -> r.strings("text_input", List.of(text)))
        .with(
            r -> {
              Tensor tokens = r.tensor("max_tokens", DType.I32, 1);
              tokens.i32().put(0, most);
              return tokens;
            });
  }

  private static String text(SampleRequest request) {
    return request.parts().stream()
        .map(part -> part.get("text_output").string(0))
        .collect(Collectors.joining());
  }

  /** A decoder after whose each character comes the next, and after the last the end. */
  private static final class Alphabet {
    private final SampleRequest request;
    final SampleCalls calls = new SampleCalls().with("decoder", this::next);
    int leavesAt = Integer.MAX_VALUE;
    int length;
    int[] seen = {};

    Alphabet(SampleRequest request) {
      this.request = request;
    }

    private Tensors next(Tensors inputs) {
      IntBuffer tokens = inputs.get("tokens").i32();
      length = inputs.get("length").i32().get(0);
      seen = new int[tokens.remaining()];
      IntBuffer unused = tokens.get(seen);
      if (calls.made().size() == leavesAt) {
        request.cancel();
      }
      float[] scores = new float[CHARACTERS.length() + 1];
      scores[(seen[length - 1] + 1) % scores.length] = 1;
      return Tensors.of(SampleRequest.f32("scores", scores, 1, scores.length));
    }
  }
}
