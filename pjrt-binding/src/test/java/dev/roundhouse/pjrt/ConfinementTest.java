package dev.roundhouse.pjrt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.roundhouse.engine.device.DeviceException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a process that is confined as compilers are can reach, with this machine's kernel. */
class ConfinementTest {
  private static final String SECRET = "ROUNDHOUSE_TEST_SECRET";

  @TempDir private Path folder;

  @Test
  void shouldReachNothingOfAnybodyElseWhenConfined() throws Exception {
    Confinement whole = Confinement.of(CompilerConfinement.AUTO, PluginOptions.CPU);
    assumeTrue(whole.names().size() == 2, "this kernel has only " + whole.names() + " of it");

    assertThat(attempts(whole))
        .containsEntry("write scratch", "done")
        .containsEntry("compute", "done")
        .hasSize(Attempts.ALL.size())
        .allSatisfy(
            (what, outcome) -> {
              if (!what.equals("write scratch") && !what.equals("compute")) {
                assertThat(outcome).as(what).isNotEqualTo("done");
              }
            });
  }

  /** Or the test above would pass for attempts that can never succeed. */
  @Test
  void shouldReachAllOfItWhenNotConfined() throws Exception {
    assertThat(attempts(Confinement.of(CompilerConfinement.NONE, PluginOptions.CPU)))
        .hasSize(Attempts.ALL.size())
        .allSatisfy((what, outcome) -> assertThat(outcome).as(what).isEqualTo("done"));
  }

  @Test
  void shouldRefuseToBeRequiredWhereThereIsNone() {
    assertThatThrownBy(() -> Confinement.of(CompilerConfinement.REQUIRED, PluginOptions.CUDA))
        .isInstanceOf(DeviceException.class)
        .hasMessage(
            "compiler processes cannot be confined: they are not where the platform is cuda");
    assertThat(Confinement.of(CompilerConfinement.AUTO, PluginOptions.CUDA).names()).isEmpty();
  }

  private Map<String, String> attempts(Confinement confinement) throws Exception {
    Path launch = Files.createDirectory(folder.resolve("launch"));
    Path scratch = Files.createDirectory(launch.resolve("scratch"));
    Path secret = Files.writeString(folder.resolve("secret"), "of somebody else");
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      PjrtPlugin plugin = PjrtPlugin.load(PluginOptions.DEFAULTS);
      CompilerSettings settings =
          new CompilerSettings(
              PluginOptions.DEFAULTS.withPath(plugin.path()), ClientOptions.NONE, 0, new byte[0]);
      List<String> java = new ArrayList<>();
      java.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
      java.addAll(List.of("-Djava.io.tmpdir=" + scratch, "-Xshare:auto", "-XX:-UsePerfData"));
      java.addAll(List.of("-cp", System.getProperty("java.class.path"), Attempts.class.getName()));
      java.addAll(
          List.of(
              secret.toString(),
              scratch.toString(),
              Integer.toString(server.getLocalPort()),
              Long.toString(ProcessHandle.current().pid())));
      ProcessBuilder builder =
          new ProcessBuilder(confinement.command(launch, scratch, settings, java))
              .directory(launch.toFile())
              .redirectErrorStream(true);
      builder.environment().put(SECRET, "known");
      confinement.clean(builder.environment().keySet());
      Process process = builder.start();
      Map<String, String> outcomes = new TreeMap<>();
      List<String> said = process.inputReader().readAllLines();
      for (String line : said) {
        String[] parts = line.split(" = ", 2);
        if (parts.length == 2) {
          outcomes.put(parts[0], parts[1]);
        }
      }
      assertThat(process.waitFor()).as(String.join("\n", said)).isZero();
      return outcomes;
    }
  }

  /** Tries what whoever has taken over a compiler would try. */
  static final class Attempts {
    static final List<String> ALL =
        List.of(
            "compute",
            "write scratch",
            "read a file",
            "write a file",
            "list a folder",
            "delete a file",
            "replace what confines",
            "read shared memory",
            "connect",
            "listen",
            "run a program",
            "signal the worker",
            "read the worker's environment",
            "know a secret of the environment");

    private Attempts() {}

    public static void main(String[] args) {
      Path secret = Path.of(args[0]);
      Path scratch = Path.of(args[1]);
      int port = Integer.parseInt(args[2]);
      String worker = args[3];
      Path beside = secret.resolveSibling("beside");
      attempt("compute", () -> Math.sqrt(2));
      attempt("write scratch", () -> Files.writeString(scratch.resolve("x"), "x"));
      attempt("read a file", () -> Files.readString(secret));
      attempt("write a file", () -> Files.writeString(beside, "x"));
      attempt("list a folder", () -> listed(secret.resolveSibling(".")));
      attempt("delete a file", () -> Files.deleteIfExists(beside) ? "" : fail("not there"));
      attempt(
          "replace what confines", () -> Files.writeString(scratch.resolveSibling("another"), "x"));
      attempt("read shared memory", () -> listed(Path.of("/dev/shm")));
      attempt(
          "connect",
          () -> SocketChannel.open(new InetSocketAddress(InetAddress.getLoopbackAddress(), port)));
      attempt("listen", () -> new ServerSocket(0, 1, InetAddress.getLoopbackAddress()));
      attempt("run a program", () -> new ProcessBuilder("/bin/true").start().waitFor());
      attempt("signal the worker", () -> signal(worker));
      attempt(
          "read the worker's environment",
          () -> Files.readAllBytes(Path.of("/proc", worker, "environ")));
      attempt(
          "know a secret of the environment",
          () -> System.getenv(SECRET) != null ? "" : fail("unset"));
      System.out.flush();
    }

    /** With 0, which only asks whether it could be done. */
    private static String signal(String worker) throws IOException, InterruptedException {
      int code = new ProcessBuilder("/bin/sh", "-c", "kill -0 " + worker).start().waitFor();
      return code == 0 ? "" : fail("exit code " + code);
    }

    private static String fail(String why) throws IOException {
      throw new IOException(why);
    }

    private static List<Path> listed(Path folder) throws IOException {
      try (Stream<Path> files = Files.list(folder)) {
        return files.toList();
      }
    }

    private static void attempt(String what, Callable<?> action) {
      try {
        action.call();
        System.out.println(what + " = done");
      } catch (Throwable e) { // a class that cannot be set up without a call that is refused
        System.out.println(what + " = " + e);
      }
    }
  }
}
