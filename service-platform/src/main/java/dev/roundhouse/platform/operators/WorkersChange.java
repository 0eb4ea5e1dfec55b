package dev.roundhouse.platform.operators;

import dev.roundhouse.platform.audit.Audit;
import dev.roundhouse.platform.audit.Caller;
import dev.roundhouse.platform.rest.JsonReply;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.core.io.Resource;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * A change that workers make, each over its own port: of one model, at every worker that has it, or
 * of one worker. None undoes it because another did not make it: the answer says which did.
 */
final class WorkersChange {
  private static final int OK = 200;
  private static final int ACCEPTED = 202;
  private static final int BAD_GATEWAY = 502;
  private static final JsonMapper JSON = new JsonMapper();

  private final WorkersQuestion question;
  private final String path;
  private final Duration besides;

  /**
   * @param path of the endpoint, at workers as here
   * @param besides what the change may take, beyond what an answer may
   */
  WorkersChange(AnsweredFor others, String path, Duration besides) {
    question = new WorkersQuestion(others);
    this.path = path;
    this.besides = besides;
  }

  /**
   * Changes a model.
   *
   * @param worker null for all that have the model
   * @param what is changed, as in {@code the weight of model 'm'}
   * @param body that workers are sent
   */
  WebEndpointResponse<Resource> ofModel(
      String model, @Nullable String worker, String what, ObjectNode body) throws IOException {
    String none = "no worker has a model '%s'".formatted(model);
    return make(path + "/" + WorkersQuestion.encoded(model), worker, what, body, none);
  }

  /** Changes a worker; parameters as {@link #ofModel}'s. */
  WebEndpointResponse<Resource> ofWorker(String worker, String what, ObjectNode body)
      throws IOException {
    String none =
        "worker '%s' has no POST %s: it is older, or another server".formatted(worker, path);
    return make(path, worker, what, body, none);
  }

  private WebEndpointResponse<Resource> make(
      String at, @Nullable String worker, String what, ObjectNode body, String none)
      throws IOException {
    byte[] json = body.toString().getBytes(StandardCharsets.UTF_8);
    List<Answer<byte[]>> answers = question.tell(at, worker, json, besides);
    if (answers == null) {
      return question.noWorker(String.valueOf(worker));
    }
    List<Answer<byte[]>> having =
        answers.stream().filter(each -> each.status() != WorkersQuestion.NOT_FOUND).toList();
    if (having.isEmpty()) {
      return WorkersQuestion.refusal(none);
    }
    ObjectNode workers = JsonNodeFactory.instance.objectNode();
    having.forEach(each -> workers.set(each.port().name(), said(each)));
    Audit.ended(Caller.current(), "%s set by %s:".formatted(what, body), summary(having));
    ObjectNode all = JsonNodeFactory.instance.objectNode();
    all.set("workers", workers);
    return WorkersQuestion.json(status(having), List.of(WorkersQuestion.text(all.toString())));
  }

  /** 200 when all made it, 202 when some have only begun, the code of all that refused alike. */
  private static int status(List<Answer<byte[]>> answers) {
    if (answers.stream().allMatch(WorkersChange::isTaken)) {
      return answers.stream().mapToInt(Answer::status).max().orElse(OK);
    }
    int first = answers.getFirst().status();
    boolean alike = answers.stream().allMatch(each -> each.status() == first);
    return alike && first > 0 ? first : BAD_GATEWAY;
  }

  private static boolean isTaken(Answer<byte[]> answer) {
    return answer.status() == OK || answer.status() == ACCEPTED;
  }

  private static String summary(List<Answer<byte[]>> answers) {
    return answers.stream()
        .map(each -> each.port().name() + " " + outcome(each.status()))
        .collect(Collectors.joining(", "));
  }

  private static String outcome(int status) {
    return switch (status) {
      case 0 -> "did not answer";
      case OK -> "has";
      case ACCEPTED -> "has begun";
      default -> "answered " + status;
    };
  }

  /** What it answered, when that is an object. */
  private static JsonNode said(Answer<byte[]> answer) {
    byte[] body = answer.value();
    if (body != null) {
      try {
        if (JSON.readTree(body) instanceof ObjectNode object) {
          return object;
        }
      } catch (JacksonException e) {
        // said below
      }
    }
    String failure = body == null ? answer.failure() : "it answered " + answer.status();
    return JSON.readTree(JsonReply.error(failure));
  }
}
