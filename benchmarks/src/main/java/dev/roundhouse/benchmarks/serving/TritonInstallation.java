package dev.roundhouse.benchmarks.serving;

import dev.roundhouse.benchmarks.bench.RepositoryRoot;
import dev.roundhouse.measure.PeerAbsentException;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A Triton server as {@code tools/peers/fetch} leaves it, and our backends for it.
 *
 * @param ourBackends a folder for each
 */
public record TritonInstallation(Path folder, Path ourBackends) {
  private static final Path PROGRAM = Path.of("pytriton/tritonserver/bin/tritonserver");

  /**
   * Finds it in the cache.
   *
   * @throws PeerAbsentException when it cannot run here or has not been fetched
   */
  public static TritonInstallation find(RepositoryRoot root) throws PeerAbsentException {
    Path folder = FetchedPeer.find("server", "triton-server-2.51.0", PROGRAM);
    return new TritonInstallation(folder, root.tritonBuild().resolve("backends"));
  }

  Path program() {
    return folder.resolve(PROGRAM);
  }

  Path libraries() {
    return folder.resolve("nvidia_pytriton.libs");
  }

  /** Where Python models find numpy. */
  Path pythonPackages() {
    return folder.resolve("python");
  }

  /** Makes a folder with our backends and Triton's own for Python, for the Python that is here. */
  void linkBackends(Path backends) throws IOException {
    Files.createDirectory(backends);
    linkAll(ourBackends, backends);
    Path python = Files.createDirectory(backends.resolve("python"));
    linkAll(folder.resolve("pytriton/tritonserver/backends/python"), python);
    Path stub =
        folder
            .resolve("pytriton/tritonserver/python_backend_stubs")
            .resolve(pythonVersion())
            .resolve("triton_python_backend_stub");
    if (Files.exists(stub)) {
      Files.createSymbolicLink(python.resolve(stub.getFileName()), stub);
    }
  }

  private static void linkAll(Path from, Path into) throws IOException {
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(from)) {
      for (Path entry : entries) {
        Files.createSymbolicLink(into.resolve(entry.getFileName()), entry);
      }
    }
  }

  /** Such as 3.11; numpy was fetched for it. */
  private static String pythonVersion() {
    try (var output =
        new ProcessBuilder("python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])")
            .start()
            .inputReader()) {
      String version = output.readLine();
      return version == null ? "none" : version.strip();
    } catch (IOException thereIsNone) {
      return "none";
    }
  }
}
