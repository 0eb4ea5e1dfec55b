package dev.roundhouse.benchmarks.node;

import dev.roundhouse.benchmarks.client.GrpcUnary;
import dev.roundhouse.benchmarks.client.RestClient;
import dev.roundhouse.benchmarks.client.RestRequest;
import dev.roundhouse.benchmarks.client.ThinClient;
import dev.roundhouse.benchmarks.serving.RowModel;
import dev.roundhouse.benchmarks.serving.ServerProcess;
import java.io.IOException;
import java.util.List;

/** What client, proxies and workers speak. */
enum Protocol {
  GRPC(Proxy.values()) {
    @Override
    int port(ServerProcess server) {
      return server.grpcPort();
    }

    @Override
    ThinClient connect(ServerProcess server, RowModel model) throws IOException {
      return GrpcUnary.connect(port(server), model.request(), model.answerRow());
    }
  },

  /** HTTP/1.1 with binary tensors, on connections that are kept on both sides of a proxy. */
  REST(Proxy.NGINX, Proxy.HAPROXY) {
    @Override
    int port(ServerProcess server) {
      return server.httpPort();
    }

    @Override
    ThinClient connect(ServerProcess server, RowModel model) throws IOException {
      RestRequest request = new RestRequest(model.name(), 1, model.elements(), model.row());
      return RestClient.connect(port(server), request, model.answerRow());
    }
  };

  private final List<Proxy> proxies;

  Protocol(Proxy... proxies) {
    this.proxies = List.of(proxies);
  }

  /** Those that are compared. */
  List<Proxy> proxies() {
    return proxies;
  }

  abstract int port(ServerProcess server);

  /** A client that sends one row over and over. */
  abstract ThinClient connect(ServerProcess server, RowModel model) throws IOException;
}
