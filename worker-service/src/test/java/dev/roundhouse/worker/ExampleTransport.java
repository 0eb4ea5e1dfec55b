package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/** Makes jars of transports, as docs/transports.md says it is done. */
final class ExampleTransport {
  static final String SERVICE =
      "META-INF/services/dev.roundhouse.engine.transport.TransportProvider";

  private static final Path EXAMPLE = Path.of("../examples/transport");

  private ExampleTransport() {}

  /** The jar of examples/transport. */
  static Path jar(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(EXAMPLE)) {
      List<Path> sources = files.filter(each -> each.toString().endsWith(".java")).toList();
      return jar(folder, "line.jar", sources, Files.readString(EXAMPLE.resolve(SERVICE)));
    }
  }

  /**
   * @param services what its file of services says
   */
  static Path jar(Path folder, String name, List<Path> sources, String services)
      throws IOException {
    Path classes = Files.createTempDirectory("transport");
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StringWriter said = new StringWriter();
    try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
      boolean compiles =
          compiler
              .getTask(
                  said,
                  files,
                  null,
                  List.of(
                      "-cp",
                      System.getProperty("java.class.path"),
                      "-d",
                      classes.toString(),
                      "-proc:none",
                      "-Xlint:all,-processing,-classfile,-path",
                      "-Werror"),
                  null,
                  files.getJavaFileObjectsFromPaths(sources))
              .call();
      assertThat(compiles).as(said.toString()).isTrue();
    }
    Files.createDirectories(classes.resolve(SERVICE).getParent());
    Files.writeString(classes.resolve(SERVICE), services);
    Path jar = folder.resolve(name);
    try (OutputStream to = Files.newOutputStream(jar);
        JarOutputStream out = new JarOutputStream(to);
        Stream<Path> made = Files.walk(classes)) {
      for (Path file : new ArrayList<>(made.filter(Files::isRegularFile).toList())) {
        out.putNextEntry(new JarEntry(classes.relativize(file).toString()));
        Files.copy(file, out);
      }
    }
    return jar;
  }
}
