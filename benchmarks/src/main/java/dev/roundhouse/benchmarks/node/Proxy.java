package dev.roundhouse.benchmarks.node;

import dev.roundhouse.benchmarks.serving.FetchedPeer;
import dev.roundhouse.benchmarks.serving.FreePort;
import dev.roundhouse.benchmarks.serving.ServerProcess;
import dev.roundhouse.measure.Child;
import dev.roundhouse.measure.PeerAbsentException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Proxies that others put before several servers. Each takes turns among them, keeps its
 * connections to them, has two threads or processes, windows of 1 MiB, and writes no log of
 * requests.
 */
enum Proxy {
  /** Its connections end after so many requests; this is more than a bench makes. */
  NGINX("nginx") {
    @Override
    String configuration(Protocol protocol, int port, List<ServerProcess> upstreams) {
      boolean grpc = protocol == Protocol.GRPC;
      return """
          worker_processes 2;
          daemon off;
          error_log stderr error;
          pid nginx.pid;
          events { worker_connections 1024; }
          http {
            access_log off;
            client_max_body_size 0;
            client_body_buffer_size 1m;
            http2_max_concurrent_streams 1024;
            http2_body_preread_size 1m;
            http2_chunk_size 16k;
            http2_recv_buffer_size 1m;
            keepalive_requests 1000000000;
            keepalive_time 1d;
            keepalive_timeout 1h;
            grpc_buffer_size 64k;
            proxy_buffer_size 64k;
            proxy_buffers 8 64k;
            proxy_buffering off;
            proxy_request_buffering off;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
            client_body_temp_path body;
            proxy_temp_path proxy;
            fastcgi_temp_path fastcgi;
            uwsgi_temp_path uwsgi;
            scgi_temp_path scgi;
            upstream workers {
          %s    keepalive 128;
              keepalive_requests 1000000000;
              keepalive_time 1d;
              keepalive_timeout 1h;
            }
            server {
              listen 127.0.0.1:%d%s;
              location / { %s://workers; }
            }
          }
          """
          .formatted(
              lines(protocol, upstreams, "    server 127.0.0.1:%d;%n"),
              port,
              grpc ? " http2" : "",
              grpc ? "grpc_pass grpc" : "proxy_pass http");
    }

    @Override
    List<String> command(Path configuration) throws PeerAbsentException {
      return List.of(
          installed("nginx", "nginx-light"),
          "-p",
          configuration.resolveSibling(".").toString(),
          "-c",
          configuration.toString());
    }
  },

  /** Its buffers stay as they are: with larger ones, 2.6 resets calls of 588 KiB. */
  HAPROXY("haproxy") {
    @Override
    String configuration(Protocol protocol, int port, List<ServerProcess> upstreams) {
      String proto = protocol == Protocol.GRPC ? " proto h2" : "";
      return """
          global
            nbthread 2
            tune.h2.initial-window-size 1048576
            tune.h2.max-concurrent-streams 1024
          defaults
            mode http
            timeout connect 5s
            timeout client 1h
            timeout server 1h
            http-reuse always
          listen workers
            bind 127.0.0.1:%d%s
            balance roundrobin
          %s"""
          .formatted(
              port,
              proto,
              lines(protocol, upstreams, "  server w%1$d 127.0.0.1:%1$d" + proto + "%n"));
    }

    @Override
    List<String> command(Path configuration) throws PeerAbsentException {
      return List.of(installed("haproxy", "haproxy"), "-db", "-q", "-f", configuration.toString());
    }
  },

  /** For gRPC alone. */
  ENVOY("envoy") {
    @Override
    String configuration(Protocol protocol, int port, List<ServerProcess> upstreams) {
      String http2 =
          "initial_stream_window_size: 1048576, initial_connection_window_size: 16777216,"
              + " max_concurrent_streams: 1024";
      return """
          static_resources:
            listeners:
            - address: {socket_address: {address: 127.0.0.1, port_value: %d}}
              filter_chains:
              - filters:
                - name: http
                  typed_config:
                    "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                    stat_prefix: in
                    codec_type: HTTP2
                    http2_protocol_options: {%s}
                    stream_idle_timeout: 0s
                    generate_request_id: false
                    route_config:
                      virtual_hosts:
                      - name: all
                        domains: ["*"]
                        routes: [{match: {prefix: /}, route: {cluster: workers, timeout: 0s}}]
                    http_filters:
                    - name: router
                      typed_config:
                        "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
                        suppress_envoy_headers: true
                        dynamic_stats: false
            clusters:
            - name: workers
              type: STATIC
              lb_policy: ROUND_ROBIN
              circuit_breakers: {thresholds: [{max_requests: 100000, max_pending_requests: 100000}]}
              typed_extension_protocol_options:
                envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
                  "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
                  explicit_http_config: {http2_protocol_options: {%s}}
              load_assignment:
                cluster_name: workers
                endpoints:
                - lb_endpoints:
          %s"""
          .formatted(
              port,
              http2,
              http2,
              lines(
                  protocol,
                  upstreams,
                  "        - endpoint: {address: {socket_address:"
                      + " {address: 127.0.0.1, port_value: %d}}}%n"));
    }

    @Override
    List<String> command(Path configuration) throws PeerAbsentException {
      Path program = Path.of("envoy/_bin/envoy");
      return List.of(
          FetchedPeer.find("envoy", "envoy-1.40.0", program).resolve(program).toString(),
          "--concurrency",
          "2",
          "--disable-hot-restart",
          "--log-level",
          "error",
          "-c",
          configuration.toString());
    }
  };

  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final long LOOK_MILLIS = 20;

  private final String words;

  Proxy(String words) {
    this.words = words;
  }

  /** What its file says. */
  abstract String configuration(Protocol protocol, int port, List<ServerProcess> upstreams);

  /** What starts it in the foreground. */
  abstract List<String> command(Path configuration) throws PeerAbsentException;

  /**
   * Starts one before {@code upstreams} and waits until it listens.
   *
   * @throws PeerAbsentException when this machine has it not
   */
  ServerProcess start(Protocol protocol, Path scratch, List<ServerProcess> upstreams)
      throws IOException, PeerAbsentException {
    Path folder = Files.createDirectory(scratch.resolve(words));
    Path file = folder.resolve(words + (this == ENVOY ? ".yaml" : ".conf"));
    int port = FreePort.find();
    Files.writeString(file, configuration(protocol, port, upstreams));
    Child child = Child.start(words, command(file), Map.of(), folder.resolve("log"));
    child.ignoreOutput();
    ServerProcess process = new ServerProcess(words, child, port, port);
    try {
      awaitPort(process);
      return process;
    } catch (IOException | RuntimeException failure) {
      process.close();
      throw failure;
    }
  }

  private static void awaitPort(ServerProcess process) throws IOException {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (!listens(process.grpcPort())) {
      if (!process.process().isAlive() || System.nanoTime() > deadline) {
        throw new IOException(
            "%s does not listen; its last lines:\n%s"
                .formatted(process.name(), process.process().lastLines()));
      }
      try {
        TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
      } catch (InterruptedException stopped) {
        Thread.currentThread().interrupt();
        throw new IOException("stopped while " + process.name() + " was starting", stopped);
      }
    }
  }

  private static boolean listens(int port) {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      return socket.isConnected();
    } catch (IOException notYet) {
      return false;
    }
  }

  private static String lines(Protocol protocol, List<ServerProcess> upstreams, String line) {
    return upstreams.stream()
        .map(upstream -> line.formatted(protocol.port(upstream)))
        .collect(Collectors.joining());
  }

  /** Where Debian has it, which is not always on the PATH. */
  private static String installed(String program, String debianPackage) throws PeerAbsentException {
    String path = System.getenv().getOrDefault("PATH", "") + ":/usr/sbin:/usr/local/sbin";
    return Stream.of(path.split(":"))
        .filter(folder -> !folder.isEmpty())
        .map(folder -> Path.of(folder, program))
        .filter(Files::isExecutable)
        .findFirst()
        .orElseThrow(
            () ->
                new PeerAbsentException(
                    "%s is missing; install it: apt-get install %s"
                        .formatted(program, debianPackage)))
        .toString();
  }
}
