package dev.roundhouse.transport.http2;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import io.grpc.Server;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/**
 * Tools that others have written to find out whether a server keeps to HTTP/2 and gRPC. They are
 * installed with {@code go} when they are not there; without it nothing can be said.
 */
@Timeout(600)
class GoToolsTest {
  private static final String GRPC_CLIENT = "google.golang.org/grpc/interop/client@v1.85.0";
  private static final String H2SPEC =
      "github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible";

  private static final int H2SPEC_RUNS = 20;

  /**
   * How Netty takes frames of streams that have ended: it resets the stream, or takes no notice,
   * where the connection should end.
   */
  private static final List<String> NETTY =
      List.of(
          "half closed (remote): Sends a HEADERS frame",
          "closed: Sends a HEADERS frame",
          "Sends stream identifier that is numerically smaller than previous");

  @TempDir private static Path folder;
  private static Server server;

  @BeforeAll
  static void start() throws Exception {
    if (!runs("go", "version")) {
      String reason = "there is no 'go' to install h2spec and grpc-go's interop client with";
      System.out.println("GoToolsTest does not run: " + reason);
      abort(reason);
    }
    server =
        Http2ServerBuilder.forAddress(GrpcContract.ANY_PORT)
            .addService(InteropService.definition())
            .intercept(new InteropService.EchoMetadata())
            .build()
            .start();
  }

  @AfterAll
  static void stop() throws Exception {
    if (server != null) {
      assertThat(server.shutdownNow().awaitTermination(10, TimeUnit.SECONDS)).isTrue();
    }
  }

  /** Each by the name that gRPC's description of its interoperability tests has for it. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "empty_unary",
        "large_unary",
        "client_streaming",
        "server_streaming",
        "ping_pong",
        "empty_stream",
        "timeout_on_sleeping_server",
        "cancel_after_begin",
        "cancel_after_first_response",
        "custom_metadata",
        "status_code_and_message",
        "special_status_message",
        "unimplemented_method",
        "unimplemented_service"
      })
  void shouldServeGrpcGo(String test) throws Exception {
    Result result =
        run(
            tool("client", GRPC_CLIENT).toString(),
            "-server_host=127.0.0.1",
            "-server_port=" + server.getPort(),
            "-test_case=" + test);
    assertThat(result.code()).as(result.output()).isZero();
  }

  /**
   * It asks for pages, which are refused at once, and then goes on with what is wrong: when that
   * comes after the refusal has ended the stream, the answer is another one. So a case has failed
   * that fails each time, the other times by itself.
   */
  @Test
  void shouldPassH2spec() throws Exception {
    Map<String, String> failed = h2spec();
    System.out.println("h2spec at first: " + failed);
    failed.values().removeAll(NETTY);
    for (int i = 1; i < H2SPEC_RUNS && !failed.isEmpty(); i++) {
      for (String section : Set.copyOf(failed.keySet())) {
        if (h2spec(section).isEmpty()) {
          failed.remove(section);
        }
      }
    }
    assertThat(failed).isEmpty();
  }

  /**
   * The cases that fail: their sections, and what they do.
   *
   * @param sections those to be run; none for all
   */
  private static Map<String, String> h2spec(String... sections) throws Exception {
    Path report = folder.resolve("h2spec.xml");
    List<String> command = new ArrayList<>();
    command.add(tool("h2spec", H2SPEC).toString());
    command.addAll(List.of(sections));
    command.addAll(List.of("-h", "127.0.0.1", "-p", Integer.toString(server.getPort())));
    command.addAll(List.of("-j", report.toString()));
    Result result = run(command.toArray(String[]::new));
    assertThat(report).as(result.output()).isNotEmptyFile();
    Map<String, String> failed = new TreeMap<>();
    NodeList suites =
        DocumentBuilderFactory.newInstance()
            .newDocumentBuilder()
            .parse(report.toFile())
            .getElementsByTagName("testsuite");
    int run = 0;
    for (int i = 0; i < suites.getLength(); i++) {
      Element suite = (Element) suites.item(i);
      NodeList cases = suite.getElementsByTagName("testcase");
      for (int n = 0; n < cases.getLength(); n++) {
        Element each = (Element) cases.item(n);
        run++;
        if (each.getElementsByTagName("failure").getLength() > 0
            || each.getElementsByTagName("error").getLength() > 0) {
          failed.put(each.getAttribute("package") + "/" + (n + 1), each.getAttribute("classname"));
        }
      }
    }
    assertThat(run).as(result.output()).isGreaterThanOrEqualTo(sections.length == 0 ? 140 : 1);
    return failed;
  }

  private static Path tool(String name, String source) throws Exception {
    String version = source.substring(source.lastIndexOf('@') + 1);
    Path folder = cache().resolve("go-" + name + "-" + version);
    Path tool = folder.resolve(name);
    if (!Files.isExecutable(tool)) {
      Files.createDirectories(folder);
      ProcessBuilder install = new ProcessBuilder("go", "install", source);
      install.environment().put("GOBIN", folder.toString());
      Result result = run(install);
      assertThat(result.code()).as("go install %s: %s", source, result.output()).isZero();
    }
    return tool;
  }

  private static Path cache() {
    String named = System.getenv("XDG_CACHE_HOME");
    Path all =
        named == null || named.isEmpty()
            ? Path.of(System.getProperty("user.home"), ".cache")
            : Path.of(named);
    return all.resolve("roundhouse");
  }

  private record Result(int code, String output) {}

  private static Result run(String... command) throws Exception {
    return run(new ProcessBuilder(command));
  }

  private static Result run(ProcessBuilder builder) throws Exception {
    Process process = builder.redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    return new Result(process.waitFor(), output);
  }

  private static boolean runs(String... command) throws InterruptedException {

    try {
      return new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start()
              .waitFor()
          == 0;
    } catch (IOException e) {
      return false;
    }
  }
}
