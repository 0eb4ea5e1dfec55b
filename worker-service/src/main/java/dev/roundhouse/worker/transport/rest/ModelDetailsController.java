package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.platform.rest.JsonReply;
import dev.roundhouse.worker.transport.ModelConfigs;
import dev.roundhouse.worker.transport.ModelStatisticsAnswers;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;

/** How models are served, and what was counted for them: the messages of gRPC, as JSON. */
@RestController
final class ModelDetailsController {
  private final ModelConfigs configs;
  private final ModelStatisticsAnswers statistics;

  ModelDetailsController(ModelConfigs configs, ModelStatisticsAnswers statistics) {
    this.configs = configs;
    this.statistics = statistics;
  }

  @GetMapping("/v2/models/{name}/config")
  void config(@PathVariable String name, HttpServletResponse response) throws IOException {
    config(name, "", response);
  }

  @GetMapping("/v2/models/{name}/versions/{version}/config")
  void config(@PathVariable String name, @PathVariable String version, HttpServletResponse response)
      throws IOException {
    JsonReply.send(response, configs.of(name, version));
  }

  @GetMapping("/v2/models/stats")
  void stats(HttpServletResponse response) throws IOException {
    JsonReply.send(response, statistics.of("", ""));
  }

  @GetMapping("/v2/models/{name}/stats")
  void stats(@PathVariable String name, HttpServletResponse response) throws IOException {
    stats(name, "", response);
  }

  @GetMapping("/v2/models/{name}/versions/{version}/stats")
  void stats(@PathVariable String name, @PathVariable String version, HttpServletResponse response)
      throws IOException {
    JsonReply.send(response, statistics.of(name, version));
  }
}
