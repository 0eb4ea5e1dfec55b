package dev.roundhouse.engine.observe;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Why what a model's callers wait for does not happen now: the first thing that has to happen, with
 * its figures. {@link #words} is what a person would say.
 */
public sealed interface Waiting {
  /** No figure is known. */
  long UNKNOWN = -1;

  /** For programs; never changes. */
  String reason();

  /** One sentence, without a full stop. */
  String words();

  /** How long the first request has waited, in nanoseconds; {@link #UNKNOWN} when that is. */
  default long sinceNanos() {
    return UNKNOWN;
  }

  /** Its place in the line that it stands in, 1 for next; 0 without a line. */
  default int place() {
    return 0;
  }

  /** About how long this lasts, in nanoseconds; {@link #UNKNOWN} when nothing tells. */
  default long inNanos() {
    return UNKNOWN;
  }

  /** The model that has to go first; empty for none. */
  default String behind() {
    return "";
  }

  /**
   * What the device is busy with.
   *
   * @param warmUp whether the run warms a new model up
   * @param usualNanos what such a run takes
   * @param leftNanos of that; below 0 when it takes longer this time
   */
  record Busy(String model, boolean warmUp, long usualNanos, long leftNanos) {
    static String words(@Nullable Busy busy) {
      if (busy == null) {
        return "the device is free";
      }
      String what =
          "the device is busy with "
              + (busy.warmUp ? "a run to warm up '" : "'")
              + busy.model
              + "' ";
      return busy.leftNanos >= 0
          ? what + "for about " + Figures.time(busy.leftNanos) + " more"
          : what + "for longer than the usual " + Figures.time(busy.usualNanos);
    }

    private static long left(@Nullable Busy busy) {
      return busy == null ? 0 : busy.leftNanos < 0 ? UNKNOWN : busy.leftNanos;
    }
  }

  /**
   * Its batch is made up and runs next.
   *
   * @param again whether it is chosen anew first, because something has come meanwhile
   */
  record Armed(long sinceNanos, boolean again, @Nullable Busy busy) implements Waiting {
    @Override
    public String reason() {
      return "armed";
    }

    @Override
    public int place() {
      return again ? 0 : 1;
    }

    @Override
    public long inNanos() {
      return Busy.left(busy);
    }

    @Override
    public String behind() {
      return busy == null ? "" : busy.model;
    }

    @Override
    public String words() {
      return "its batch is made up and runs next"
          + (again ? ", unless what has come meanwhile goes first; " : "; ")
          + Busy.words(busy);
    }
  }

  /**
   * Everything of it is on the device, and others go first.
   *
   * @param place 0 when the discipline does not tell
   * @param by what decides the order, as in "by share"
   * @param behind the model right before it
   */
  record InLine(long sinceNanos, int place, String by, String behind, @Nullable Busy busy)
      implements Waiting {
    @Override
    public String reason() {
      return "device";
    }

    @Override
    public long inNanos() {
      return place == 1 ? Busy.left(busy) : UNKNOWN;
    }

    @Override
    public String words() {
      String where =
          switch (place) {
            case 0 -> "waits for its turn " + by;
            case 1 -> "runs next";
            default -> Figures.ordinal(place) + " " + by + ", behind '" + behind + "'";
          };
      return where + "; " + Busy.words(busy);
    }
  }

  /** Its batch waits for more requests, other models' run meanwhile. */
  record Held(long sinceNanos, long inNanos) implements Waiting {
    @Override
    public String reason() {
      return "held";
    }

    @Override
    public String words() {
      return "held for its batch until " + Figures.time(inNanos) + " from now";
    }
  }

  /** The device is free, and no batch can be made up: all slots have answers to be read. */
  record ForSlot(long sinceNanos, int place, int slots) implements Waiting {
    @Override
    public String reason() {
      return "batch-slot";
    }

    @Override
    public String words() {
      return (place == 0 ? "" : Figures.ordinal(place) + " in line; ")
          + "all "
          + slots
          + " batch slots are taken by answers that are being read from the device";
    }
  }

  /** The device is free, and no run starts: weights leave first. */
  record ForRunMemory(long sinceNanos, int place) implements Waiting {
    @Override
    public String reason() {
      return "run-memory";
    }

    @Override
    public String words() {
      return "no run starts until weights have left the device: the latest found too little memory for itself";
    }
  }

  /**
   * Its weights are on their way.
   *
   * @param place among those that are
   * @param leftBytes that are not there yet
   */
  record Coming(long sinceNanos, int place, long inNanos, long leftBytes, long bytes)
      implements Waiting {
    @Override
    public String reason() {
      return "weights-coming";
    }

    @Override
    public String words() {
      return "its weights are on their way, %s on the link: %s of %s are there, about %s more"
          .formatted(
              Figures.ordinal(place),
              Figures.bytes(bytes - leftBytes),
              Figures.bytes(bytes),
              Figures.time(inNanos));
    }
  }

  /**
   * Its weights are not on the device, and others' come first.
   *
   * @param place in the order in which weights come, those on their way included
   * @param behind whose weights come right before; empty for none
   * @param inNanos until they are there; unknown when there is no room for one of them
   */
  record ForLink(long sinceNanos, int place, String behind, long inNanos) implements Waiting {
    @Override
    public String reason() {
      return "link";
    }

    @Override
    public String words() {
      String where = place == 0 ? "absent; waits for the link" : ordinal();
      return inNanos == UNKNOWN ? where : where + ", about " + Figures.time(inNanos);
    }

    private String ordinal() {
      return "absent; "
          + Figures.ordinal(place)
          + " on the link"
          + (behind.isEmpty() ? "" : ", behind '" + behind + "'");
    }
  }

  /**
   * Its weights are next to come, and there is no room for them.
   *
   * @param place in the order in which weights come, those on their way included
   * @param poolBytes for weights of all models
   */
  record NoRoom(
      long sinceNanos,
      int place,
      long bytes,
      long poolBytes,
      long residentBytes,
      long pinnedBytes,
      long loadingBytes)
      implements Waiting {
    @Override
    public String reason() {
      return "no-room";
    }

    @Override
    public String words() {
      String of = Figures.bytes(poolBytes) + " for weights on the device";
      return bytes > poolBytes
          ? "no room: its %s of weights are more than the %s; they come when nothing else is there that could leave"
              .formatted(Figures.bytes(bytes), of)
          : "no room for its %s of weights: of the %s, %s are taken, by pinned models (%s), by those that run or whose requests wait, and %s are on their way"
              .formatted(
                  Figures.bytes(bytes),
                  of,
                  Figures.bytes(residentBytes),
                  Figures.bytes(pinnedBytes),
                  Figures.bytes(loadingBytes));
    }
  }

  /** All that waits continues sequences, and the step before has not been answered. */
  record ForEarlierStep(int requests) implements Waiting {
    @Override
    public String reason() {
      return "earlier-step";
    }

    @Override
    public String words() {
      return requests == 1
          ? "1 request waits for the step of its sequence before it"
          : requests + " requests wait for the steps of their sequences before them";
    }
  }

  /** Accepted, and the dispatch thread has not taken it up. */
  record HandedOver(int requests) implements Waiting {
    @Override
    public String reason() {
      return "handed-over";
    }

    @Override
    public String words() {
      return requests + (requests == 1 ? " request has" : " requests have") + " just come";
    }
  }

  /**
   * Pieces of its code wait for a thread.
   *
   * @param running of its own
   * @param perModel most of its own at once
   * @param busy threads that run any model's
   * @param threads of all models
   */
  record ForHookThread(int pieces, int running, int perModel, int busy, int threads)
      implements Waiting {
    @Override
    public String reason() {
      return "hook-threads";
    }

    @Override
    public String words() {
      String who = pieces + (pieces == 1 ? " request waits" : " requests wait") + " for its code: ";
      if (running >= perModel) {
        return who + running + " run it, as many as may of one model";
      }
      return busy >= threads
          ? who + busy + " of the " + threads + " threads for models' code are busy"
          : who + "a thread that runs it is through sooner than another wakes";
    }
  }

  /**
   * Runs of it wait to make their first call.
   *
   * @param limit runs of metas that make calls at once
   */
  record AtGate(int runs, int limit) implements Waiting {
    @Override
    public String reason() {
      return "meta-gate";
    }

    @Override
    public String words() {
      return "%d %s at the gate of metas: %d of any model make calls at once"
          .formatted(runs, runs == 1 ? "run waits" : "runs wait", limit);
    }
  }

  /**
   * It takes no requests.
   *
   * @param state in a word
   * @param why more of it; empty for nothing
   */
  record NotReady(String state, String why) implements Waiting {
    @Override
    public String reason() {
      return state.toLowerCase(Locale.ROOT);
    }

    @Override
    public String words() {
      return "requests are refused, as the model is "
          + state.toLowerCase(Locale.ROOT)
          + (why.isEmpty() ? "" : ": " + why);
    }
  }
}
