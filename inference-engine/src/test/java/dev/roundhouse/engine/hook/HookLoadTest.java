package dev.roundhouse.engine.hook;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What becomes of a bundle's code when it is loaded: compiled or read, looked through, refused. */
class HookLoadTest {
  private static final String SERVICE = "META-INF/services/dev.roundhouse.hooks.ModelHooks";
  private static final String PLAIN =
      """
      package author;
      import dev.roundhouse.hooks.*;
      public class Model implements ModelHooks {}
      """;

  @TempDir Path repository;

  @Test
  void shouldSayWhatTheCompilerSays() {
    assertRefused(
        HookBundle.source(
            """
            import dev.roundhouse.hooks.*;
            class Model implements ModelHooks {
              public Tensors preprocess(HookRequest request) {
                return request.inptus();
              }
            }
            """),
        "Model.java: does not compile:\n",
        "Model.java:4: error: cannot find symbol\n    return request.inptus();\n                  ^",
        "symbol:   method inptus()",
        "1 error");
  }

  @Test
  void shouldCompileTheExampleOfTheDocumentation() throws IOException {
    String page = Files.readString(Path.of("../docs/hooks.md"));
    int begin = page.indexOf("```java\n") + "```java\n".length();
    String source = page.substring(begin, page.indexOf("```", begin));
    assertThat(SourceCompiler.compile(source.getBytes(StandardCharsets.UTF_8), "docs"))
        .containsOnlyKeys("Model.class");
  }

  @Test
  void shouldRefuseByNameWhatIsNotOneClassOfTheKind() {
    assertRefused(
        HookBundle.source("class Model {}"), "has no class that implements", "ModelHooks");
    assertRefused(
        HookBundle.source(
            "import dev.roundhouse.hooks.*; class A implements ModelHooks {} class B implements ModelHooks {}"),
        "has 2 classes that implement ModelHooks, [A, B]");
    assertRefused(
        HookBundle.source(
            "import dev.roundhouse.hooks.*; class M implements MetaModel { public Tensors run(HookRequest r, Calls c) { return null; } }"),
        "has M, which implements MetaModel, and the manifest says kind: model");
    assertRefused(
        HookBundle.source(
            "import dev.roundhouse.hooks.*; class Model implements ModelHooks { Model(int n) {} }"),
        "class Model has no constructor without arguments");
    assertRefused(
        TestBundle.doubling(2, 1).file("Model.java", new byte[] {(byte) 0xff}), "is no UTF-8");
    assertRefused(
        TestBundle.doubling(2, 1)
            .changed(
                "batch_sizes",
                "client_inputs:\n  - {name: x, dtype: f32, shape: [n, 2]}\nclient_outputs:\n  - {name: y, dtype: f32, shape: [n, 2]}\nbatch_sizes"),
        "has client_inputs and client_outputs, which needs hooks",
        "Model.java");
  }

  @Test
  void shouldShowTheCompilerTheJdkAndTheApiAlone() {
    for (String hidden :
        new String[] {
          "dev.roundhouse.engine.Engine", "org.slf4j.Logger", "org.junit.jupiter.api.Test"
        }) {
      assertRefused(
          HookBundle.source(
              "import dev.roundhouse.hooks.*; class Model implements ModelHooks { "
                  + hidden
                  + " x; }"),
          "error: package " + hidden.substring(0, hidden.lastIndexOf('.')) + " does not exist");
    }
  }

  @Test
  void shouldShowTheCodeTheJdkAndTheApiAlone() {
    for (String hidden : new String[] {"dev.roundhouse.engine.Engine", "org.slf4j.Logger"}) {
      assertRefused(
          HookBundle.of(
              "public void open(ModelContext c) throws Exception { Class.forName(\"%s\"); }"
                  .formatted(hidden)),
          "open failed: java.lang.ClassNotFoundException: " + hidden + " (");
    }
    assertServes(
        HookBundle.of(
            """
            public void open(ModelContext c) throws Exception {
              Class.forName("java.sql.Connection");
              Class.forName("dev.roundhouse.hooks.Calls");
            }
            """));
  }

  @Test
  void shouldRefuseClassesThatBearOurNames() {
    assertRefused(
        HookBundle.source("package dev.roundhouse.hooks; class Tensor implements ModelHooks {}"),
        "class dev.roundhouse.hooks.Tensor bears a name that is the server's");
    assertRefused(
        HookBundle.source(
            "package dev.roundhouse.mine; class M implements dev.roundhouse.hooks.ModelHooks {}"),
        "class dev.roundhouse.mine.M bears a name that is the server's");
  }

  @Test
  void shouldRefuseExitsByMethodReference() {
    assertRefused(
        HookBundle.of("java.util.function.IntConsumer end = System::exit;"),
        "class Model refers to java/lang/System::exit, which would end the server");
  }

  @Test
  void shouldNotLoadWhatThrowsExitsOrHangsWhenItIsOpened() {
    assertRefused(
        HookBundle.of(
            "public void open(ModelContext c) { throw new IllegalStateException(\"no\"); }"),
        "Model.java: open failed: java.lang.IllegalStateException: no (Model.java:6)");
    assertRefused(
        HookBundle.of("public void open(ModelContext c) { System.exit(1); }"),
        "open failed",
        "must not end the server");
    assertRefused(
        HookBundle.of("static int x = 1 / 0;"),
        "open failed: java.lang.ExceptionInInitializerError");
  }

  @Test
  void shouldFindAssetsAndLabels() {
    TestBundle bundle =
        HookBundle.of(
                """
                public void open(ModelContext c) throws Exception {
                  if (!java.nio.file.Files.readString(c.asset("words.txt")).equals("hello")
                      || c.bytes("words.txt").length != 5
                      || !c.labels("y").equals(List.of("cat", "dog"))
                      || !c.labels("x").isEmpty()) throw new IllegalStateException();
                  c.logger().log(System.Logger.Level.DEBUG, "{0} words", 1);
                  c.asset("none");
                }
                """)
            .labels("cat\ndog\n")
            .file("words.txt", "hello".getBytes(StandardCharsets.UTF_8));
    assertRefused(
        bundle, "open failed: java.lang.IllegalArgumentException: file 'none' of model 'm'");
  }

  @Test
  void shouldTakeTheClassThatAJarNames() throws IOException {
    Map<String, byte[]> classes =
        SourceCompiler.compile(PLAIN.getBytes(StandardCharsets.UTF_8), "x");
    assertRefused(jar(classes), "model.jar: has no class that implements", "META-INF/services");
    Map<String, byte[]> named = new TreeMap<>(classes);
    named.put(SERVICE, "author.Model".getBytes(StandardCharsets.UTF_8));
    assertServes(jar(named));
    named.put(SERVICE, "author.Gone".getBytes(StandardCharsets.UTF_8));
    assertRefused(jar(named), "model.jar: cannot be used: ", "author.Gone");
    assertRefused(TestBundle.doubling(2, 1).file("model.jar", new byte[10]), "is no jar");
    named.put("author/Odd.class", new byte[] {1, 2, 3});
    assertRefused(jar(named), "class author.Odd is no class that this server's Java reads");
  }

  @Test
  void shouldRefuseHooksByTheOperatorsMode() throws IOException {
    HookOptions deny = options(HookOptions.Mode.DENY, Set.of());
    assertRefused(
        deny, HookBundle.of(""), "holds hooks, and hooks.mode is deny; set that to allow");
    HookOptions signed = options(HookOptions.Mode.JARS_SIGNED_BY, Set.of("00"));
    assertRefused(
        signed,
        HookBundle.of(""),
        "Model.java: is source, and hooks.mode is jars-signed-by; ship it");
    assertRefused(
        signed,
        jar(SourceCompiler.compile(PLAIN.getBytes(StandardCharsets.UTF_8), "x")),
        "model.jar: is not signed ('",
        "sign it with jarsigner");
  }

  private static HookOptions options(HookOptions.Mode mode, Set<String> signers) {
    return new HookOptions(mode, signers, Duration.ofSeconds(30), 4, "hooks");
  }

  static TestBundle jar(Map<String, byte[]> files) throws IOException {
    return TestBundle.doubling(2, 1, 4).file("model.jar", jarOf(files));
  }

  static byte[] jarOf(Map<String, byte[]> files) throws IOException {
    Manifest manifest = new Manifest();
    manifest.getMainAttributes().putValue("Manifest-Version", "1.0");
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (JarOutputStream out = new JarOutputStream(bytes, manifest)) {
      for (Map.Entry<String, byte[]> file : files.entrySet()) {
        out.putNextEntry(new JarEntry(file.getKey()));
        out.write(file.getValue());
      }
    }
    return bytes.toByteArray();
  }

  private void assertRefused(TestBundle bundle, String... texts) {
    assertRefused(HookOptions.DEFAULT, bundle, texts);
  }

  private void assertRefused(HookOptions options, TestBundle bundle, String... texts) {
    TestEngine engine = engine(options);
    ModelStatus status = engine.load(bundle.write(repository, "m"));
    assertThat(status.state()).isEqualTo(ModelState.FAILED);
    assertThat(status.reason()).contains(texts);
    engine.assertNothingLeaks();
    deleted();
  }

  private void assertServes(TestBundle bundle) {
    TestEngine engine = engine(HookOptions.DEFAULT);
    ModelStatus status = engine.load(bundle.write(repository, "m"));
    assertThat(status.state()).as(status.reason()).isEqualTo(ModelState.READY);
    Submission request = engine.submit("m", Floats.input("x", new long[] {1, 2}, 1, 2));
    engine.run();
    assertThat(Floats.of(engine.completed(request).outputs().getFirst())).containsExactly(2f, 4f);
    engine.assertNothingLeaks();
    deleted();
  }

  /** What one bundle left must not be found beside the files of the next. */
  private void deleted() {
    try (var files = Files.list(repository.resolve("m"))) {
      for (Path file : files.toList()) {
        Files.delete(file);
      }
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  private static TestEngine engine(HookOptions options) {
    return new TestEngine(
        SimulatedDeviceOptions.instant(TestBundle.DOUBLE),
        EngineOptions.builder().discipline(Fifo::new).hooks(options).build());
  }
}
