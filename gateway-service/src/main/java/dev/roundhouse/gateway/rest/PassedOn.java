package dev.roundhouse.gateway.rest;

import dev.roundhouse.gateway.fleet.WorkerLink;
import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.platform.rest.ClientMemory;
import dev.roundhouse.transport.forward.ForwardingBudget;
import dev.roundhouse.transport.memory.PeerMemory;
import io.grpc.Status;
import io.grpc.StatusException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.InputStream;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestMethod;
import org.springframework.web.bind.annotation.RestController;

/** Requests without tensors that workers answer themselves: one of them, or each of them. */
@RestController
final class PassedOn {
  private static final int MOST_BODY_BYTES = 1 << 20;

  private final Workers workers;
  private final WorkerHttp http;

  private final ForwardingBudget memory;
  private final PeerMemory peers;

  PassedOn(Workers workers, WorkerHttp http, ForwardingBudget memory, PeerMemory peers) {
    this.workers = workers;
    this.http = http;
    this.memory = memory;
    this.peers = peers;
  }

  /** What one worker says of a model as well as another. */
  @GetMapping({
    "/v2/models/{name}",
    "/v2/models/{name}/versions/{version}",
    "/v2/models/{name}/ready",
    "/v2/models/{name}/versions/{version}/ready",
    "/v2/models/{name}/config",
    "/v2/models/{name}/versions/{version}/config"
  })
  void ofModel(@PathVariable String name, HttpServletRequest request, HttpServletResponse response)
      throws IOException, StatusException {
    List<WorkerLink> having = new ArrayList<>(workers.having(name));
    workers.ready().stream().filter(worker -> !having.contains(worker)).forEach(having::add);
    one(having, request, response);
  }

  @GetMapping("/v2/openapi.json")
  void document(HttpServletRequest request, HttpServletResponse response)
      throws IOException, StatusException {
    one(workers.ready(), request, response);
  }

  /** The first that answers, unless the next one has what it has not. */
  private void one(List<WorkerLink> asked, HttpServletRequest request, HttpServletResponse response)
      throws IOException, StatusException {
    HeldShare share =
        HeldShare.take(memory, ClientMemory.of(peers, request), HeldShare.PASSING_BYTES);
    try {
      oneOf(asked, request, response);
    } finally {
      share.close();
    }
  }

  private void oneOf(
      List<WorkerLink> asked, HttpServletRequest request, HttpServletResponse response)
      throws IOException, StatusException {
    Status failure = Status.UNAVAILABLE.withDescription("no worker is ready");
    for (int i = 0; i < asked.size(); i++) {
      WorkerLink worker = asked.get(i);
      try {
        HttpResponse<InputStream> answer =
            http.send(request, worker.worker().http(), BodyPublishers.noBody());
        if (isForAnother(answer.statusCode()) && i + 1 < asked.size()) {
          answer.body().close();
          continue;
        }
        WorkerHttp.answer(answer, response);
        return;
      } catch (IOException e) {
        if (response.isCommitted()) {
          throw e;
        }
        failure =
            Status.UNAVAILABLE.withDescription(
                "worker '%s' cannot be reached: %s".formatted(worker.name(), e));
      }
    }
    throw failure.asException();
  }

  private static boolean isForAnother(int code) {
    return code == HttpStatus.NOT_FOUND.value() || code == HttpStatus.SERVICE_UNAVAILABLE.value();
  }

  @RequestMapping(
      method = {RequestMethod.GET, RequestMethod.POST},
      path = {"/v2/logging", "/v2/trace/setting", "/v2/models/{name}/trace/setting"})
  void setting(HttpServletRequest request, HttpServletResponse response)
      throws IOException, StatusException {
    each(request, response);
  }

  @PostMapping({
    "/v2/repository/models/{name}/load",
    "/v2/repository/{repository}/models/{name}/load",
    "/v2/repository/models/{name}/unload",
    "/v2/repository/{repository}/models/{name}/unload"
  })
  void repository(HttpServletRequest request, HttpServletResponse response)
      throws IOException, StatusException {
    each(request, response);
  }

  @GetMapping({"/v2/cudasharedmemory/status", "/v2/cudasharedmemory/region/{region}/status"})
  void cudaStatus(HttpServletRequest request, HttpServletResponse response)
      throws IOException, StatusException {
    each(request, response);
  }

  /** All workers that take requests; the answer of the first that refuses, or of the first. */
  private void each(HttpServletRequest request, HttpServletResponse response)
      throws IOException, StatusException {
    long bytes = HeldShare.wholeBody(request.getContentLengthLong(), MOST_BODY_BYTES + 1L);
    HeldShare share =
        HeldShare.take(memory, ClientMemory.of(peers, request), bytes + HeldShare.PASSING_BYTES);
    try {
      eachOf(request, response);
    } finally {
      share.close();
    }
  }

  private void eachOf(HttpServletRequest request, HttpServletResponse response)
      throws IOException, StatusException {
    byte[] body = request.getInputStream().readNBytes(MOST_BODY_BYTES + 1);
    if (body.length > MOST_BODY_BYTES) {
      throw Status.INVALID_ARGUMENT
          .withDescription("the request's body has more than %d bytes".formatted(MOST_BODY_BYTES))
          .asException();
    }
    HttpResponse<InputStream> told = null;
    Status failure = Status.UNAVAILABLE.withDescription("no worker is ready");
    for (WorkerLink worker : workers.ready()) {
      try {
        HttpResponse<InputStream> answer =
            http.send(request, worker.worker().http(), BodyPublishers.ofByteArray(body));
        if (told == null || (isRefusal(answer) && !isRefusal(told))) {
          told = answer;
        } else {
          answer.body().close();
        }
      } catch (IOException e) {
        failure =
            Status.UNAVAILABLE.withDescription(
                "worker '%s' cannot be reached: %s".formatted(worker.name(), e));
      }
    }
    if (told == null) {
      throw failure.asException();
    }
    WorkerHttp.answer(told, response);
  }

  private static boolean isRefusal(HttpResponse<?> answer) {
    return answer.statusCode() >= HttpStatus.BAD_REQUEST.value();
  }
}
