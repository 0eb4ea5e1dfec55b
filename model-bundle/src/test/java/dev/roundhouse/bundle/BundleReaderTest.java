package dev.roundhouse.bundle;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.ClassLabels;
import dev.roundhouse.bundle.model.InitialState;
import dev.roundhouse.bundle.model.TensorSpec;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BundleReaderTest {
  private static final String META =
      """
      format_version: "3"
      kind: meta
      meta: {calls: [a]}
      client_inputs: [{name: x, dtype: bytes, shape: [1]}]
      client_outputs: [{name: y, dtype: f32, shape: [1]}]
      files: {Model.java: %s}
      """;

  @TempDir Path root;
  private Path folder;

  @BeforeEach
  void nameFolder() {
    folder = root.resolve("tiny");
  }

  private BundleFolder format3() {
    return BundleFolder.format3(folder, "").file("model.mlir", BundleFolder.PROGRAM);
  }

  private static void assertRefused(Path bundle, String file, String reason) {
    assertThatThrownBy(() -> BundleReader.read(bundle).close())
        .isInstanceOf(BundleException.class)
        .hasMessageContaining(file + ": ")
        .hasMessageContaining(reason);
  }

  @Test
  void shouldReadWholeBundleWhenFormatIs3() {
    BundleFolder.format3(folder, "batch_sizes: [4, 1]\n")
        .file("model.b1.mlir", "one")
        .file("model.b4.mlir", "four")
        .file("model.b16.mlir", "sixteen")
        .file("assets/vocab.txt", "a b")
        .file("Model.java", "class Model {}")
        .write();
    try (Bundle bundle = BundleReader.read(folder)) {
      assertThat(bundle.name()).isEqualTo("tiny");
      assertThat(bundle.glue()).isEqualTo(Glue.JAVA_SOURCE);
      assertThat(bundle.weights().arguments()).isEmpty();
      assertThat(bundle.spec().batchSizes()).containsExactly(1, 4, 16);
      assertThat(bundle.programs("cpu"))
          .extracting(ProgramFile::batchSize)
          .containsExactly(1, 4, 16);
      assertThat(bundle.programs("cpu").get(1).read()).asString().isEqualTo("four");
      assertThat(bundle.readFile("assets/vocab.txt")).asString().isEqualTo("a b");
      assertThatThrownBy(() -> bundle.readFile("../tiny/model.b1.mlir"))
          .isInstanceOf(BundleException.class);
    }
  }

  @Test
  void shouldReverseContractWhenFormatIs2() {
    BundleFolder.format2(folder, "batching: {compiled_batch_sizes: [2]}\n")
        .file("model.mlir", BundleFolder.PROGRAM)
        .write();
    try (Bundle bundle = BundleReader.read(folder)) {
      assertThat(bundle.spec().inputs().getFirst().axes())
          .containsExactly(Axis.BATCH, new Axis.Fixed(3));
      assertThat(bundle.programs("cpu"))
          .containsExactly(
              new ProgramFile(0, 0, bundle.directory().resolve("model.mlir"), Optional.empty()));
    }
  }

  @Test
  void shouldRefuseByNameWhenFilesAreMissingOrTooMany() {
    assertRefused(
        format3().without("weights.safetensors").write(), "weights.safetensors", "is not a file");
    folder = root.resolve("none");
    assertRefused(BundleFolder.format3(folder, "").write(), "model.mlir", "is missing");
    folder = root.resolve("sizes");
    assertRefused(
        BundleFolder.format3(folder, "batch_sizes: [1, 4]\n").file("model.b1.mlir", "x").write(),
        "model.b4.mlir",
        "is missing; the manifest lists batch sizes [1, 4]");
    folder = root.resolve("both");
    assertRefused(format3().file("model.b1.mlir", "x").write(), "model.mlir", "keep one form");
    folder = root.resolve("variant");
    assertRefused(
        format3().file("model.v0.mlir", "x").write(), "model.v0.mlir", "manifest has none");
    folder = root.resolve("odd");
    assertRefused(
        format3().file("model.b04.mlir", "x").write(), "model.b04.mlir", "not a program's name");
    folder = root.resolve("glue");
    assertRefused(
        BundleFolder.format3(folder, "")
            .file("model.mlir", "x")
            .file("Model.java", "x")
            .file("model.jar", "x")
            .write(),
        "model.jar",
        "keep one of them");
  }

  @Test
  void shouldReadLabelsWithTheModel() {
    try (Bundle bundle = BundleReader.read(labelled("cat\ndog\n".getBytes(UTF_8)))) {
      TensorSpec output = bundle.spec().outputs().getFirst();
      assertThat(output.labels()).contains("labels.txt");
      assertThat(output.classes()).isEqualTo(ClassLabels.parse("cat\ndog".getBytes(UTF_8)));
      assertThat(bundle.spec().clientOutputs()).containsExactly(output);
    }
  }

  @Test
  void shouldRefuseLabelsThatCannotBeRead() throws Exception {
    Path missing = labelled("a".getBytes(UTF_8));
    String manifest = Files.readString(missing.resolve("manifest.yaml"));
    rewrite(missing, manifest.replace("labels: labels.txt", "labels: names.txt"));
    assertRefused(missing, "names.txt", "is named as labels in the manifest, but is not there");

    folder = root.resolve("changed");
    Path changed = labelled("a".getBytes(UTF_8));
    Files.writeString(changed.resolve("labels.txt"), "b");
    assertRefused(changed, "labels.txt", "was changed or cut off");

    folder = root.resolve("latin");
    assertRefused(
        labelled(new byte[] {(byte) 0xe4, '\n'}),
        "labels.txt",
        "is named as labels in the manifest, but is no UTF-8");

    folder = root.resolve("large");
    byte[] large = new byte[(16 << 20) + 1];
    Arrays.fill(large, (byte) 'a');
    assertRefused(labelled(large), "labels.txt", "has more than 16777216 bytes");
  }

  @Test
  void shouldRefuseLabelsThatAreNotAsManyAsTheClassesOfTheTask() {
    try (Bundle bundle = BundleReader.read(classifier("three", "a\nb\nc\n"))) {
      assertThat(bundle.spec().task().orElseThrow().result().classes().text(2)).isEqualTo("c");
    }
    for (String few : new String[] {"a\nb\n", "a\nb\n\n"}) {
      assertRefused(
          classifier("few" + few.length(), few),
          "labels.txt",
          "no label in line 3, and output 'scores' has 3 classes");
    }
    assertRefused(
        classifier("many", "a\nb\nc\nd"), "labels.txt", "has 4 lines and that is too many");
  }

  private Path classifier(String name, String labels) {
    return BundleFolder.format3(
            root.resolve(name),
            """
            task: classify
            client_inputs: [{name: text, dtype: bytes, shape: [n]}]
            client_outputs: [{name: scores, dtype: f32, shape: [n, 3], labels: labels.txt}]
            """)
        .file("model.mlir", BundleFolder.PROGRAM)
        .file("Model.java", "class Model {}")
        .file("labels.txt", labels)
        .write();
  }

  private Path labelled(byte[] labels) {
    return BundleFolder.format3(folder, "")
        .replace("name: y,", "name: y, labels: labels.txt,")
        .file("model.mlir", BundleFolder.PROGRAM)
        .file("labels.txt", labels)
        .write();
  }

  @Test
  void shouldReadWhatStateBeginsWith() {
    try (Bundle bundle =
        BundleReader.read(beginning(new byte[] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}))) {
      InitialState initial =
          bundle.spec().serving().sequence().orElseThrow().state().getFirst().initial();
      byte[] read = new byte[3];
      initial.copyTo(4, MemorySegment.ofArray(read));
      assertThat(read).containsExactly(5, 6, 7);
    }
  }

  @Test
  void shouldRefuseAFileThatStateCannotBeginWith() throws Exception {
    Path missing = beginning(new byte[12]);
    String manifest = Files.readString(missing.resolve("manifest.yaml"));
    rewrite(missing, manifest.replace("initial: begin.bin", "initial: other.bin"));
    assertRefused(
        missing, "other.bin", "is named as initial state in the manifest, but is not there");

    folder = root.resolve("changed");
    Path changed = beginning(new byte[12]);
    Files.write(changed.resolve("begin.bin"), new byte[] {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    assertRefused(changed, "begin.bin", "was changed or cut off");

    folder = root.resolve("short");
    assertRefused(
        beginning(new byte[7]),
        "begin.bin",
        "has 7 bytes and the state 'x' begins with it and has 12");

    folder = root.resolve("large");
    assertRefused(beginning(new byte[(64 << 20) + 1]), "begin.bin", "has more than 67108864 bytes");

    folder = root.resolve("outside");
    Path outside = beginning(new byte[12]);
    Path secret = Files.write(root.resolve("secret"), new byte[12]);
    Files.delete(outside.resolve("begin.bin"));
    Files.createSymbolicLink(outside.resolve("begin.bin"), secret);
    assertRefused(outside, "begin.bin", "is a link that leads out of the bundle");
  }

  private Path beginning(byte[] initial) {
    return BundleFolder.format3(
            folder, "serving: {sequence: {state: [{input: x, output: y, initial: begin.bin}]}}\n")
        .file("model.mlir", BundleFolder.PROGRAM)
        .file("begin.bin", initial)
        .write();
  }

  @Test
  void shouldRefuseWhenVariantsAndProgramsDisagree() {
    String shapes =
        """
        format_version: "2.0"
        executable_inputs: [{name: x, dtype: i32, shape: s, dims: {s: -1}}]
        executable_outputs: [{name: y, dtype: i32, shape: s, dims: {s: -1}}]
        input_shapes: [{s: 16}, {s: 128}]
        """;
    Path plain = BundleFolder.format2(folder, "").file("model.mlir", "x").write();
    rewrite(plain, shapes);
    assertRefused(plain, "model.mlir", "names no shape variant, but the manifest has 2");
    folder = root.resolve("half");
    Path half = BundleFolder.format2(folder, "").file("model.v0.mlir", "x").write();
    rewrite(half, shapes);
    assertRefused(half, "model.v1.mlir", "is missing");
    folder = root.resolve("extra");
    Path extra =
        BundleFolder.format2(folder, "")
            .file("model.v0.b4.mlir", "x")
            .file("model.v1.mlir", "x")
            .write();
    rewrite(extra, shapes);
    assertRefused(extra, "model.v0.b4.mlir", "compiled for 4 rows, but no input");
    folder = root.resolve("whole");
    Path whole =
        BundleFolder.format2(folder, "")
            .file("model.v0.mlir", "x")
            .file("model.v1.mlir", "x")
            .write();
    rewrite(whole, shapes);
    try (Bundle bundle = BundleReader.read(whole)) {
      assertThat(bundle.programs("cpu")).extracting(ProgramFile::variant).containsExactly(0, 1);
    }
  }

  private static void rewrite(Path bundle, String manifest) {
    try {
      Files.writeString(bundle.resolve("manifest.yaml"), manifest);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void shouldRefuseByNameWhenDigestsDoNotHold() throws IOException {
    Path bundle = format3().write();
    Files.writeString(bundle.resolve("model.mlir"), "changed");
    assertRefused(bundle, "model.mlir", "but manifest.yaml says");
    Files.delete(bundle.resolve("model.mlir"));
    assertRefused(bundle, "model.mlir", "is listed in manifest.yaml under files, but is not there");
    format3().write();
    Files.writeString(bundle.resolve("extra.txt"), "x");
    assertRefused(bundle, "extra.txt", "is not listed in manifest.yaml under files");
    Files.delete(bundle.resolve("extra.txt"));
    Files.writeString(bundle.resolve(".DS_Store"), "x");
    try (Bundle read = BundleReader.read(bundle)) {
      Files.writeString(bundle.resolve("model.mlir"), "changed after the check");
      assertThatThrownBy(() -> read.programs("cpu").getFirst().read())
          .isInstanceOf(BundleException.class)
          .hasMessageContaining("was changed or cut off");
    }
  }

  @Test
  void shouldRefuseTheWeightsOnTheirCopyWhenTheirDigestDoesNotHold() throws IOException {
    Path bundle = format3().write();
    Path weights = bundle.resolve("weights.safetensors");
    byte[] published = Files.readAllBytes(weights);
    try (Bundle read = BundleReader.read(bundle)) {
      read.weights().verify(index -> MemorySegment.NULL);
    }
    byte[] padded =
        new String(published, StandardCharsets.ISO_8859_1)
            .replace("[]", "[ ]")
            .getBytes(StandardCharsets.ISO_8859_1);
    padded[0]++;
    Files.write(weights, padded);
    try (Bundle read = BundleReader.read(bundle)) {
      assertThatThrownBy(() -> read.weights().verify(index -> MemorySegment.NULL))
          .isInstanceOf(BundleException.class)
          .hasMessageContaining("weights.safetensors")
          .hasMessageContaining("was changed or cut off");
    }
  }

  /** As the Hugging Face cache, DVC and nix lay files out: each once, in a store of all. */
  @Test
  void shouldFollowLinksIntoFoldersThatTheOperatorNames() throws IOException {
    Path store = Files.createDirectories(root.resolve("hub/blobs"));
    Files.writeString(store.resolve("4f2a"), "x");
    Files.writeString(Files.createDirectories(root.resolve("hub-of-others")).resolve("b"), "x");
    Path named = Files.createSymbolicLink(root.resolve("named"), root.resolve("hub"));
    LinkRoots roots = new LinkRoots(List.of(root.resolve("none"), named), "link.roots");
    folder = root.resolve("snapshot");
    Path bundle = BundleFolder.format2(folder, "").write();
    Path link = bundle.resolve("model.mlir");
    Files.createSymbolicLink(link, Path.of("../hub/blobs/4f2a"));
    try (Bundle read = BundleReader.read(bundle, "m", roots)) {
      assertThat(read.programs("cpu").getFirst().read()).asString().isEqualTo("x");
    }
    assertRefused(bundle, "model.mlir", "is a link that leads out of the bundle");
    for (String outside : new String[] {"../hub-of-others/b", "../hub/../hub-of-others/b"}) {
      Files.delete(link);
      Files.createSymbolicLink(link, Path.of(outside));
      assertThatThrownBy(() -> BundleReader.read(bundle, "m", roots))
          .hasMessageContaining("model.mlir: is a link that leads out of the bundle")
          .hasMessageEndingWith("name a folder that holds what the link leads to in link.roots");
    }
    Files.delete(link);
    Files.createSymbolicLink(link, store);
    assertThatThrownBy(() -> BundleReader.read(bundle, "m", roots))
        .hasMessageContaining("is a link to something that is not a file");
  }

  @Test
  void shouldRefuseByNameWhenEntriesLeadOutOrAreNoFiles() throws IOException {
    Path secret = Files.writeString(root.resolve("secret"), BundleFolder.PROGRAM);
    for (Path target : new Path[] {secret, Path.of("../secret"), root.resolve("nowhere"), root}) {
      folder = root.resolve("link" + target.toString().hashCode());
      Path bundle = BundleFolder.format2(folder, "").write();
      Files.createSymbolicLink(bundle.resolve("model.mlir"), target);
      assertRefused(bundle, "model.mlir", "is a link that leads");
    }
    folder = root.resolve("inside");
    Path inside = BundleFolder.format2(folder, "").file("real.mlir", "x").write();
    Files.createSymbolicLink(inside.resolve("model.mlir"), Path.of("real.mlir"));
    try (Bundle bundle = BundleReader.read(inside)) {
      assertThat(bundle.programs("cpu").getFirst().read()).asString().isEqualTo("x");
    }
    Path alias = Files.createSymbolicLink(root.resolve("alias"), inside);
    try (Bundle bundle = BundleReader.read(alias)) {
      assertThat(bundle.name()).isEqualTo("alias");
    }
    for (String name :
        new String[] {"manifest.yaml", "model.mlir", "weights.safetensors", "Model.java"}) {
      Path bundle = Files.createDirectories(root.resolve("folder-" + name));
      if (!name.equals("manifest.yaml")) {
        rewrite(bundle, "{}");
      }
      Files.createDirectory(bundle.resolve(name));
      assertRefused(bundle, name, "is a folder, not a file");
    }
    assertRefused(root.resolve("absent"), "absent", "cannot be found");
    assertRefused(root, root.getFileName().toString(), "is no bundle: it has no manifest.yaml");
  }

  @Test
  void shouldSayWhatToServeWhenHooksAreMissingOrJulia() {
    assertRefused(
        BundleFolder.format2(folder, "").file("model.mlir", "x").file("model.jl", "x").write(),
        "model.jl",
        "holds hooks in Julia, which this server does not run; write them in Java, or serve");
    folder = root.resolve("client");
    assertRefused(
        BundleFolder.format3(
                folder,
                "client_inputs: [{name: t, dtype: bytes, shape: [1]}]\nclient_outputs: [{name: t, dtype: f32, shape: [1]}]\n")
            .file("model.mlir", "x")
            .write(),
        "manifest.yaml",
        "has client_inputs and client_outputs, which needs hooks, and there is neither Model.java nor");
    folder = root.resolve("meta");
    Path meta = format3().write();
    rewrite(
        meta,
        "format_version: \"2.0\"\nkind: meta\nmeta: {calls: []}\nclient_inputs: [{name: x, dtype: f32, shape: \"\"}]\nclient_outputs: [{name: x, dtype: f32, shape: \"\"}]\n");
    assertRefused(
        meta,
        "manifest.yaml",
        "is of kind meta, which needs hooks, and there is neither Model.java");
  }

  @Test
  void shouldReadMetaWhenGlueIsThere() throws IOException {
    Files.createDirectories(folder);
    Files.writeString(folder.resolve("Model.java"), "x");
    rewrite(folder, META.formatted(Digest.of("x".getBytes(UTF_8))));
    try (Bundle bundle = BundleReader.read(folder)) {
      assertThat(bundle.spec().calls()).containsExactly("a");
      assertThat(bundle.programs("cpu")).isEmpty();
      assertThatThrownBy(bundle::weights)
          .isInstanceOf(IllegalStateException.class)
          .hasMessage("'tiny' is a meta; it has no weights");
    }
  }

  @Test
  void shouldListModelsAndVersionsWhenRepositoryHoldsBoth() throws IOException {
    BundleFolder.format2(root.resolve("b"), "").file("model.mlir", "x").write();
    BundleFolder.format2(root.resolve("a/10"), "").file("model.mlir", "x").write();
    BundleFolder.format2(root.resolve("a/2"), "").file("model.mlir", "x").write();
    BundleFolder.format2(root.resolve("a/02"), "").file("model.mlir", "x").write();
    Files.createDirectories(root.resolve("empty"));
    Files.createDirectories(root.resolve(".hidden/1"));
    assertThat(Repository.list(root)).containsExactly(root.resolve("a"), root.resolve("b"));
    assertThat(Repository.list(root.resolve("none"))).isEmpty();
    assertThat(ModelFolder.versions(root.resolve("b")))
        .containsExactly(new ModelFolder.Version(1, root.resolve("b")));
    assertThat(ModelFolder.versions(root.resolve("a")))
        .extracting(ModelFolder.Version::number)
        .containsExactly(2L, 10L);
    try (Bundle bundle = BundleReader.read(root.resolve("a/10"), "a")) {
      assertThat(bundle.name()).isEqualTo("a");
    }
  }
}
