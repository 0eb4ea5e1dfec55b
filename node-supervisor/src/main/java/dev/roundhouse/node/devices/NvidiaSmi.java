package dev.roundhouse.node.devices;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Runs {@code nvidia-smi} where NVML cannot be loaded. Stateless. */
public final class NvidiaSmi implements DeviceSource, MemoryReader {
  private static final Logger log = LoggerFactory.getLogger(NvidiaSmi.class);
  private static final long MIB = 1 << 20;

  /** Most lines that are read; the program should write one for each GPU. */
  private static final int MOST_BYTES = 1 << 20;

  private final String program;
  private final Duration patience;

  /**
   * @param program found on the path, or a file
   * @param patience how long it may run
   */
  public NvidiaSmi(String program, Duration patience) {
    this.program = program;
    this.patience = patience;
  }

  @Override
  public String name() {
    return "nvidia-smi";
  }

  @Override
  public List<String> ids() {
    return query("uuid").stream().map(List::getFirst).toList();
  }

  @Override
  public Map<String, DeviceMemory> read(Collection<String> ids) {
    Map<String, DeviceMemory> memory = new HashMap<>();
    for (List<String> line : query("index,uuid,memory.used,memory.total")) {
      if (line.size() == 4 && isNumber(line.get(2)) && isNumber(line.get(3))) {
        DeviceMemory each =
            new DeviceMemory(Long.parseLong(line.get(2)) * MIB, Long.parseLong(line.get(3)) * MIB);
        memory.put(line.get(0), each);
        memory.put(line.get(1), each);
      }
    }
    memory.keySet().retainAll(ids);
    return memory;
  }

  private static boolean isNumber(String text) {
    return text.matches("[0-9]{1,12}");
  }

  /** Rows of fields; none when the program is not there or fails. */
  private List<List<String>> query(String fields) {
    List<String> command =
        List.of(program, "--query-gpu=" + fields, "--format=csv,noheader,nounits");
    try {
      Process process =
          new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
      process.getOutputStream().close();
      var killer =
          process
              .onExit()
              .orTimeout(patience.toNanos(), TimeUnit.NANOSECONDS)
              .exceptionally(
                  hangs -> {
                    log.warn("{} did not end within {}; giving it up", program, patience);
                    return process.destroyForcibly();
                  });
      String text;
      try (InputStream output = process.getInputStream()) {
        text = new String(output.readNBytes(MOST_BYTES), StandardCharsets.UTF_8);
      }
      killer.join();
      return process.waitFor() == 0 ? rows(text) : List.of();
    } catch (IOException e) {
      return List.of(); // not installed
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return List.of();
    }
  }

  private static List<List<String>> rows(String text) {
    List<List<String>> rows = new ArrayList<>();
    text.lines()
        .filter(line -> !line.isBlank())
        .forEach(line -> rows.add(List.of(line.trim().split("\\s*,\\s*"))));
    return rows;
  }
}
