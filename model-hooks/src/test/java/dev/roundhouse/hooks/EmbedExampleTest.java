package dev.roundhouse.hooks;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.hooks.testing.SampleContext;
import dev.roundhouse.hooks.testing.SampleRequest;
import java.nio.IntBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class EmbedExampleTest {
  private ExampleHooks<ModelHooks> example;
  private SampleContext model;

  @BeforeEach
  void open(@TempDir Path folder) throws Exception {
    example = ExampleHooks.compile("embed", folder);
    Files.writeString(
        folder.resolve("vocab.txt"), "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\ncat\nsleeps\n##y\n");
    model = new SampleContext("minilm", folder, Map.of());
    example.hooks().open(model);
  }

  @AfterEach
  void close() throws Exception {
    example.close();
  }

  @Test
  void shouldPadTextsToTheLongestAndCountTheirTokens() throws Exception {
    SampleRequest request = request("A caty sleeps", "cat");
    Tensors inputs = example.hooks().preprocess(request);
    assertThat(inputs.get("input_ids").shape().dims()).containsExactly(2, 6);
    assertThat(ints(inputs.get("input_ids")))
        .containsExactly(2, 4, 5, 7, 6, 3, /**/ 2, 5, 3, 0, 0, 0);
    assertThat(ints(inputs.get("attention_mask")))
        .containsExactly(1, 1, 1, 1, 1, 1, /**/ 1, 1, 1, 0, 0, 0);
    Tensor embedding = SampleRequest.f32("embedding", new float[2 * 384], 2, 384);
    Tensors answer = example.hooks().postprocess(request, Tensors.of(embedding));
    assertThat(answer.get("embedding")).isSameAs(embedding);
    assertThat(ints(answer.get("tokens"))).containsExactly(6, 3);
  }

  @Test
  void shouldCutATextToWhatTheLargestProgramTakes() throws Exception {
    Tensor ids = example.hooks().preprocess(request("cat ".repeat(1000))).get("input_ids");
    assertThat(ids.shape().dims()).containsExactly(1, 256);
    assertThat(ids.i32().get(255)).isEqualTo(3);
  }

  private SampleRequest request(String... texts) {
    return new SampleRequest(model).with(r -> r.strings("text", List.of(texts), texts.length));
  }

  private static int[] ints(Tensor tensor) {
    IntBuffer values = tensor.i32();
    int[] copy = new int[values.remaining()];
    IntBuffer unused = values.get(copy);
    return copy;
  }
}
