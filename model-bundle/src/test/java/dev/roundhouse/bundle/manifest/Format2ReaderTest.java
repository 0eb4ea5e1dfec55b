package dev.roundhouse.bundle.manifest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.ModelSpec.Kind;
import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.bundle.model.Variant;
import dev.roundhouse.bundle.tensor.Shape;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class Format2ReaderTest {
  private static final String IN =
      "executable_inputs: [{name: x, dtype: f32, shape: wn, dims: {w: 3}}]\n";
  private static final String OUT = "executable_outputs: [{name: y, dtype: f32, shape: n}]\n";

  private static ModelSpec read(String body) {
    String yaml = "format_version: \"2.0\"\n" + body;
    return ManifestReader.read(yaml.getBytes(StandardCharsets.UTF_8), "manifest.yaml", "tiny")
        .spec();
  }

  @Test
  void shouldReverseAxesWhenReadFromUpstream() {
    ModelSpec spec =
        read(
            """
            name: ignored
            description: a picture to classes
            kind: model
            an_unknown_key: is left alone
            executable_inputs:
              - name: pixels
                dtype: bf16
                shape: whcn
                dims: {w: 640, h: 480, c: 3}
              - {name: mask, dtype: bool, shape: bs, dims: {s: -1}}
            executable_outputs:
              - {name: scores, dtype: f32, shape: cn, dims: {c: 10}}
              - {name: loss, dtype: f64, shape: ""}
            batching: {compiled_batch_sizes: [8, 1, 8]}
            input_shapes: [{s: 16}, {s: 128}]
            provenance: {tool: export, nested: {a: 1}}
            """);
    assertThat(spec.name()).isEqualTo("tiny");
    assertThat(spec.formatVersion()).isEqualTo("2.0");
    assertThat(spec.kind()).isEqualTo(Kind.MODEL);
    assertThat(spec.inputs().get(0).wireShape()).isEqualTo(Shape.of(-1, 3, 480, 640));
    assertThat(spec.inputs().get(1).axes()).containsExactly(new Axis.Variable('s'), Axis.BATCH);
    assertThat(spec.outputs().get(0).wireShape()).isEqualTo(Shape.of(-1, 10));
    assertThat(spec.outputs().get(1).rank()).isZero();
    assertThat(spec.isCoalescable()).isFalse();
    assertThat(spec.batchSizes()).containsExactly(1, 8);
    assertThat(spec.variants())
        .containsExactly(new Variant(Map.of('s', 16L)), new Variant(Map.of('s', 128L)));
    assertThat(spec.serving()).isEqualTo(ServingDefaults.DEFAULT);
    assertThat(spec.provenance())
        .containsEntry("tool", "export")
        .containsEntry("nested", "{\"a\":1}");
  }

  @Test
  void shouldHaveOneShapeWhenListOfShapesIsEmpty() {
    assertThat(read(IN + OUT + "input_shapes: []").variants()).containsExactly(Variant.SINGLE);
  }

  @Test
  void shouldReadMetaWhenItHasAClientContract() {
    ModelSpec spec =
        read(
            """
            kind: meta
            meta: {calls: [detector, reader]}
            client_inputs: [{name: i, dtype: u8, shape: whc, dims: {w: -1, h: -1, c: 3}}]
            client_outputs: [{name: o, dtype: f32, shape: cd, dims: {c: 6, d: -1}}]
            """);
    assertThat(spec.kind()).isEqualTo(Kind.META);
    assertThat(spec.calls()).containsExactly("detector", "reader");
    assertThat(spec.clientInputs().getFirst().wireShape()).isEqualTo(Shape.of(3, -1, -1));
  }

  /** {@code IN} and {@code OUT} stand for a good input and output section. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "IN; | executable_outputs is missing",
        "OUT; | executable_inputs is missing",
        "OUT;executable_inputs: 7 | executable_inputs is 7, not a list",
        "OUT;executable_inputs: [7] | executable_inputs[0] is 7, not a mapping",
        "OUT;executable_inputs: [{dtype: f32, shape: n}] | executable_inputs[0].name is missing",
        "OUT;executable_inputs: [{name: x, shape: n}] | executable_inputs[0].dtype is missing",
        "OUT;executable_inputs: [{name: x, dtype: f32}] | executable_inputs[0].shape is missing",
        "OUT;executable_inputs: [{name: x, dtype: f33, shape: n}] | executable_inputs[0].dtype is 'f33'; dtypes are f64",
        "OUT;executable_inputs: [{name: x, dtype: bytes, shape: n}] | bytes is only for client contracts of format 3",
        "OUT;executable_inputs: [{name: x, dtype: f32, shape: ww, dims: {w: 1}}] | shape is 'ww'; it must be distinct",
        "OUT;executable_inputs: [{name: x, dtype: f32, shape: w1, dims: {w: 1}}] | shape is 'w1'; it must be distinct ASCII letters",
        "OUT;executable_inputs: [{name: x, dtype: f32, shape: nb}] | at most one batch marker",
        "OUT;executable_inputs: [{name: x, dtype: f32, shape: wn}] | executable_inputs[0].dims.w is missing",
        "OUT;executable_inputs: [{name: x, dtype: f32, shape: wn, dims: {w: 0}}] | dims.w is 0; sizes are above 0",
        "OUT;executable_inputs: [{name: x, dtype: f32, shape: wn, dims: {w: -2}}] | dims.w is -2, outside -1",
        "OUT;executable_inputs: [{name: x, dtype: f32, shape: wn, dims: {w: 1.5}}] | dims.w is 1.5, not a whole number",
        "OUT;executable_inputs: [{name: x, dtype: f32, shape: wn, dims: {w: 99999999999999999999}}] | outside -1",
        "OUT;executable_inputs: [{name: x, dtype: f32, shape: wn, dims: {w: 1, h: 2}}] | dims.h is not an axis of shape 'wn'",
        "OUT;executable_inputs: [{name: x, dtype: f32, shape: wn, dims: {w: 1, n: 2}}] | dims.n is a batch marker",
        "OUT;executable_inputs: [{name: x, dtype: f32, shape: n},{name: x, dtype: f32, shape: n}] | names tensor 'x' twice",
        "OUT;executable_inputs: [{name: x, dtype: f32, shape: n},{name: z, dtype: f32, shape: ''}] | inputs with a batch axis, and [z] without",
        "OUT;executable_inputs: [{name: x, dtype: f8_e4m3, shape: n}] | tensor 'x' is f8_e4m3, which the wire has no name for",
        "OUT;executable_inputs: [{name: x, dtype: f32, shape: ''}];batching: {compiled_batch_sizes: [1, 2]} | is [1, 2], but no input has a batch axis",
        "IN;OUT;batching: {compiled_batch_sizes: [0]} | compiled_batch_sizes[0] is 0, outside 1",
        "IN;OUT;batching: {compiled_batch_sizes: [a]} | compiled_batch_sizes[0] is \"a\", not a whole number",
        "IN;OUT;batching: [] | batching is [], not a mapping",
        "IN;OUT;kind: modle | kind is 'modle'; kinds are model and meta",
        "IN;OUT;input_shapes: [{s: 1}] | input_shapes is there, but no axis is variable",
        "OUT;executable_inputs: [{name: x, dtype: f32, shape: s, dims: {s: -1}}] | input_shapes is missing; it must give the variable axes [s] sizes",
        "OUT;executable_inputs: [{name: x, dtype: f32, shape: s, dims: {s: -1}}];input_shapes: [] | input_shapes is empty",
        "OUT;executable_inputs: [{name: x, dtype: f32, shape: s, dims: {s: -1}}];input_shapes: [{}] | input_shapes[0].s is missing",
        "OUT;executable_inputs: [{name: x, dtype: f32, shape: s, dims: {s: -1}}];input_shapes: [{s: 1, t: 1}] | input_shapes[0].t is not a variable axis",
        "OUT;executable_inputs: [{name: x, dtype: f32, shape: s, dims: {s: -1}}];input_shapes: [{s: 0}] | input_shapes[0].s is 0, outside 1",
        "OUT;executable_inputs: [{name: x, dtype: f32, shape: s, dims: {s: -1}}];input_shapes: [{s: 1},{s: 1}] | holds {s=1} twice",
        "IN;executable_outputs: [{name: y, dtype: f32, shape: t, dims: {t: -1}}] | has variable axes [t] that no input has",
        "IN;OUT;client_inputs: [{name: x, dtype: f32, shape: n}] | client_outputs is missing or empty",
        "IN;OUT;client_inputs: [{name: x, dtype: f8_e5m2, shape: n}];client_outputs: [{name: x, dtype: f32, shape: n}] | which the wire has no name for",
        "kind: meta;meta: {calls: []} | client_inputs is missing or empty",
        "kind: meta | meta is missing",
        "kind: meta;meta: {} | meta.calls is missing",
        "kind: meta;meta: {calls: [a, a]} | meta.calls is [a, a]; names are unique",
        "kind: meta;meta: {calls: [tiny]} | a meta cannot call itself",
        "kind: meta;meta: {calls: []};input_shapes: [] | input_shapes is not allowed for a meta",
      })
  void shouldNameKeyValueAndRuleWhenManifestIsWrong(String body, String reason) {
    String yaml =
        body.replaceFirst("^IN;", IN.replace("\n", ";"))
            .replaceFirst("OUT;", OUT.replace("\n", ";"))
            .replace(";", "\n");
    assertThatThrownBy(() -> read(yaml))
        .isInstanceOf(BundleException.class)
        .hasMessageStartingWith("manifest.yaml: ")
        .hasMessageContaining(reason);
  }

  @Test
  void shouldTellAllProblemsWhenThereAreSeveral() {
    assertThatThrownBy(
            () -> read("executable_inputs: [{name: x, dtype: f33, shape: wn}]\nkind: 3\n"))
        .isInstanceOfSatisfying(
            BundleException.class, refusal -> assertThat(refusal.reasons()).hasSize(4));
  }
}
