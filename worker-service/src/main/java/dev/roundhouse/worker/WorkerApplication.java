package dev.roundhouse.worker;

import dev.roundhouse.platform.process.Supervised;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** Starts one worker. */
@SpringBootApplication
public class WorkerApplication {

  public static void main(String[] args) {
    Supervised.follow();
    SpringApplication.run(WorkerApplication.class, args);
  }
}
