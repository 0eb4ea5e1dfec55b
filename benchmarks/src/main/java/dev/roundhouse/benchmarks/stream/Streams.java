package dev.roundhouse.benchmarks.stream;

import com.sun.management.ThreadMXBean;
import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.client.GrpcStream;
import dev.roundhouse.benchmarks.client.GrpcUnary;
import dev.roundhouse.benchmarks.client.Load;
import dev.roundhouse.benchmarks.client.ThinClient;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.benchmarks.serving.FreePort;
import dev.roundhouse.benchmarks.serving.ServerProcess;
import dev.roundhouse.benchmarks.serving.WorkerServer;
import dev.roundhouse.measure.Comparison;
import dev.roundhouse.measure.Pairs;
import dev.roundhouse.measure.PeerAbsentException;
import dev.roundhouse.measure.Scratch;
import dev.roundhouse.measure.Spinners;
import dev.roundhouse.measure.VcpuCondition;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Tensor streams against ModelStreamInfer of the same worker, and against a pair of sockets. */
public final class Streams implements Bench {
  private static final FirstNumber SMALL = new FirstNumber(4096, List.of(1, 4, 16, 64));
  private static final FirstNumber IMAGE = new FirstNumber(588 << 10, List.of(1, 2, 4));
  private static final int MOST = 256;
  private static final int FEW = 32;

  @Override
  public String name() {
    return "streams";
  }

  @Override
  public String about() {
    return "tensor streams against ModelStreamInfer, and against bare sockets";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    try (Scratch scratch = Scratch.create()) {
      Path repository = Files.createDirectory(scratch.path().resolve("models"));
      SMALL.write(repository);
      IMAGE.write(repository);
      Path socket = scratch.path().resolve("streams");
      int port = FreePort.find();
      run.say("%s: starting a worker", name());
      try (ServerProcess worker =
          WorkerServer.start(
              "worker",
              run,
              scratch.path(),
              repository,
              "--roundhouse.worker.stream.address=127.0.0.1",
              "--roundhouse.worker.stream.port=" + port,
              "--roundhouse.worker.stream.window-size=512MB",
              "--roundhouse.worker.stream.socket=" + socket)) {
        SocketAddress tcp = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
        SocketAddress unix = UnixDomainSocketAddress.of(socket);
        Asked asked = new Asked(run, worker, scratch.path());
        asked.rates(SMALL, "4 KiB", MOST, "TCP", tcp, Goal.atLeast(4));
        asked.rates(SMALL, "4 KiB", MOST, "UNIX", unix, Goal.atLeast(4));
        asked.rates(SMALL, "4 KiB", FEW, "TCP", tcp, null);
        asked.rates(SMALL, "4 KiB", FEW, "UNIX", unix, null);
        asked.rates(IMAGE, "588 KiB", FEW, "TCP", tcp, Goal.atLeast(2));
        asked.rates(IMAGE, "588 KiB", FEW, "UNIX", unix, Goal.atLeast(2));
        asked.alone(SMALL, "4 KiB", "UNIX", unix);
        asked.alone(IMAGE, "588 KiB", "UNIX", unix);
        new EightClients(name(), run, worker, SMALL, unix).run();
        for (FirstNumber model : List.of(SMALL, IMAGE)) {
          asked.besideEcho(model, tcp);
        }
      }
    }
  }

  /** A worker that is asked in two ways in turns. */
  private final class Asked {
    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private final BenchRun run;
    private final ServerProcess worker;
    private final Path scratch;

    Asked(BenchRun run, ServerProcess worker, Path scratch) {
      this.run = run;
      this.worker = worker;
      this.scratch = scratch;
    }

    private Duration warmUp() {
      return Duration.ofSeconds(run.quick() ? 3 : 10);
    }

    private Sample sample(ThinClient client, int outstanding, @Nullable Thread server)
        throws IOException {
      Duration sample = Duration.ofMillis(run.quick() ? 300 : 1000);
      Duration before = server == null ? worker.process().cpuWithDescendants() : cpu(server);
      long own = threads.getCurrentThreadCpuTime();
      Load load = client.run(outstanding, sample);
      double mine = threads.getCurrentThreadCpuTime() - own;
      Duration after = server == null ? worker.process().cpuWithDescendants() : cpu(server);
      double its = after.minus(before).toNanos();
      return new Sample(load, its / 1e3 / load.requests(), mine / 1e3 / load.requests());
    }

    private Duration cpu(Thread server) {
      return Duration.ofNanos(threads.getThreadCpuTime(server.threadId()));
    }

    private int rounds() {
      return run.quick() ? 5 : 11;
    }

    void rates(
        FirstNumber model,
        String size,
        int window,
        String over,
        SocketAddress address,
        @Nullable Goal goal)
        throws IOException {
      run.say("%s: %s, window %d, %s", name(), size, window, over);
      Pairs rate = new Pairs();
      Pairs cpu = new Pairs();
      double[] floor = new double[rounds()];
      double[] both = new double[rounds()];
      double[] bare = new double[rounds()];
      try (StreamClient stream = StreamClient.connect(address, model, window);
          GrpcStream grpc = GrpcStream.connect(worker.grpcPort(), model.request(), model.answer());
          SocketPair pair =
              SocketPair.open(
                  scratch, model.row().asReadOnlyByteBuffer(), 8 + model.answer().size())) {
        stream.run(window, warmUp());
        grpc.run(window, warmUp());
        pair.run(window, warmUp().dividedBy(3));
        for (int i = 0; i < rounds(); i++) {
          Sample ours = sample(stream, window, null);
          Sample theirs = sample(grpc, window, null);
          Sample bottom = sample(pair, window, pair.answering());
          rate.add(ours.rate(), theirs.rate());
          cpu.add(ours.serverMicros(), theirs.serverMicros());
          floor[i] = ours.rate() / bottom.rate();
          both[i] = ours.serverMicros() + ours.clientMicros();
          bare[i] = bottom.serverMicros() + bottom.clientMicros();
        }
      }
      String cell = "%s, window %d, %s".formatted(size, window, over);
      put(cell + " vs ModelStreamInfer: rate", rate.compare(), "messages/s", goal);
      put(cell + " vs ModelStreamInfer: worker's CPU", cpu.compare(), "CPU us/message", null);
      put(cell + ": of a bare pair's rate", median(floor), "", null);
      put(cell + ": CPU of both ends", median(both), "CPU us/message", null);
      put(cell + ": CPU of both ends of a bare pair", median(bare), "CPU us/message", null);
    }

    /** What a client of it gets its samples rid of, against what a worker does with messages. */
    void besideEcho(FirstNumber model, SocketAddress tcp) throws IOException {
      String cell = "%d KiB, window 32, ".formatted(model.rowBytes() >> 10);
      run.say("%s: %sbeside echo", name(), cell);
      ByteBuffer sample = model.row().asReadOnlyByteBuffer();
      Duration each = Duration.ofMillis(run.quick() ? 300 : 1000);
      Pairs raw = new Pairs();
      Pairs own = new Pairs();
      try (EchoBuffer echo = EchoBuffer.start(run.root(), scratch, sample, FEW);
          StreamClient stream = StreamClient.connect(tcp, model, FEW)) {
        stream.run(FEW, warmUp());
        echo.run(FEW, warmUp().dividedBy(3));
        for (int i = 0; i < rounds(); i++) {
          double rate = stream.run(FEW, each).requestsPerSecond();
          raw.add(rate, echo.run(FEW, each).requestsPerSecond());
          own.add(rate, echo.ownClientRate(each));
        }
      } catch (PeerAbsentException absent) {
        run.say("%s: not compared with echo: %s", name(), absent.reason());
        return;
      }
      put(cell + "TCP vs echo, our client: rate", raw.compare(), "messages/s", Goal.atLeast(1));
      put(cell + "TCP vs echo, its client: rate", own.compare(), "messages/s", Goal.atLeast(2));
    }

    void alone(FirstNumber model, String size, String over, SocketAddress address)
        throws IOException {
      try (StreamClient stream = StreamClient.connect(address, model, 1);
          GrpcUnary unary = GrpcUnary.connect(worker.grpcPort(), model.request(), model.answer());
          GrpcStream grpc =
              GrpcStream.connect(worker.grpcPort(), model.request(), model.answer())) {
        stream.run(1, warmUp());
        unary.run(1, warmUp());
        grpc.run(1, warmUp());
        for (VcpuCondition condition : VcpuCondition.values()) {
          String cell = "%s, one at a time, %s, %s vCPUs".formatted(size, over, condition);
          run.say("%s: %s", name(), cell);
          Pairs p50 = new Pairs();
          Pairs inStream = new Pairs();
          try (Spinners spinners = Spinners.hold(condition, run.root().idleSpinner(), scratch)) {
            for (int i = 0; i < rounds(); i++) {
              double ours = sample(stream, 1, null).load().p50Micros();
              p50.add(ours, sample(unary, 1, null).load().p50Micros());
              inStream.add(ours, sample(grpc, 1, null).load().p50Micros());
            }
          }
          put(cell + " vs ModelInfer: p50", p50.compare(), "us", Goal.atMost(0.6));
          put(cell + " vs ModelStreamInfer: p50", inStream.compare(), "us", null);
        }
      }
    }

    private Comparison median(double[] values) {
      Arrays.sort(values);
      return Comparison.alone(values[values.length / 2]);
    }

    private void put(String cell, Comparison figures, String unit, @Nullable Goal goal) {
      run.cells().accept(new Cell(name(), cell, figures, unit, goal));
    }
  }

  private record Sample(Load load, double serverMicros, double clientMicros) {
    double rate() {
      return load.requestsPerSecond();
    }
  }
}
