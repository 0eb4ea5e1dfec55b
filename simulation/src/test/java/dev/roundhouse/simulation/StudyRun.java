package dev.roundhouse.simulation;

import dev.roundhouse.simulation.study.*;
import java.time.Duration;

final class StudyRun {
  public static void main(String[] a) {
    for (Study s : new Study[] {new CoalescingStudy(), new FairnessStudy(), new OverloadStudy()}) {
      if (a.length > 1 && !s.name().contains(a[1])) continue;
      long t = System.nanoTime();
      s.run(
          Duration.ofSeconds(Long.parseLong(a[0])),
          p ->
              System.out.printf(
                  "%-20s %-64s %10.2f %10.2f %-8s %.4f %s%n",
                  s.name(), p.cell(), p.ours(), p.other(), p.unit(), p.ratio(), p.goal()));
      System.out.println((System.nanoTime() - t) / 1000000 + " ms");
    }
  }
}
