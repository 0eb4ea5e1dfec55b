package dev.roundhouse.pjrt;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The example of docs/embedding.md, compiled and run as it stands there. */
class EmbeddingExampleTest {
  private static final Path ROOT = Path.of("..");
  private static final Pattern JAVA = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL);

  @TempDir Path folder;

  @Test
  void shouldCompileAndRunWithNoFrameworkOnTheClassPath() throws IOException, InterruptedException {
    Path source = folder.resolve("Embedded.java");
    Files.writeString(source, example());
    Path output = folder.resolve("output");
    Process java =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                String.join(File.pathSeparator, classPath()),
                source.toString(),
                ROOT.resolve("examples/models").toString())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    try {
      assertThat(java.waitFor(2, TimeUnit.MINUTES)).as("ended by itself").isTrue();
    } finally {
      java.destroyForcibly();
    }
    String printed = Files.readString(output);
    assertThat(java.exitValue()).as(printed).isZero();
    assertThat(printed).contains("y = [").contains("again in ").contains("COMPLETED=2");
  }

  private static String example() throws IOException {
    Matcher code = JAVA.matcher(Files.readString(ROOT.resolve("docs/embedding.md")));
    assertThat(code.find()).as("docs/embedding.md has an example").isTrue();
    return code.group(1);
  }

  /** What the page says must be there, and nothing that a test alone needs. */
  private static List<String> classPath() {
    List<String> wanted =
        List.of("jackson", "snakeyaml", "slf4j-api", "jctools", "jna", "jspecify");
    List<String> entries =
        Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
            .filter(
                entry -> {
                  String name = Path.of(entry).getFileName().toString();
                  return name.equals("classes")
                      || (name.endsWith("-SNAPSHOT.jar") && !name.contains("tests"))
                      || wanted.stream().anyMatch(name::startsWith);
                })
            .toList();
    assertThat(entries).noneMatch(entry -> entry.contains("spring") || entry.contains("grpc"));
    return entries;
  }
}
