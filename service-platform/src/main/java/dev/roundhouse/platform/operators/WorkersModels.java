package dev.roundhouse.platform.operators;

import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.core.io.Resource;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * {@code /actuator/models}: the models of all workers, each as its worker tells of it; and their
 * weights.
 */
@Endpoint(id = "models")
public final class WorkersModels {
  private static final String MODELS = "/actuator/models";

  private final WorkersQuestion question;
  private final WorkersChange change;

  public WorkersModels(AnsweredFor others) {
    question = new WorkersQuestion(others);
    change = new WorkersChange(others, MODELS, Duration.ZERO);
  }

  @ReadOperation
  public WebEndpointResponse<Resource> models(@Nullable String worker) throws IOException {
    List<Answer<AskedJson>> answers =
        question.ask(
            MODELS,
            worker,
            (from, type, body) -> AskedJson.list(question.memory(), "models", from, body));
    return answers == null ? question.noWorker(String.valueOf(worker)) : answer(answers);
  }

  /** One model, of every worker that has it; 404 when no worker does, though all answered. */
  @ReadOperation
  public WebEndpointResponse<Resource> model(@Selector String name, @Nullable String worker)
      throws IOException {
    List<Answer<AskedJson>> answers =
        question.ask(
            MODELS + "/" + WorkersQuestion.encoded(name),
            worker,
            (from, type, body) -> AskedJson.named(question.memory(), from, body));
    if (answers == null) {
      return question.noWorker(String.valueOf(worker));
    }
    if (answers.stream().allMatch(each -> each.status() == WorkersQuestion.NOT_FOUND)) {
      return WorkersQuestion.refusal("no worker has a model '%s'".formatted(name));
    }
    return answer(answers);
  }

  /** Changes a model's weight at every worker that has it, or at one. */
  @WriteOperation
  public WebEndpointResponse<Resource> change(
      @Selector String name, @Nullable Double weight, @Nullable String worker) throws IOException {
    ObjectNode body = JsonNodeFactory.instance.objectNode().put("weight", weight);
    return change.ofModel(name, worker, "weight of model '%s'".formatted(name), body);
  }

  private static WebEndpointResponse<Resource> answer(List<Answer<AskedJson>> answers) {
    List<InputStream> parts = new ArrayList<>();
    String before = "{\"models\":[";
    for (Answer<AskedJson> answer : answers) {
      AskedJson json = answer.value();
      if (json == null) {
        continue;
      }
      if (json.values() > 0) {
        parts.add(WorkersQuestion.text(before));
        before = ",";
      }
      parts.add(json.read());
    }
    String workers =
        answers.stream()
            .map(answer -> WorkersQuestion.opened(answer) + "}")
            .collect(Collectors.joining(","));
    String none = before.equals(",") ? "" : before;
    parts.add(WorkersQuestion.text(none + "],\"workers\":[" + workers + "]}"));
    return WorkersQuestion.json(200, parts);
  }
}
