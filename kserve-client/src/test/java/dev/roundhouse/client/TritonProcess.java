package dev.roundhouse.client;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

/**
 * A real Triton with two models of its Python backend: {@code pair} (FP32 {@code x} of two columns,
 * {@code y = 2x}, batches of up to 8) and {@code words} (BYTES, echoed).
 */
final class TritonProcess implements AutoCloseable {
  private static final String MODEL =
      """
      import sys

      sys.path.insert(0, "%s")
      import triton_python_backend_utils as utils


      class TritonPythonModel:
          def execute(self, requests):
              return [self.answer(utils.get_input_tensor_by_name(request, "x")) for request in requests]

          def answer(self, x):
              return utils.InferenceResponse([utils.Tensor("y", %s)])
      """;

  private final Process process;
  final Path log;
  final int port;

  private TritonProcess(Process process, Path log, int port) {
    this.process = process;
    this.log = log;
    this.port = port;
  }

  /** Starts one; a test that has none is skipped and says why. */
  static TritonProcess start(Path folder) throws Exception {
    Path server = cache().resolve("triton-server-2.51.0");
    Path program = server.resolve("pytriton/tritonserver/bin/tritonserver");
    assumeTrue(
        Files.isExecutable(program), program + " is missing; fetch it: tools/peers/fetch server");
    Path stub =
        server.resolve(
            "pytriton/tritonserver/python_backend_stubs/%s/triton_python_backend_stub"
                .formatted(pythonVersion()));
    assumeTrue(Files.isExecutable(stub), "Triton's Python backend has no " + stub);
    Path python = Files.createDirectories(folder.resolve("backends/python"));
    try (DirectoryStream<Path> files =
        Files.newDirectoryStream(server.resolve("pytriton/tritonserver/backends/python"))) {
      for (Path file : files) {
        Files.createSymbolicLink(python.resolve(file.getFileName()), file);
      }
    }
    Files.createSymbolicLink(python.resolve(stub.getFileName()), stub);
    String numpy = server.resolve("python").toString();
    write(folder, "pair", "TYPE_FP32", "2", MODEL.formatted(numpy, "2 * x.as_numpy()"));
    write(folder, "words", "TYPE_STRING", "-1", MODEL.formatted(numpy, "x.as_numpy()"));
    Path log = folder.resolve("log");
    int port = freePort();
    int http = freePort();
    ProcessBuilder builder =
        new ProcessBuilder(
                program.toString(),
                "--model-repository=" + folder.resolve("models"),
                "--backend-directory=" + folder.resolve("backends"),
                "--allow-metrics=false",
                "--grpc-address=127.0.0.1",
                "--grpc-port=" + port,
                "--http-address=127.0.0.1",
                "--http-port=" + http)
            .redirectErrorStream(true)
            .redirectOutput(log.toFile());
    builder
        .environment()
        .putAll(Map.of("LD_LIBRARY_PATH", server.resolve("nvidia_pytriton.libs").toString()));
    return new TritonProcess(builder.start(), log, port);
  }

  /** Waits until it serves its models. */
  TritonProcess await() throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(120);
    try (KServeClient client = KServeClient.to("127.0.0.1:" + port).build()) {
      while (!client.ready("pair") || !client.ready("words")) {
        if (!process.isAlive() || System.nanoTime() > end) {
          throw new IOException("Triton does not serve:\n" + Files.readString(log));
        }
        TimeUnit.MILLISECONDS.sleep(50);
      }
    }
    return this;
  }

  private static Path cache() {
    String own = System.getenv("ROUNDHOUSE_CACHE");
    if (own != null) {
      return Path.of(own);
    }
    String shared = System.getenv("XDG_CACHE_HOME");
    return shared != null
        ? Path.of(shared, "roundhouse")
        : Path.of(System.getProperty("user.home"), ".cache", "roundhouse");
  }

  private static String pythonVersion() throws IOException {
    try (var output =
        new ProcessBuilder("python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])")
            .start()
            .inputReader()) {
      return Objects.requireNonNullElse(output.readLine(), "no Python").strip();
    }
  }

  private static void write(Path folder, String name, String type, String dims, String code)
      throws IOException {
    Path model = Files.createDirectories(folder.resolve("models").resolve(name));
    Files.writeString(
        model.resolve("config.pbtxt"),
        """
        backend: "python"
        max_batch_size: 8
        input [{ name: "x" data_type: %s dims: [%s] }]
        output [{ name: "y" data_type: %s dims: [%s] }]
        instance_group [{ count: 1 kind: KIND_CPU }]
        """
            .formatted(type, dims, type, dims));
    Files.writeString(Files.createDirectory(model.resolve("1")).resolve("model.py"), code);
  }

  /** It takes no port 0. */
  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  @Override
  public void close() throws Exception {
    List<ProcessHandle> children = process.descendants().toList();
    process.destroy();
    if (!process.waitFor(30, TimeUnit.SECONDS)) {
      process.destroyForcibly();
    }
    children.forEach(ProcessHandle::destroyForcibly);
  }
}
