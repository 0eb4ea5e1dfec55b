package dev.roundhouse.bundle.manifest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.networknt.schema.InputFormat;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.model.InitialState;
import dev.roundhouse.bundle.model.Lengths;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.Priorities;
import dev.roundhouse.bundle.model.QueuePolicy;
import dev.roundhouse.bundle.model.QueuePolicy.TimeoutAction;
import dev.roundhouse.bundle.model.SequencePolicy;
import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.bundle.model.ServingDefaults.Residency;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.TextTask;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class Format3ReaderTest {
  private static final String SHA = "a".repeat(64);
  private static final String FULL =
      """
      format_version: "3"
      kind: model
      description: running sum
      inputs:
        - {name: x, dtype: f32, shape: [n, 8, 0]}
        - {name: acc_in, dtype: f32, shape: [n, s]}
        - {name: START, dtype: i32, shape: [n, 1]}
        - {name: CORRID, dtype: u64, shape: [n, 1]}
      outputs:
        - {name: acc_out, dtype: f32, shape: [n, s], labels: labels.txt}
      batch_sizes: [4, 1]
      variants: [{s: 16}, {s: 128}]
      client_inputs: [{name: text, dtype: bytes, shape: [n, 1]}]
      client_outputs: [{name: sum, dtype: f32, shape: [n]}]
      serving:
        weight: 2
        residency: pinned_device
        max_queue_delay: 5ms
        queue: {max_size: 0, default_timeout: 2s, timeout_action: delay, allow_timeout_override: false}
        priorities: {levels: 3, default: 2}
        sequence:
          idle: 60s
          controls: {start: START, correlation_id: CORRID}
          state: [{input: acc_in, output: acc_out, initial: zero}]
      files: {model.v0.b1.mlir: SHA, assets/labels.txt: SHA}
      provenance: {exporter: x 0.1.0, created: 2026-11-21T00:00:00Z, steps: 7}
      """
          .replace("SHA", SHA);

  private static Schema schema;

  @BeforeAll
  static void loadSchema() throws IOException {
    try (InputStream json =
        Format3Reader.class.getResourceAsStream("/dev/roundhouse/bundle/manifest-3.schema.json")) {
      schema =
          SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12)
              .getSchema(json, InputFormat.JSON);
    }
  }

  private static Manifest read(String yaml) {
    return ManifestReader.read(yaml.getBytes(StandardCharsets.UTF_8), "manifest.yaml", "tiny");
  }

  private static boolean schemaAccepts(String yaml) {
    return schema
        .validate(ManifestYaml.parse(yaml.getBytes(StandardCharsets.UTF_8), "manifest.yaml"))
        .isEmpty();
  }

  @Test
  void shouldReadEveryKeyWhenManifestUsesAll() {
    assertThat(schemaAccepts(FULL)).isTrue();
    Manifest manifest = read(FULL);
    ModelSpec spec = manifest.spec();
    assertThat(spec.formatVersion()).isEqualTo("3");
    assertThat(spec.inputs().getFirst().wireShape()).isEqualTo(Shape.of(-1, 8, 0));
    assertThat(spec.outputs().getFirst().labels()).contains("labels.txt");
    assertThat(spec.clientInputs().getFirst().dtype()).isEqualTo(DType.BYTES);
    assertThat(spec.batchSizes()).containsExactly(1, 4);
    assertThat(spec.variants()).hasSize(2);
    assertThat(manifest.digests().orElseThrow()).hasSize(2).containsEntry("assets/labels.txt", SHA);
    assertThat(spec.provenance())
        .containsEntry("created", "2026-11-21T00:00:00Z")
        .containsEntry("steps", "7");
    assertThat(spec.serving())
        .isEqualTo(
            new ServingDefaults(
                2.0,
                Optional.of(Residency.PINNED_DEVICE),
                Optional.of(Duration.ofMillis(5)),
                OptionalInt.of(0),
                new QueuePolicy(Duration.ofSeconds(2), TimeoutAction.DELAY, false),
                new Priorities(3, 2),
                Optional.of(
                    new SequencePolicy(
                        Duration.ofSeconds(60),
                        new SequencePolicy.Controls(
                            Optional.of("START"),
                            Optional.empty(),
                            Optional.empty(),
                            Optional.of("CORRID")),
                        List.of(
                            new SequencePolicy.State("acc_in", "acc_out", InitialState.ZERO))))));
  }

  private static String task(String task, String inputs, String outputs) {
    return """
        format_version: "3"
        inputs: [{name: ids, dtype: i32, shape: [n, 4]}]
        outputs: [{name: out, dtype: f32, shape: [n, 4]}]
        batch_sizes: [1]
        task: %s
        client_inputs: [%s]
        client_outputs: [%s]
        files: {}
        """
        .formatted(task, inputs, outputs);
  }

  private static final String TEXT = "{name: text, dtype: bytes, shape: [n]}";
  private static final String PAIR =
      "{name: document, dtype: bytes, shape: [n, 1]}, {name: query, dtype: bytes, shape: [n]}";

  @Test
  void shouldReadTaskWhenContractIsThatOfTheTask() {
    String embed =
        task(
            "embed",
            TEXT,
            "{name: e, dtype: f32, shape: [n, 4]}, {name: tokens, dtype: i64, shape: [n]}");
    assertThat(schemaAccepts(embed)).isTrue();
    TextTask read = read(embed).spec().withBatchSizes(List.of(1)).task().orElseThrow();
    assertThat(read.kind()).isEqualTo(TextTask.Kind.EMBED);
    assertThat(read.width()).isEqualTo(4);
    assertThat(read.countsTokens()).isTrue();
    TextTask rerank =
        read(task("rerank", PAIR, "{name: s, dtype: f32, shape: [n, 1]}"))
            .spec()
            .task()
            .orElseThrow();
    assertThat(rerank.inputs()).extracting(TensorSpec::name).containsExactly("query", "document");
    assertThat(rerank.width()).isEqualTo(1);
    assertThat(rerank.countsTokens()).isFalse();
    String classify =
        task(
            "classify",
            TEXT,
            "{name: s, dtype: f32, shape: [n, 3], labels: labels.txt}, {name: raw, dtype: f32, shape: [n, 3]}");
    assertThat(schemaAccepts(classify)).isTrue();
    assertThat(read(classify).spec().task().orElseThrow().result().name()).isEqualTo("s");
  }

  @Test
  void shouldRefuseTaskByNameWhenContractIsAnother() {
    String score = "{name: s, dtype: f32, shape: [n]}";
    String embedding = "{name: e, dtype: f32, shape: [n, 4]}";
    for (String[] each :
        new String[][] {
          {task("sing", TEXT, embedding), "task is 'sing'; it is embed, rerank or classify"},
          {task("embed", PAIR, embedding), "needs one client input, of bytes"},
          {task("embed", TEXT, score), "needs one client output f32 [n, d] with a fixed d"},
          {task("embed", TEXT, "{name: e, dtype: f32, shape: [n, d]}"), "with a fixed d"},
          {task("embed", TEXT, embedding + ", {name: b, dtype: f32, shape: [n, 2]}"), "are 2"},
          {
            task("embed", TEXT, embedding + ", {name: tokens, dtype: f32, shape: [n]}"),
            "'tokens' for a count"
          },
          {task("rerank", TEXT, score), "two client inputs, 'query' and 'document'"},
          {task("rerank", PAIR, embedding), "f32 of shape [n] or [n, 1]"},
          {task("classify", TEXT, embedding), "f32 [n, d] with a fixed d and labels"},
          {task("classify", PAIR, embedding), "needs one client input, of bytes"},
        }) {
      assertThatThrownBy(() -> read(each[0])).hasMessageContaining(each[1]);
    }
    String bare = task("embed", TEXT, embedding).replaceAll("client_.*\n", "");
    assertThat(schemaAccepts(bare)).isFalse();
    assertThatThrownBy(() -> read(bare)).hasMessageContaining("client_inputs and client_outputs");
  }

  @Test
  void shouldLeaveToTheOperatorWhatTheManifestDoesNotSay() {
    String none =
        FULL.lines()
                .takeWhile(line -> !line.startsWith("serving:"))
                .reduce("", (a, b) -> a + b + "\n")
            + FULL.lines()
                .dropWhile(line -> !line.startsWith("files:"))
                .reduce("", (a, b) -> a + b + "\n");
    assertThat(schemaAccepts(none)).isTrue();
    assertThat(read(none).spec().serving()).isEqualTo(ServingDefaults.DEFAULT);
    assertThat(ServingDefaults.DEFAULT.maxQueueSize()).isEmpty();
    assertThat(ServingDefaults.DEFAULT.maxQueueDelay()).isEmpty();
  }

  /** Each edits the full manifest: {@code from => to}; schema and reader must both say the same. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "weight: 2 => weight: 0.5 | good",
        "kind: model => kind: model | good",
        "residency: pinned_device => residency: unpinned | good",
        "batch_sizes: [4, 1] => batch_sizes: [1] | good",
        "idle: 60s => idle: 1h | good",
        ", initial: zero => `` | good",
        "initial: zero => initial: assets/acc.bin | good",
        "initial: zero => initial: ../acc.bin | serving.sequence.state[0].initial is '../acc.bin', neither zero nor a file of the bundle",
        "initial: zero => initial: 0 | serving.sequence.state[0].initial is 0, not a string",
        "[n, 8, 0] => [n, 8, s, s] | good",
        "format_version: \"3\" => format_version: 3 | format_version is 3; served are",
        "format_version: \"3\" => format_version: \"4\" | format_version is \"4\"; served are",
        "weight: 2 => wieght: 2 | serving.wieght is not a key of this format; the nearest valid key is 'weight'",
        "description: => desciption: | desciption is not a key of this format; the nearest valid key is 'description'",
        "max_size: 0 => max_sise: 0 | the nearest valid key is 'max_size'",
        "initial: zero => inital: zero | the nearest valid key is 'initial'",
        "labels: labels.txt => lables: labels.txt | the nearest valid key is 'labels'",
        "dtype: u64, shape => dtype: u64, labels: a, shape | inputs[3].labels is not a key",
        "weight: 2 => weight: 0 | serving.weight is 0.0, outside 0.001 to 1000000",
        "weight: 2 => weight: 0.0009 | serving.weight is 9.0E-4, outside 0.001 to 1000000",
        "weight: 2 => weight: 1000001 | serving.weight is 1000001.0, outside 0.001 to 1000000",
        "weight: 2 => weight: 1000000 | good",
        "weight: 2 => weight: 0.001 | good",
        "weight: 2 => weight: heavy | serving.weight is \"heavy\", not a number",
        "pinned_device => pinned | serving.residency is 'pinned'",
        "5ms => 5 | serving.max_queue_delay is 5, not a string",
        "5ms => 5 ms | serving.max_queue_delay is '5 ms', not a duration such as 20ms",
        "5ms => 5d | is '5d', not a duration",
        "max_size: 0 => max_size: -1 | serving.queue.max_size is -1, outside 0",
        "timeout_action: delay => timeout_action: drop | is 'drop'; actions are reject and delay",
        "override: false => override: maybe | is \"maybe\", not true or false",
        "levels: 3 => levels: 0 | serving.priorities.levels is 0, outside 1",
        "{levels: 3, default: 2} => {levels: 3} | serving.priorities.default is missing",
        "kind: model => kind: other | kind is 'other'",
        "kind: model => meta: {calls: []} | meta is only for kind meta",
        "description: running sum => description: 7 | description is 7, not a string",
        "description: running sum => description: | description is null, not a string",
        "[n, 8, 0] => [8, n] | inputs[0].shape[1] is n; the batch axis is the leading one",
        "[n, 8, 0] => [n, n] | inputs[0].shape[1] is n; the batch axis is the leading one",
        "[n, 8, 0] => [n, -1] | inputs[0].shape[1] is -1, outside 0",
        "[n, 8, 0] => [n, ss] | inputs[0].shape[1] is 'ss'; an axis is a size or one ASCII letter",
        "[n, 8, 0] => [n, 1.5] | inputs[0].shape[1] is 1.5, not a whole number",
        "[n, 8, 0] => n8 | inputs[0].shape is \"n8\", not a list",
        "dtype: u64 => dtype: UINT64 | inputs[3].dtype is 'UINT64'",
        "dtype: u64 => dtype: bytes | bytes is only for client contracts",
        "dtype: bytes => dtype: f8_e5m2 | tensor 'text' is f8_e5m2, which the wire has no name for",
        "name: CORRID, dtype => dtype | inputs[3].name is missing",
        "name: CORRID => name: \"\" | inputs[3].name is empty",
        "name: CORRID => name: 7 | inputs[3].name is 7, not a string",
        "[4, 1] => [] | batch_sizes is empty",
        "[4, 1] => [4, 4] | batch_sizes is [4, 4]; sizes are unique",
        "[4, 1] => [0] | batch_sizes[0] is 0, outside 1",
        "[4, 1] => 4 | batch_sizes is 4, not a list",
        "[{s: 16}, {s: 128}] => [{s: 16}, {s: 16}] | holds {s=16} twice",
        "[{s: 16}, {s: 128}] => [] | variants is empty",
        "[{s: 16}, {s: 128}] => [{s: 0}] | variants[0].s is 0, outside 1",
        "[{s: 16}, {s: 128}] => [{s: 1, xy: 2}] | variants[0].xy is not a variable axis",
        "client_outputs: [{name: sum, dtype: f32, shape: [n]}] => `` | client_outputs is missing or empty",
        "assets/labels.txt => ../labels.txt | files.../labels.txt does not name another file of the bundle",
        "assets/labels.txt => /etc/passwd | files./etc/passwd does not name",
        "assets/labels.txt => a/./b | does not name another file",
        "assets/labels.txt => manifest.yaml | does not name another file",
        "labels: labels.txt => labels: ../secret | labels is '../secret', not a file of the bundle",
        "steps: 7 => steps: [7] | provenance.steps is not a string, number or boolean",
        "files: => digests: | files is missing",
      })
  void shouldAgreeWithSchemaWhenManifestIsEdited(String edit, String verdict) {
    String[] sides = edit.split(" => ", 2);
    assertThat(FULL).contains(sides[0].strip());
    String yaml = FULL.replace(sides[0].strip(), sides[1].strip().replace("``", ""));
    boolean good = verdict.equals("good");
    assertThat(schemaAccepts(yaml)).as("schema").isEqualTo(good);
    if (good) {
      assertThat(read(yaml).spec().name()).isEqualTo("tiny");
    } else {
      assertThatThrownBy(() -> read(yaml))
          .isInstanceOf(BundleException.class)
          .hasMessageContaining(verdict);
    }
  }

  @Test
  void shouldAgreeWithSchemaWhenDigestIsNotASha() {
    for (String digest : new String[] {SHA.substring(1), SHA.toUpperCase(Locale.ROOT), "7"}) {
      String yaml = FULL.replace(SHA, digest);
      assertThat(schemaAccepts(yaml)).isFalse();
      assertThatThrownBy(() -> read(yaml)).isInstanceOf(BundleException.class);
    }
  }

  /** Rules that span keys: beyond a schema, so only the reader holds them. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "name: CORRID, dtype: u64, shape: [n, 1] => name: CORRID, dtype: u64, shape: [1] | inputs with a batch axis, and [CORRID] without",
        "name: CORRID, dtype => name: x, dtype | names tensor 'x' twice",
        "[{s: 16}, {s: 128}] => [{t: 16}] | variants[0].t is not a variable axis; those are [s]",
        "default: 2 => default: 4 | serving.priorities.default is 4, above the 3 levels",
        "start: START => start: BEGIN | serving.sequence.controls.start is 'BEGIN'; the model has [x, acc_in, START, CORRID]",
        "start: START => start: CORRID | 'CORRID' is fed twice",
        "max_queue_delay: 5ms => max_queue_delay: 61s | serving.max_queue_delay is 61 s; at most 60 s are held for",
        "output: acc_out => output: acc | is 'acc'; the model has [acc_out]",
        "input: acc_in => input: x | 'acc_out' differs in type from 'x'",
        "idle: 60s => idle: 0s | serving.sequence.idle is zero",
      })
  void shouldHoldRulesAcrossKeysWhenSchemaCannot(String edit, String reason) {
    String[] sides = edit.split(" => ", 2);
    assertThat(FULL).contains(sides[0]);
    assertThatThrownBy(() -> read(FULL.replace(sides[0], sides[1].strip())))
        .isInstanceOf(BundleException.class)
        .hasMessageContaining(reason);
  }

  /** Letters of what callers send and get have any size: variants are of programs. */
  @Test
  void shouldLeaveLettersOfTheClientContractOpen() {
    String open =
        FULL.replace(
            "{name: text, dtype: bytes, shape: [n, 1]}",
            "{name: text, dtype: bytes, shape: [n, t]}");
    assertThat(schemaAccepts(open)).isTrue();
    ModelSpec spec = read(open).spec();
    assertThat(spec.clientInputs().getFirst().wireShape()).isEqualTo(Shape.of(-1, -1));
    assertThat(spec.variants()).hasSize(2);
    assertThat(spec.isClientBatched()).isTrue();
    ModelSpec alone =
        read(open.replace("shape: [n, t]", "shape: [t]").replace("shape: [n]}]", "shape: [q]}]"))
            .spec();
    assertThat(alone.isClientBatched()).isFalse();
    assertThat(alone.isBatched()).as("of programs").isTrue();
  }

  @Test
  void shouldAgreeWithSchemaWhenKindIsMeta() {
    String meta =
        """
        format_version: "3"
        kind: meta
        meta: {calls: [a, b]}
        client_inputs: [{name: x, dtype: bytes, shape: [1]}]
        client_outputs: [{name: y, dtype: f32, shape: []}]
        files: {}
        """;
    assertThat(schemaAccepts(meta)).isTrue();
    assertThat(read(meta).spec().calls()).containsExactly("a", "b");
    for (String line : new String[] {"meta: {calls: [a, b]}", "client_inputs", "client_outputs"}) {
      String cut = meta.lines().filter(l -> !l.startsWith(line)).reduce("", (a, b) -> a + b + "\n");
      assertThat(schemaAccepts(cut)).as(cut).isFalse();
      assertThatThrownBy(() -> read(cut)).isInstanceOf(BundleException.class);
    }
    assertThat(schemaAccepts(meta + "variants: [{s: 1}]\n")).isFalse();
    assertThatThrownBy(() -> read(meta + "variants: [{s: 1}]\n"))
        .hasMessageContaining("variants is not allowed for a meta");
    assertThatThrownBy(() -> read(meta.replace("[a, b]", "[tiny]")))
        .hasMessageContaining("a meta cannot call itself");
  }

  private static final String LENGTHS =
      """
      format_version: "3"
      inputs:
        - {name: ids, dtype: i32, shape: [n, s]}
        - {name: mask, dtype: f16, shape: [n, s, k]}
        - {name: bias, dtype: f32, shape: [n, k]}
      outputs:
        - {name: hidden, dtype: f32, shape: [n, s]}
        - {name: sum, dtype: f32, shape: [n, k]}
      batch_sizes: [1]
      variants:
        - {s: 16, k: 2}
        - {s: 128, k: 2}
      pad: {ids: 7, mask: -1.5, bias: 0}
      trim: [hidden]
      files: {}
      """;

  @Test
  void shouldReadWhatIsPaddedAndCutBack() {
    assertThat(schemaAccepts(LENGTHS)).isTrue();
    ModelSpec spec = read(LENGTHS).spec();
    assertThat(spec.inputs())
        .extracting(TensorSpec::lengths)
        .containsExactly(Lengths.padded(7L), Lengths.padded(-1.5), Lengths.padded(0.0));
    assertThat(spec.outputs())
        .extracting(TensorSpec::lengths)
        .containsExactly(Lengths.TRIMMED, Lengths.EXACT);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          pad: {ids: 7, mask: -1.5, bias: 0} | pad: {ids: 7} | leaves out input 'mask', which has an axis of [s] too
          ids: 7    | ids: 7.5            | pad.ids is 7.5, which is no value of i32
          ids: 7    | ids: 3000000000     | which is no value of i32
          mask: -1.5| mask: 70000         | which is no value of f16
          ids: 7    | ids: x              | pad.ids is "x", not a number
          bias: 0}  | bias: 0, other: 1}  | pad.other is not an input; those are [ids, mask, bias]
          [hidden]  | [hidden, none]      | trim names 'none'; the outputs are [hidden, sum]
          [hidden]  | [hidden, hidden]    | trim names an output twice
          pad: {ids: 7, mask: -1.5, bias: 0} | description: x | trim is there, but nothing is padded
          """)
  void shouldRefusePaddingThatCannotBeDone(String there, String wrong, String message) {
    assertThatThrownBy(() -> read(LENGTHS.replace(there, wrong)))
        .isInstanceOf(BundleException.class)
        .hasMessageContaining(message);
  }
}
