package dev.roundhouse.engine.hostweights;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.jna.Platform;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** JVMs that have nowhere to unpack JNA's library to, as on a root that is read-only. */
class JnaLibraryTest {
  private static final String LIBRARY = "libjnidispatch.so";

  @TempDir Path folder;

  @Test
  void shouldTakeAnUnpackedLibraryWhereNothingCanBeWritten() throws Exception {
    String resource = "/com/sun/jna/%s/%s".formatted(Platform.RESOURCE_PREFIX, LIBRARY);
    try (InputStream packed = Platform.class.getResourceAsStream(resource)) {
      assertThat(packed).isNotNull();
      Files.copy(packed, folder.resolve(LIBRARY));
    }
    assertThat(run("-Djna.boot.library.path=" + folder, "-Djna.nounpack=true"))
        .endsWith("a page of zeros\n");
  }

  @Test
  void shouldSayWhatToDoWhereItCannotBeUnpacked() throws Exception {
    assertThat(run())
        .contains("JNA's library libjnidispatch.so does not load")
        .contains("-Djna.tmpdir")
        .contains("-Djna.boot.library.path");
  }

  private String run(String... options) throws Exception {
    Path file = Files.writeString(folder.resolve("file"), "not a folder");
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("--enable-native-access=ALL-UNNAMED");
    // nobody can write there, whoever runs this
    command.add("-Djava.io.tmpdir=" + file.resolve("tmp"));
    command.add("-Duser.home=" + file.resolve("home"));
    command.addAll(List.of(options));
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), Page.class.getName()));
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().remove("XDG_CACHE_HOME");
    Process process = builder.start();
    try (InputStream output = process.getInputStream()) {
      return new String(output.readAllBytes(), StandardCharsets.UTF_8);
    } finally {
      process.destroyForcibly().waitFor();
    }
  }

  static final class Page {
    public static void main(String[] arguments) throws IOException {
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment page = Libc.pages(Libc.PAGE_BYTES, arena);
        System.out.println(
            "a page of " + (page.get(ValueLayout.JAVA_LONG, 0) == 0 ? "zeros" : "?"));
      } catch (LinkageError e) {
        System.out.println(e.getMessage());
      }
    }
  }
}
