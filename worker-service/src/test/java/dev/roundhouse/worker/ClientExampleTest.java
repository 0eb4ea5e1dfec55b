package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.testing.TestBundle;
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

/** The example of docs/client.md, compiled and run as it stands there. */
class ClientExampleTest {
  private static final Path ROOT = Path.of("..");
  private static final Pattern JAVA = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL);

  @TempDir Path folder;

  @Test
  void shouldCompileAndRunWithNoFrameworkOnTheClassPath() throws Exception {
    Path repository = Files.createDirectory(folder.resolve("models"));
    TestBundle.doubling(16, 1, 4).write(repository, "affine");
    Path source = folder.resolve("Example.java");
    Files.writeString(source, example());
    Path output = folder.resolve("output");
    try (RunningWorker worker = new RunningWorker(repository, TestBundle.DOUBLE).awaitLoaded()) {
      Process java =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  "-cp",
                  String.join(File.pathSeparator, classPath()),
                  source.toString(),
                  "127.0.0.1:" + worker.port("grpc"))
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
      assertThat(printed)
          .contains("y = [0.0, ")
          .contains("waited ")
          .contains("1 attempt")
          .contains("streamed {y=FP32[1,16]}")
          .contains("done: FP32[1000,16]");
    }
  }

  private static String example() throws IOException {
    Matcher code = JAVA.matcher(Files.readString(ROOT.resolve("docs/client.md")));
    assertThat(code.find()).as("docs/client.md has an example").isTrue();
    return code.group(1);
  }

  /** What the page says must be there, and nothing that a server needs. */
  private static List<String> classPath() {
    List<String> modules = List.of("kserve-client", "shared-kserve", "model-bundle");
    List<String> wanted =
        List.of(
            "grpc-",
            "netty-",
            "protobuf-java",
            "guava",
            "failureaccess",
            "opentelemetry-api",
            "opentelemetry-common",
            "opentelemetry-context",
            "perfmark",
            "slf4j-api");
    return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
        .filter(
            entry -> {
              String name = Path.of(entry).getFileName().toString();
              return modules.stream().anyMatch(entry::contains) && !entry.contains("test-classes")
                  || wanted.stream().anyMatch(name::startsWith);
            })
        .toList();
  }
}
