package dev.roundhouse.benchmarks.bench;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The folder of the repository, in which peers and the services were built. */
public record RepositoryRoot(Path path) {
  private static final String VARIABLE = "ROUNDHOUSE_HOME";
  private static final String MARKER = "tools/pjrt-plugin/fetch";

  /** From ROUNDHOUSE_HOME, or else the nearest folder above this program's own jar. */
  public static RepositoryRoot find() throws URISyntaxException {
    return find(
        System.getenv(VARIABLE),
        Path.of(RepositoryRoot.class.getProtectionDomain().getCodeSource().getLocation().toURI()));
  }

  static RepositoryRoot find(@Nullable String home, Path start) {
    if (home != null && !home.isEmpty()) {
      if (!isRoot(Path.of(home))) {
        throw new IllegalStateException(
            "%s is %s, which has no %s; set it to the repository's folder"
                .formatted(VARIABLE, home, MARKER));
      }
      return new RepositoryRoot(Path.of(home).toAbsolutePath());
    }
    for (Path folder = start.toAbsolutePath(); folder != null; folder = folder.getParent()) {
      if (isRoot(folder)) {
        return new RepositoryRoot(folder);
      }
    }
    throw new IllegalStateException(
        "%s does not lie in the repository; set %s to its folder".formatted(start, VARIABLE));
  }

  /** The C++ program that makes the binding's calls. */
  public Path pjrtFloor() {
    return built(path.resolve("measure/target/native/pjrt_floor"));
  }

  /** The program that keeps a vCPU awake. */
  public Path idleSpinner() {
    return built(path.resolve("measure/target/native/idle_spinner"));
  }

  /** The folder of what was built for Triton, backends among them. */
  public Path tritonBuild() {
    return built(path.resolve("benchmarks/target/native/triton"));
  }

  /** The worker's executable jar. */
  public Path workerJar() throws IOException {
    return executableJar("worker-service");
  }

  /** The gateway's executable jar. */
  public Path gatewayJar() throws IOException {
    return executableJar("gateway-service");
  }

  /** The folder of a module's compiled tests. */
  public Path testClasses(String module) {
    return built(path.resolve(module).resolve("target/test-classes"));
  }

  private Path executableJar(String module) throws IOException {
    Path target = path.resolve(module).resolve("target");
    List<Path> jars = new ArrayList<>();
    if (Files.isDirectory(target)) {
      try (DirectoryStream<Path> found = Files.newDirectoryStream(target, module + "-*.jar")) {
        found.forEach(jars::add);
      }
    }
    jars.removeIf(jar -> jar.toString().matches(".*-(sources|javadoc|tests)\\.jar"));
    if (jars.size() > 1) {
      throw new IllegalStateException(
          "%s holds %s; only one can be measured, delete the others".formatted(target, jars));
    }
    return jars.isEmpty() ? built(target.resolve(module + "-*.jar")) : jars.getFirst();
  }

  private static Path built(Path file) {
    if (!Files.exists(file)) {
      throw new IllegalStateException(
          file + " is missing; build it: mvn -DskipTests -pl benchmarks -am package");
    }
    return file;
  }

  private static boolean isRoot(Path folder) {
    return Files.exists(folder.resolve(MARKER));
  }
}
