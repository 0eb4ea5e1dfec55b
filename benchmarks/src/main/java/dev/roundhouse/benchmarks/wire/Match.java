package dev.roundhouse.benchmarks.wire;

import com.google.protobuf.ByteString;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.client.ThinClient;
import dev.roundhouse.benchmarks.serving.RowModel;
import dev.roundhouse.benchmarks.serving.ServerProcess;
import dev.roundhouse.benchmarks.serving.ServerSample;
import dev.roundhouse.benchmarks.serving.TritonModel;
import dev.roundhouse.benchmarks.serving.TritonServer;
import java.io.Closeable;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Ours and what it is measured against, asked in the same way in turns.
 *
 * @param peers set-ups of the peer, of which the fastest counts; empty when there is no peer
 */
record Match(Contender ours, List<Contender> peers) implements Closeable {

  /** A way of asking a server for a model. */
  @FunctionalInterface
  interface Way {
    /**
     * Connects.
     *
     * @param wanted the output's bytes
     */
    ThinClient connect(ServerProcess server, String model, ByteString wanted) throws IOException;
  }

  /** Connects to a model of both servers, and to every set-up of it at Triton. */
  static Match of(ServerPair servers, RowModel model, Way way) throws IOException {
    ThinClient ours = way.connect(servers.ours(), model.name(), model.answerRow());
    Match match = new Match(new Contender("ours", servers.ours(), ours), new ArrayList<>());
    TritonServer triton = servers.triton();
    ServerProcess before = servers.before();
    try {
      if (before != null) {
        ThinClient client = way.connect(before, model.name(), model.answerRow());
        match.peers.add(new Contender("the build before", before, client));
      }
      if (triton != null) {
        for (TritonModel setup : triton.models()) {
          if (setup.serves(model)) {
            ThinClient client = way.connect(triton.process(), setup.name(), model.row());
            match.peers.add(new Contender(setup.setup(), triton.process(), client));
          }
        }
      }
    } catch (IOException | RuntimeException failure) {
      match.close();
      throw failure;
    }
    return match;
  }

  /** One server asked in two ways. */
  static Match ofTwoWays(ServerProcess server, RowModel model, Way our, Way other, String otherName)
      throws IOException {
    ThinClient first = our.connect(server, model.name(), model.answerRow());
    try {
      ThinClient second = other.connect(server, model.name(), model.answerRow());
      return new Match(
          new Contender("ours", server, first), List.of(new Contender(otherName, server, second)));
    } catch (IOException | RuntimeException failure) {
      first.close();
      throw failure;
    }
  }

  /** Has each side at work for so long. */
  void warmUp(int outstanding, Duration duration) throws IOException {
    ours.sample(outstanding, duration);
    for (Contender peer : peers) {
      peer.sample(outstanding, duration.dividedBy(peers.size()));
    }
  }

  /** Ours against the set-up that answers the most requests a second here and now. */
  Score play(BenchRun run, int outstanding) throws IOException {
    int rounds = run.quick() ? 5 : 11;
    Duration sample = Duration.ofMillis(run.quick() ? 300 : 1000);
    Contender peer = fastest(outstanding, sample);
    List<ServerSample> our = new ArrayList<>();
    List<ServerSample> theirs = new ArrayList<>();
    for (int i = 0; i < rounds; i++) {
      our.add(ours.sample(outstanding, sample));
      if (peer != null) {
        theirs.add(peer.sample(outstanding, sample));
      }
    }
    return new Score(our, theirs, peer == null ? ", not compared" : ", vs " + peer.setup());
  }

  private @Nullable Contender fastest(int outstanding, Duration sample) throws IOException {
    Contender fastest = null;
    double best = 0;
    for (Contender peer : peers) {
      double rate = peer.sample(outstanding, sample).requestsPerSecond();
      if (rate > best) {
        best = rate;
        fastest = peer;
      }
    }
    return fastest;
  }

  @Override
  public void close() throws IOException {
    ours.close();
    for (Contender peer : peers) {
      peer.close();
    }
  }
}
