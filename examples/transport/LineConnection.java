package example.line;

import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.Variant;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.engine.transport.Caller;
import dev.roundhouse.engine.transport.CallerCredentials;
import dev.roundhouse.engine.transport.CallerUse;
import dev.roundhouse.engine.transport.ClientConnection;
import dev.roundhouse.engine.transport.ClientRefusedException;
import dev.roundhouse.engine.transport.TransportRequest;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.ValueLayout;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** One client: a virtual thread reads its lines, another writes its answers. */
final class LineConnection {
  /** Memory is counted in pieces of so many bytes while a line arrives. */
  private static final int STEP = 8192;

  private final LineTransport transport;
  private final Socket socket;
  private final ClientConnection client;
  private final Semaphore room;
  private final Map<String, Submission> open = new ConcurrentHashMap<>();
  private final LinkedBlockingQueue<Ended> ended = new LinkedBlockingQueue<>();
  private CallerCredentials shown = CallerCredentials.NONE; // the reading thread's
  private volatile boolean amidLine;
  private volatile boolean draining;

  /** A request's end, with the answer that the writing thread closes; null for none. */
  private record Ended(String id, String text, Answer answer) {}

  private static final Ended LAST = new Ended("", "", null);

  LineConnection(LineTransport transport, Socket socket) throws ClientRefusedException {
    this.transport = transport;
    this.socket = socket;
    room = new Semaphore(transport.maxOpen);
    client = transport.context.connect(socket.getRemoteSocketAddress(), this::relieve);
  }

  void start() {
    Thread.ofVirtual().name("line-read").start(this::read);
    Thread.ofVirtual().name("line-write").start(this::write);
  }

  int open() {
    return transport.maxOpen - room.availablePermits();
  }

  /** Memory is short: a line of which the rest does not come is given up. */
  private void relieve() {
    if (amidLine) {
      close();
    }
  }

  /** Reads no further line; the answers to those before are written, and then it ends. */
  synchronized void drain() {
    if (draining) {
      return;
    }
    draining = true;
    try {
      socket.shutdownInput();
    } catch (IOException e) {
      close();
    }
  }

  void close() {
    try {
      socket.close();
    } catch (IOException e) {
      // gone all the same
    }
    client.close(); // cancels what is open
  }

  private void read() {
    try (InputStream in = new BufferedInputStream(socket.getInputStream())) {
      for (String line = line(in); line != null && !draining; line = line(in)) {
        take(line);
      }
      room.acquire(transport.maxOpen); // until all are answered
    } catch (IOException | InterruptedException e) {
      // the client has gone: nobody waits for its answers
    } finally {
      client.close();
      ended.add(LAST);
    }
  }

  /** The next line; null at the end. */
  private String line(InputStream in) throws IOException {
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    long taken = 0;
    try {
      for (int next = in.read(); next >= 0; next = in.read()) {
        amidLine = true;
        if (next == '\n') {
          return line.toString(StandardCharsets.UTF_8).strip();
        }
        if (line.size() == transport.maxLine) {
          say("-", "error INVALID_ARGUMENT the line is longer than max-line=" + line.size());
          return null;
        }
        if (line.size() == taken) {
          client.take(STEP);
          taken += STEP;
        }
        line.write(next);
      }
      return null;
    } catch (ClientRefusedException e) {
      say("-", "error " + e.reason() + " " + e.getMessage());
      return null;
    } finally {
      amidLine = false;
      client.giveBack(taken); // from here on the engine counts the inputs
    }
  }

  private void take(String line) throws InterruptedException {
    String[] words = line.split(" +");
    if (words.length == 2 && words[0].equals("token")) {
      shown = CallerCredentials.ofToken(words[1]);
    } else if (words.length == 2 && words[1].equals("cancel")) {
      Submission request = open.get(words[0]);
      if (request != null) {
        request.cancel();
      }
    } else if (words.length > 3 && words[1].equals("infer")) {
      infer(words[0], words);
    } else {
      transport.badLines.increment();
      say("-", "error INVALID_ARGUMENT write 'ID infer MODEL NAME=BASE64', 'ID cancel' or 'token T'");
    }
  }

  private void infer(String id, String[] words) throws InterruptedException {
    room.acquire(); // a client that reads no answers sends no more
    try {
      Caller caller = client.admit(CallerUse.INFERENCE, shown);
      String[] name = words[2].split(":", 2);
      String version = name.length == 2 ? name[1] : "";
      ModelStatus model = transport.context.models().find(name[0], version).orElse(null);
      if (model == null || model.spec().isEmpty()) {
        done(id, "error NOT_FOUND there is no model '" + words[2] + "'", null);
        return;
      }
      TransportRequest request =
          TransportRequest.of(name[0], inputs(model, words)).withVersion(version).withId(id);
      if (words[3].startsWith("timeout=")) {
        long millis = Long.parseLong(words[3].substring("timeout=".length()));
        long end = transport.context.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        request = request.withDeadlineNanos(end);
      }
      Sink sink = new Sink(id);
      open.put(id, client.submit(caller, request, sink));
      if (sink.over) {
        open.remove(id);
      }
    } catch (ClientRefusedException e) {
      done(id, "error " + e.reason() + " " + e.getMessage(), null);
    } catch (IllegalArgumentException e) {
      done(id, "error INVALID_ARGUMENT " + e.getMessage(), null);
    }
  }

  /** With as many rows as the bytes make; what is wrong about them, the engine says. */
  private static List<InputTensor> inputs(ModelStatus model, String[] words) {
    List<InputTensor> inputs = new ArrayList<>();
    for (String word : Arrays.asList(words).subList(3, words.length)) {
      int equals = word.indexOf('=');
      String name = word.substring(0, Math.max(0, equals));
      if (name.equals("timeout")) {
        continue;
      }
      TensorSpec spec =
          model.spec().orElseThrow().clientInputs().stream()
              .filter(each -> each.name().equals(name))
              .findFirst()
              .orElseThrow(() -> new IllegalArgumentException("there is no input '" + name + "'"));
      byte[] bytes = Base64.getDecoder().decode(word.substring(equals + 1));
      int rows = 1;
      if (spec.batchAxis() >= 0) {
        long row = spec.resolve(1, Variant.SINGLE).byteSize();
        rows = (int) Math.max(1, bytes.length / Math.max(1, row));
      }
      Shape shape = spec.resolve(rows, Variant.SINGLE).shape();
      inputs.add(new InputTensor(name, spec.dtype(), shape, TensorData.of(bytes)));
    }
    return inputs;
  }

  /** Called by the worker's thread for this transport: only hands over. */
  private final class Sink implements AnswerSink {
    private final String id;
    private Answer answer;
    private volatile boolean over;

    Sink(String id) {
      this.id = id;
    }

    @Override
    public void onPart(Answer part) {
      answer = part;
    }

    @Override
    public void onEnd(Outcome outcome) {
      over = true;
      open.remove(id);
      done(
          id,
          switch (outcome) {
            case Outcome.Completed completed -> "ok";
            case Outcome.Refused refused -> "error " + refused.status() + " " + refused.message();
            case Outcome.Failed failed -> "error " + failed.status() + " " + failed.message();
            case Outcome.Shed shed -> "error " + shed.status() + " " + shed.message();
            case Outcome.Cancelled cancelled -> "error " + Status.CANCELLED;
          },
          answer);
    }
  }

  private void done(String id, String text, Answer answer) {
    ended.add(new Ended(id, text, answer));
  }

  /** Of no request. */
  private void say(String id, String text) {
    room.acquireUninterruptibly();
    done(id, text, null);
  }

  private void write() {
    boolean reads = true;
    try {
      for (Ended next = ended.take(); next != LAST; next = ended.take()) {
        try (Answer answer = next.answer()) {
          reads = reads && written(next.id() + " " + next.text(), answer);
        } finally {
          room.release();
        }
      }
    } catch (InterruptedException e) {
      // nobody does that
    } finally {
      close();
      transport.ended(this);
    }
  }

  /** False when the client has gone. */
  private boolean written(String text, Answer answer) {
    StringBuilder line = new StringBuilder(text.replace('\n', ' '));
    if (answer != null) {
      answer
          .outputs()
          .forEach(
              each -> {
                byte[] bytes = each.data().toArray(ValueLayout.JAVA_BYTE);
                line.append(' ').append(each.name()).append('=');
                line.append(Base64.getEncoder().encodeToString(bytes));
              });
    }
    try {
      socket.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
      return true;
    } catch (IOException e) {
      close();
      return false;
    }
  }
}
