package dev.roundhouse.platform.page;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class FilesServletTest {
  @Test
  void shouldServeEveryFileOfThePage() throws IOException, URISyntaxException {
    URL index = Objects.requireNonNull(FilesServlet.class.getResource("index.html"));
    Path folder = Path.of(index.toURI()).getParent();
    try (Stream<Path> files = Files.list(folder)) {
      List<String> names =
          files
              .map(file -> file.getFileName().toString())
              .filter(name -> !name.endsWith(".class"))
              .toList();
      assertThat(names).containsExactlyInAnyOrderElementsOf(FilesServlet.NAMES);
    }
  }
}
