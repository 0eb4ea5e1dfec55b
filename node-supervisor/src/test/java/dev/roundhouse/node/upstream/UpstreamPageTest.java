package dev.roundhouse.node.upstream;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class UpstreamPageTest {
  private static final Path PAGE = Path.of("../docs/upstream.md");
  private static final String HEAD =
      """
      # Settings of ReactantServer.jl

      Generated from the table by which the supervisor reads them (`UpstreamTable`); a test fails when this page is stale, and
      `-Dupdate.docs=true` rewrites it.

      The node supervisor ([node.md](node.md)) reads the files and variables of ReactantServer.jl 0.1.10 and passes on what they say of
      workers and gateway. Variables win over files, and a setting under `roundhouse.` wins over both. Files: the node file
      named by `REACTANT_NODE_FILE`, else `/etc/reactantserver/node.yaml`; the gateway file named by `REACTANT_GATEWAY_FILE`,
      else `/etc/reactantserver/gateway.yml`.

      Every key is honoured or stops the start: one that has no equal here with what to do instead, one that is unknown with the nearest
      that is known. Variables that Kubernetes makes for a service (`INFERENCE_SERVER_SERVICE_HOST`, `..._PORT_8001_TCP`) and those of
      clients (`REACTANT_CLIENT_*`) are left alone.
      """;

  @Test
  void shouldBeCurrent() throws Exception {
    String page = page();
    if (Boolean.getBoolean("update.docs")) {
      Files.writeString(PAGE, page);
    }

    assertThat(PAGE).as("run the tests with -Dupdate.docs=true to rewrite it").hasContent(page);
  }

  /** A key that nobody reads would be refused by whoever is told it. */
  @Test
  void shouldNameOnlyKeysThatThereAre() throws Exception {
    StringBuilder keys = new StringBuilder();
    for (String page : new String[] {"configuration.md", "configuration-node.md"}) {
      keys.append(Files.readString(Path.of("../docs").resolve(page)));
    }
    Path gateway = Path.of("../docs/configuration-gateway.md");
    boolean withGateway = Files.exists(gateway);
    if (withGateway) {
      keys.append(Files.readString(gateway));
    }
    for (Mapping mapping : UpstreamTable.ALL) {
      boolean checked = withGateway || !mapping.ours().startsWith("roundhouse.gateway.");
      if (!mapping.ours().isEmpty() && checked) {
        assertThat(keys).contains("`" + mapping.ours() + "`");
      }
    }
  }

  /** A file's key may be without a variable, a variable's row not. */
  @Test
  void shouldNameTheVariableOfEveryRowOfVariables() {
    assertThat(UpstreamTable.ALL)
        .filteredOn(mapping -> mapping.scope() == Scope.VARIABLE)
        .allSatisfy(mapping -> assertThat(mapping.variableName()).startsWith("REACTANT_"));
  }

  private static String page() {
    StringBuilder page = new StringBuilder(HEAD);
    for (Scope scope : Scope.values()) {
      page.append("\n## ").append(scope.title).append("\n\n");
      page.append("| there | variable | here | note |\n|---|---|---|---|\n");
      for (Mapping mapping : UpstreamTable.ALL) {
        if (mapping.scope() == scope) {
          page.append(
              "| %s | %s | %s | %s |%n"
                  .formatted(
                      scope == Scope.VARIABLE ? "" : "`" + mapping.path() + "`",
                      mapping.variableName().isEmpty() ? "" : "`" + mapping.variableName() + "`",
                      here(mapping),
                      mapping.note()));
        }
      }
    }
    return page.toString();
  }

  private static String here(Mapping mapping) {
    if (!mapping.ours().isEmpty()) {
      return "`" + mapping.ours() + "`";
    }
    return switch (mapping.conversion()) {
      case REFUSED -> "refused";
      case ONLY_FALSE -> "`false` only";
      default -> "read";
    };
  }
}
