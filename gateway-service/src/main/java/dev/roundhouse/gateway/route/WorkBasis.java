package dev.roundhouse.gateway.route;

import dev.roundhouse.gateway.fleet.Fleet;

/** The measure of a request's work. */
public enum WorkBasis {
  /** Device time: its items times what an item of the model has cost. */
  COMPUTE {
    @Override
    public long nanos(Fleet fleet, String model, int items) {
      return Math.round(items * fleet.nanosPerItem(model));
    }
  },

  /** Its items, whatever they cost. */
  ITEMS {
    @Override
    public long nanos(Fleet fleet, String model, int items) {
      return items;
    }
  },

  /** What a request of the model has cost, however many items it has. */
  REQUESTS {
    @Override
    public long nanos(Fleet fleet, String model, int items) {
      return Math.round(fleet.nanosPerRequest(model));
    }
  };

  /** The work of a request, from 0; nanoseconds of device time unless items are counted. */
  public abstract long nanos(Fleet fleet, String model, int items);
}
