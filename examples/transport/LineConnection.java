package example.line;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.Variant;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Status;
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
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** One client: a virtual thread reads its lines, and each answer is written by one of its own. */
final class LineConnection implements Runnable {
  /** Lines that may wait for their answer; a client that reads none is not read from either. */
  private static final int MOST_OPEN = 64;

  private static final int MOST_BYTES = 1 << 20;

  /** Memory is counted in pieces of so many bytes while a line arrives. */
  private static final int STEP = 8192;

  private final LineTransport transport;
  private final Socket socket;
  private final ClientConnection client;
  private final Semaphore room = new Semaphore(MOST_OPEN);
  private CallerCredentials shown = CallerCredentials.NONE; // the reading thread's
  private volatile boolean amidLine;

  LineConnection(LineTransport transport, Socket socket) throws ClientRefusedException {
    this.transport = transport;
    this.socket = socket;
    client = transport.context.connect(socket.getRemoteSocketAddress(), this::relieve);
  }

  /** Memory is short: a line of which the rest does not come is given up. */
  private void relieve() {
    if (amidLine) {
      close();
    }
  }

  /** Hears no more; what was asked before is answered, and then it ends. */
  void drain() {
    try {
      socket.shutdownInput();
    } catch (IOException e) {
      // done before, or the client has gone
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

  @Override
  public void run() {
    try (InputStream in = new BufferedInputStream(socket.getInputStream())) {
      for (String line = line(in); line != null; line = line(in)) {
        room.acquire(); // until it is answered
        take(line.split(" +"));
      }
      room.acquire(MOST_OPEN); // until all are
    } catch (IOException | InterruptedException e) {
      // the client has gone: nobody waits for its answers
    } finally {
      close();
      transport.ended(this);
    }
  }

  /** The next line; null at the end. */
  private String line(InputStream in) throws IOException, InterruptedException {
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    long taken = 0;
    try {
      int next = in.read();
      while (next >= 0 && next != '\n') {
        amidLine = true;
        if (line.size() == MOST_BYTES) {
          throw new ClientRefusedException(
              ClientRefusedException.Reason.NO_ROOM, "a line has at most 1 MiB");
        }
        if (line.size() == taken) {
          client.take(STEP);
          taken += STEP;
        }
        line.write(next);
        next = in.read();
      }
      return next < 0 ? null : line.toString(StandardCharsets.UTF_8).strip();
    } catch (ClientRefusedException e) {
      room.acquire();
      answer("-", "error " + e.reason() + " " + e.getMessage(), null);
      return null;
    } finally {
      amidLine = false;
      client.giveBack(taken); // from here on the engine counts the inputs
    }
  }

  private void take(String[] words) {
    if (words.length == 2 && words[0].equals("token")) {
      shown = CallerCredentials.ofToken(words[1]);
      room.release();
    } else if (words.length > 3 && words[1].equals("infer")) {
      infer(words);
    } else {
      transport.badLines.increment();
      answer("-", "error INVALID_ARGUMENT write 'ID infer MODEL NAME=BASE64' or 'token T'", null);
    }
  }

  private void infer(String[] words) {
    String id = words[0];
    try {
      Caller caller = client.admit(CallerUse.INFERENCE, shown);
      Optional<ModelSpec> model =
          transport.context.models().find(words[2], "").flatMap(ModelStatus::spec);
      if (model.isEmpty()) {
        answer(id, "error NOT_FOUND there is no model '" + words[2] + "'", null);
        return;
      }
      boolean isTimed = words[3].startsWith("timeout=");
      List<String> inputs = List.of(words).subList(isTimed ? 4 : 3, words.length);
      TransportRequest request =
          TransportRequest.of(words[2], inputs(model.get(), inputs)).withId(id);
      if (isTimed) {
        long millis = Long.parseLong(words[3].substring("timeout=".length()));
        long end = transport.context.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        request = request.withDeadlineNanos(end);
      }
      var unused = client.submit(caller, request, new Sink(id)); // close() cancels it
    } catch (ClientRefusedException e) {
      answer(id, "error " + e.reason() + " " + e.getMessage(), null);
    } catch (IllegalArgumentException e) {
      answer(id, "error INVALID_ARGUMENT " + e.getMessage(), null);
    }
  }

  /** Of one row each; what is wrong about their bytes, the engine says. */
  private static List<InputTensor> inputs(ModelSpec model, List<String> words) {
    List<InputTensor> inputs = new ArrayList<>();
    for (String word : words) {
      String name = word.substring(0, Math.max(0, word.indexOf('=')));
      TensorSpec spec =
          model.clientInputs().stream()
              .filter(each -> each.name().equals(name))
              .findFirst()
              .orElseThrow(() -> new IllegalArgumentException("there is no input '" + name + "'"));
      byte[] bytes = Base64.getDecoder().decode(word.substring(name.length() + 1));
      Shape shape = spec.resolve(1, Variant.SINGLE).shape();
      inputs.add(new InputTensor(name, spec.dtype(), shape, TensorData.of(bytes)));
    }
    return inputs;
  }

  /** Called by the worker's thread for this transport: only hands over. */
  private final class Sink implements AnswerSink {
    private final String id;
    private Answer part;

    Sink(String id) {
      this.id = id;
    }

    @Override
    public void onPart(Answer part) {
      this.part = part;
    }

    @Override
    public void onEnd(Outcome outcome) {
      String text =
          switch (outcome) {
            case Outcome.Completed completed -> "ok";
            case Outcome.Refused refused -> "error " + refused.status() + " " + refused.message();
            case Outcome.Failed failed -> "error " + failed.status() + " " + failed.message();
            case Outcome.Shed shed -> "error " + shed.status() + " " + shed.message();
            case Outcome.Cancelled cancelled -> "error " + Status.CANCELLED;
          };
      answer(id, text, part);
    }
  }

  /**
   * Answers a line, on a thread that may wait for the client.
   *
   * @param part to be sent and closed; null for none
   */
  private void answer(String id, String text, Answer part) {
    Thread.ofVirtual().name("line-write").start(() -> write(id + " " + text, part));
  }

  private void write(String text, Answer part) {
    try (part) {
      StringBuilder line = new StringBuilder(text.replace('\n', ' '));
      if (part != null) {
        part.outputs()
            .forEach(
                each -> {
                  byte[] bytes = each.data().toArray(ValueLayout.JAVA_BYTE);
                  line.append(' ').append(each.name()).append('=');
                  line.append(Base64.getEncoder().encodeToString(bytes));
                });
      }
      byte[] bytes = line.append('\n').toString().getBytes(StandardCharsets.UTF_8);
      synchronized (this) {
        socket.getOutputStream().write(bytes);
      }
    } catch (IOException e) {
      close();
    } finally {
      room.release();
    }
  }
}
