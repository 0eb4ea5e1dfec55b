package dev.roundhouse.platform.rest;

import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.v1.proto.GRPCServiceGrpc;
import dev.roundhouse.platform.grpc.LocalCalls;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.transport.http1.RequestHandler;
import dev.roundhouse.transport.http1.RequestRoutes;
import io.micrometer.observation.ObservationRegistry;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Finds the route of each request except inference, and answers those without one. Thread-safe. */
public final class ControlRoutes implements RequestRoutes {
  /** Templates by how many parts they have, the most literal first. */
  private final Map<Integer, List<Template>> templates = new HashMap<>();

  private final LocalCalls services;
  private final ClientText texts;
  private final RequestMeters meters;

  /**
   * @param services that answer
   * @param texts what callers are told
   * @param observations where requests are counted
   * @param metric by this name
   */
  public ControlRoutes(
      LocalCalls services, ClientText texts, ObservationRegistry observations, String metric) {
    this.services = services;
    this.texts = texts;
    meters = new RequestMeters(observations, metric);
    Map<String, Template> byText = new HashMap<>();
    for (ControlRoute route : routes(services)) {
      Template template = byText.computeIfAbsent(route.template(), Template::of);
      template.routes.put(route.method(), route);
    }
    for (Template template : byText.values()) {
      templates.computeIfAbsent(template.parts.length, size -> new ArrayList<>()).add(template);
    }
    templates.values().forEach(each -> each.sort(Comparator.comparingInt(Template::variables)));
  }

  private static List<ControlRoute> routes(LocalCalls services) {
    List<ControlRoute> routes = new ArrayList<>();
    boolean hasV1 = services.have(GRPCServiceGrpc.getHealthMethod());
    if (!hasV1 || services.have(GRPCInferenceServiceGrpc.getServerLiveMethod())) {
      routes.addAll(ControlTable.ROUTES);
    }
    if (hasV1) {
      routes.addAll(V1Table.ROUTES);
    }
    return routes;
  }

  @Override
  public RequestHandler route(String method, String target, @Nullable CallerRights caller) {
    return new ControlCall(this, method, target, find(method, target));
  }

  LocalCalls services() {
    return services;
  }

  ClientText texts() {
    return texts;
  }

  RequestMeters meters() {
    return meters;
  }

  /**
   * What a request is about.
   *
   * @param path as it is read; empty when it is none
   * @param parts of the path, by their names in the template
   * @param route null for what is refused, or asks for methods only
   * @param code of HTTP when there is no route
   * @param allowed methods of the path; null when the answer does not name them
   */
  record Found(
      String path,
      Map<String, String> parts,
      @Nullable ControlRoute route,
      int code,
      @Nullable String allowed) {
    static final int OK = 200;
    static final int MALFORMED = 400;
    static final int UNKNOWN = 404;
    static final int OTHER_METHOD = 405;
  }

  private Found find(String method, String target) {
    if (method.equals("OPTIONS") && target.equals("*")) {
      return new Found(target, Map.of(), null, Found.OK, "GET,HEAD,POST,OPTIONS");
    }
    DecodedPath path = DecodedPath.of(target);
    if (path == null) {
      return new Found("", Map.of(), null, Found.MALFORMED, null);
    }
    for (Template template : templates.getOrDefault(path.parts().size(), List.of())) {
      Map<String, String> parts = template.match(path.parts());
      if (parts != null) {
        return template.found(method, path.toString(), parts);
      }
    }
    return new Found(path.toString(), Map.of(), null, Found.UNKNOWN, null);
  }

  /** Paths of one form, and what there is by which method. */
  private record Template(String[] parts, Map<String, ControlRoute> routes) {
    static Template of(String text) {
      return new Template(text.substring(1).split("/"), new HashMap<>());
    }

    private static boolean isVariable(String part) {
      return part.startsWith("{");
    }

    int variables() {
      int count = 0;
      for (String part : parts) {
        count += isVariable(part) ? 1 : 0;
      }
      return count;
    }

    /** What stands for the variables; null when the path has another form. */
    @Nullable Map<String, String> match(List<String> path) {
      Map<String, String> values = new HashMap<>();
      for (int i = 0; i < parts.length; i++) {
        String part = path.get(i);
        if (isVariable(parts[i]) && !part.isEmpty()) {
          values.put(parts[i].substring(1, parts[i].length() - 1), part);
        } else if (!parts[i].equals(part)) {
          return null;
        }
      }
      return values;
    }

    Found found(String method, String path, Map<String, String> values) {
      if (method.equals("OPTIONS")) {
        return new Found(path, values, null, Found.OK, methods(",") + ",OPTIONS");
      }
      ControlRoute route = routes.get(method.equals("HEAD") ? "GET" : method);
      return route == null
          ? new Found(path, values, null, Found.OTHER_METHOD, String.join(", ", sorted()))
          : new Found(path, values, route, Found.OK, null);
    }

    private String methods(String between) {
      String read = routes.containsKey("GET") ? "GET" + between + "HEAD" : "";
      String change = routes.containsKey("POST") ? "POST" : "";
      return read + (read.isEmpty() || change.isEmpty() ? "" : between) + change;
    }

    private List<String> sorted() {
      return routes.keySet().stream().sorted().toList();
    }
  }
}
